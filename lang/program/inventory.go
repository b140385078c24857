package program

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/lang/syntax"
)

// hostEntry is an evaluated host, and what it gives to variables, lowest
// precedence first.
type hostEntry struct {
	eval.Host
	levels []levelVars
}

// levelVars are the values that a role, a group or a host gives.
type levelVars struct {
	level, name string
	priority    int // of groups
	items       []item
}

// groupEntry is an evaluated group.
type groupEntry struct {
	*groupDecl
	priority int
	hosts    []string
	labels   map[string]string
}

// inventory evaluates the hosts and groups, and finds the one that is
// evaluated; with need, a host that is not declared is an error.
func (e *evaluator) inventory(need bool) {
	if len(e.site.hosts) == 0 {
		for _, g := range e.site.groups {
			e.errorAt(g.src, "declare hosts: host \"NAME\" { … }", "the site declares a host group, but no hosts")
		}
		e.rolled()
		return
	}
	for _, g := range e.site.groups {
		e.groupNames = append(e.groupNames, g.name)
	}
	slices.Sort(e.groupNames)
	groups := e.groups()
	var names []string
	for _, d := range e.site.hosts {
		h := e.hostOf(d, groups)
		e.hosts = append(e.hosts, h)
		names = append(names, h.Name)
		if h.Name == e.target.Host {
			e.host = h
		}
	}
	if e.host == nil && need {
		summary, hint := "the site declares hosts, and none is named", cmp.Or(eval.Choices(names), "tenet inspect hosts lists them")
		if e.target.Host != "" {
			summary = fmt.Sprintf("the site does not declare the host %q", e.target.Host)
			hint = cmp.Or(eval.DidYouMean(e.target.Host, names), hint)
		}
		e.list.Add(diag.Diagnostic{Summary: summary, Hint: hint, Range: at(e.site.hosts[0].src)})
		e.host = &hostEntry{Host: eval.Host{Name: e.target.Host}}
	}
	e.clashes()
	e.rollout = e.rolled()
}

// groups evaluates the groups, ordered by priority, then by name.
func (e *evaluator) groups() []*groupEntry {
	var out []*groupEntry
	for _, d := range e.site.groups {
		g := &groupEntry{groupDecl: d}
		if v, ok := e.attribute(d.priority, e.root); ok {
			n, whole := eval.Int(v)
			if !whole {
				e.wrongValue(d.priority, fmt.Errorf("a whole number is required, not %s", eval.Kind(v)), "write priority = 10")
			}
			g.priority = n
		}
		if v, ok := e.attribute(d.hosts, e.root); ok {
			globs, err := eval.Texts(v)
			if err != nil {
				e.wrongValue(d.hosts, err, `write hosts = ["web*", "db1"]`)
			}
			g.hosts = globs
			e.checkGlobs(d, globs)
		}
		g.labels = e.labels(d.labels)
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b *groupEntry) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	return out
}

// checkGlobs reports names in a group that no host has.
func (e *evaluator) checkGlobs(d *groupDecl, globs []string) {
	var all []eval.Host
	for _, h := range e.site.hosts {
		all = append(all, eval.Host{Name: h.name})
	}
	for _, glob := range globs {
		if _, err := eval.SelectHosts(all, nil, glob); err != nil {
			e.wrongValue(d.hosts, err, `write hosts = ["web*", "db1"]`)
		}
	}
}

func (e *evaluator) labels(a *syntax.Attribute) map[string]string {
	items, _ := e.items(a, e.root, "labels")
	labels := map[string]string{}
	for _, item := range items {
		v, sensitive := eval.Split(item.value)
		text, err := eval.Text(v)
		if err != nil || sensitive {
			e.errorAt(item.valueRange, `write NAME = "VALUE"`, "labels: the value of %q is no text that may be shown", item.name)
			continue
		}
		labels[item.name] = text
	}
	return labels
}

// holds reports whether a host belongs to the group.
func (g *groupEntry) holds(h *hostEntry) bool {
	for _, glob := range g.hosts {
		if eval.MatchHost(glob, h.Name) {
			return true
		}
	}
	if g.groupDecl.labels == nil {
		return false
	}
	for name, text := range g.labels {
		if have, ok := h.Labels[name]; !ok || have != text {
			return false
		}
	}
	return true
}

// hostOf evaluates a host with what its groups and roles give it.
func (e *evaluator) hostOf(d *hostDecl, groups []*groupEntry) *hostEntry {
	h := &hostEntry{Host: eval.Host{Name: d.name, Address: d.name, Executor: "ssh", Range: at(d.src), Labels: e.labels(d.labels)}}
	if text, ok := e.text1(d.address); ok {
		if err := eval.CheckAddress(text); err != nil {
			e.wrongValue(d.address, err, "")
		}
		h.Address = text
	}
	var own []levelVars
	for _, g := range groups {
		if !g.holds(h) {
			continue
		}
		h.Groups = append(h.Groups, g.name)
		e.reached(h, &g.reach)
		items, _ := e.items(g.vars, e.root, "vars")
		own = append(own, levelVars{eval.LevelGroup, g.name, g.priority, items})
	}
	e.reached(h, &d.reach)
	items, _ := e.items(d.vars, e.root, "vars")
	own = append(own, levelVars{eval.LevelHost, d.name, 0, items})
	for _, name := range h.Roles {
		items, _ := e.items(e.site.roles[name].vars, e.root, "vars")
		h.levels = append(h.levels, levelVars{eval.LevelRole, name, 0, items})
	}
	h.levels = append(h.levels, own...)
	return h
}

// reached takes what a group or the host itself says; the later wins.
func (e *evaluator) reached(h *hostEntry, r *reach) {
	if v, ok := e.attribute(r.port, e.root); ok {
		n, whole := eval.Int(v)
		if !whole || n < 1 || n > 65535 {
			e.wrongValue(r.port, fmt.Errorf("a port is a number from 1 to 65535"), "write port = 22")
		}
		h.Port = n
	}
	if text, ok := e.text1(r.user); ok {
		if err := eval.CheckUser(text); err != nil {
			e.wrongValue(r.user, err, "")
		}
		h.User = text
	}
	if text, ok := e.text1(r.executor); ok {
		if !slices.Contains(eval.Executors(), text) {
			e.wrongValue(r.executor, fmt.Errorf("%q is no way to reach a host", text),
				cmp.Or(eval.DidYouMean(text, eval.Executors()), `write "local", "ssh" or "agent"`))
		}
		h.Executor = text
	}
	if v, ok := e.attribute(r.become, e.root); ok {
		user, err := eval.BecomeUser(v)
		if err != nil {
			e.wrongValue(r.become, err, "write become = true")
		}
		h.Become = user
	}
	if text, ok := e.text1(r.becomeMethod); ok {
		if !slices.Contains(eval.BecomeMethods(), text) {
			e.wrongValue(r.becomeMethod, fmt.Errorf("%q is no way to become another account", text), `write "sudo" or "doas"`)
		}
		h.BecomeMethod = text
	}
	if text, ok := e.text1(r.runnerCache); ok {
		if err := eval.CheckRunnerCache(text); err != nil {
			e.wrongValue(r.runnerCache, err, `write runner_cache = "/opt/tenet"`)
		}
		h.RunnerCache = text
	}
	e.sshOptions(h, r.sshOptions)
	e.roles(h, r.roles)
}

// sshOptions puts options before those that the host has already, since of several
// the first counts.
func (e *evaluator) sshOptions(h *hostEntry, a *syntax.Attribute) {
	v, ok := e.attribute(a, e.root)
	if !ok {
		return
	}
	options, err := eval.Texts(v)
	if err != nil {
		e.wrongValue(a, err, `write ssh_options = ["ProxyJump=gate"]`)
	}
	for i, option := range options {
		if err := eval.CheckSSHOption(option); err != nil {
			e.wrongElement(a, i, err)
		}
	}
	h.SSHOptions = append(options, h.SSHOptions...)
}

// roles adds roles to a host.
func (e *evaluator) roles(h *hostEntry, a *syntax.Attribute) {
	v, ok := e.attribute(a, e.root)
	if !ok {
		return
	}
	names, err := eval.Texts(v)
	if err != nil {
		e.wrongValue(a, err, `write roles = ["web"]`)
	}
	for _, name := range names {
		if e.site.roles[name] == nil {
			known := slices.Sorted(maps.Keys(e.site.roles))
			e.wrongValue(a, &eval.HintError{Message: fmt.Sprintf("there is no role %q", name),
				Hint: cmp.Or(eval.DidYouMean(name, known), eval.Choices(known), fmt.Sprintf("declare it: role %q { … }", name))}, "")
			continue
		}
		// The last place of a role counts.
		h.Roles = append(slices.DeleteFunc(h.Roles, func(r string) bool { return r == name }), name)
	}
}

// text1 evaluates an attribute that is one text.
func (e *evaluator) text1(a *syntax.Attribute) (string, bool) {
	v, ok := e.attribute(a, e.root)
	if !ok {
		return "", false
	}
	v, sensitive := eval.Split(v)
	text, err := eval.Text(v)
	if err == nil && (sensitive || text == "") {
		err = fmt.Errorf("a text that is not empty, and may be shown, is required")
	}
	if err != nil {
		e.wrongValue(a, err, fmt.Sprintf("write %s = \"…\"", a.Name))
	}
	return text, err == nil
}

// hostValue gives host.name, host.labels or host.vars.
func (e *evaluator) hostValue(n *syntax.Need) cty.Value {
	v := cty.StringVal(e.target.Host)
	switch n.Name {
	case "labels":
		v = cty.MapValEmpty(cty.String)
		if e.host != nil {
			v = eval.LabelsValue(e.host.Labels)
		}
	case "vars":
		values := map[string]cty.Value{}
		if e.host != nil {
			for _, l := range e.host.levels {
				for _, x := range l.items {
					values[x.name] = x.value
				}
			}
		}
		v = cty.ObjectVal(values)
	}
	e.root.Variables["host."+n.Name] = v
	return v
}

func (e *evaluator) hostsFunction() function.Function {
	return eval.HostsFunction(func() ([]eval.Host, []string, bool) {
		if e.scripted != nil && e.scripted.blind {
			return nil, nil, false
		}
		var hosts []eval.Host
		for _, h := range e.hosts {
			hosts = append(hosts, h.Host)
		}
		return hosts, e.groupNames, true
	})
}

// Roles describes the roles, sorted by name.
func (p *Program) Roles(ctx context.Context, t eval.Target) ([]eval.Role, diag.List) {
	e := newEvaluation(ctx, p, t)
	e.takeInventory()
	p = e.site
	hosts, _, list := e.hostsFound()
	var out []eval.Role
	for _, name := range slices.Sorted(maps.Keys(p.roles)) {
		r := eval.Role{Name: name, Range: at(p.roles[name].src)}
		for _, d := range p.declarations {
			if d.role == name {
				r.Declares = append(r.Declares, d.base)
			}
		}
		for _, h := range hosts {
			if slices.Contains(h.Roles, name) {
				r.Hosts = append(r.Hosts, h.Name)
			}
		}
		out = append(out, r)
	}
	return out, list
}

// Hosts gives the hosts that the site declares, in their order, and the names
// of the groups.
func (p *Program) Hosts(ctx context.Context, t eval.Target) (hosts []eval.Host, groups []string, list diag.List) {
	if p.dir.Scripts == nil && len(p.hosts)+len(p.groups) == 0 {
		return nil, nil, nil
	}
	e := newEvaluation(ctx, p, t)
	e.takeInventory()
	return e.hostsFound()
}

func (e *evaluator) hostsFound() (hosts []eval.Host, groups []string, list diag.List) {
	for _, h := range e.hosts {
		hosts = append(hosts, h.Host)
	}
	return hosts, e.groupNames, e.list.Sorted()
}
