package program

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// siteHosts are the hosts that a site declares, or takes from inventories, as they were
// evaluated.
type siteHosts struct {
	entries    []*hostEntry
	groupNames []string        // sorted
	rollout    *site.Rollout   // nil: the site has none
	hooks      []hostHook      // of the rollout
	incomplete bool            // there may be hosts which are not known
	lists      *expr.HostLists // nil until all hosts are evaluated
	clusters   []*site.Cluster // in the order of declaration
}

// list gives the hosts as data.
func (h *siteHosts) list() []site.Host {
	var out []site.Host
	for _, entry := range h.entries {
		one := entry.Host // several evaluations may share the entry
		one.SSHOptions, one.Roles, one.Groups, one.Labels = slices.Clone(one.SSHOptions), slices.Clone(one.Roles), slices.Clone(one.Groups), maps.Clone(one.Labels)
		out = append(out, one)
	}
	return out
}

// hostReader evaluates hosts, groups, inventories and the rollout of a site.
type hostReader struct{ *expressions }

// hostEntry is an evaluated host, and what it gives to variables, lowest
// precedence first.
type hostEntry struct {
	site.Host
	has    expr.Roles
	levels []levelVars

	cluster      *groupEntry // the one that is to be present and has the host as a member; nil: none
	clusterRoles []string    // that it has by its cluster alone
}

// levelVars are the values that a role, a group or a host gives.
type levelVars struct {
	level, name string
	group       *groupEntry // that gives them; nil: none that the site declares
	items       []item
	external    bool // an inventory gives them
}

// inventory evaluates the hosts and groups, and finds the one that is
// evaluated; with need, a host that is not declared is an error.
func (e hostReader) inventory(need bool) {
	before := len(e.list)
	defer func() {
		if need { // Hosts has warned, once for all hosts
			e.list = append(e.list[:before], onlyErrors(e.list[before:])...)
		}
	}()
	if len(e.site.hosts) == 0 && len(e.site.inventories) == 0 {
		for _, g := range e.site.groups {
			e.errorAt(g.src, "declare hosts: host \"NAME\" { … }", "the site declares a %s, but no hosts", g.kind())
		}
		e.evaluateRollout()
		return
	}
	groups := e.allHosts()
	if i := slices.IndexFunc(e.hosts.entries, func(h *hostEntry) bool { return h.Name == e.target.Host }); i >= 0 {
		e.host = e.hosts.entries[i]
	} else if need && e.hosts.incomplete {
		e.host = e.hostOf(e.undeclaredHost(e.target.Host, diag.Range{}), groups, nil)
	} else if need && len(e.hosts.entries) > 0 {
		e.noSuchHost()
	}
	e.reportConflicts()
}

// allHosts evaluates the hosts, the groups, which it gives, and the rollout: once for
// all evaluations of the site, as far as nothing is wrong with them.
func (e hostReader) allHosts() *hostGroups {
	// What scripts declare depends on the target; secrets are known to an evaluation.
	key := hostsKey{e.target.SecretsHidden, e.target.InventoryHidden, joinedText(e.target.Clusters)}
	variables, usable := e.variablesOfHosts()
	usable = usable && e.site.dir.Scripts == nil
	if usable {
		if known := e.site.inventoryCache.hostsFor(key, variables); known != nil {
			e.hosts = known.siteHosts
			e.list.Add(known.warnings...)
			return known.groups
		}
	}
	e.reportUnknownVariables()
	before, secrets := len(e.list), e.vault.UseCount()
	external := e.externalInventory()
	for _, g := range e.site.groups {
		e.hosts.groupNames = append(e.hosts.groupNames, g.name)
	}
	e.hosts.groupNames = append(e.hosts.groupNames, external.groups...)
	slices.Sort(e.hosts.groupNames)
	e.hosts.groupNames = slices.Compact(e.hosts.groupNames)
	declared := e.declaredHosts()
	groups := e.groups(declared, external)
	for _, d := range declared {
		e.hosts.entries = append(e.hosts.entries, e.hostOf(d, groups, external.byName[d.name]))
	}
	for _, name := range external.undeclaredNames(declared) {
		h := external.byName[name]
		e.hosts.entries = append(e.hosts.entries, e.hostOf(e.undeclaredHost(name, h.Range), groups, h))
	}
	e.clusters(groups)
	e.hosts.lists = e.listsOfHosts()
	e.hosts.rollout = e.evaluateRollout()
	if found := e.list[before:]; usable && !found.HasErrors() && e.vault.UseCount() == secrets {
		e.site.inventoryCache.storeHosts(key, &cachedHosts{e.hosts, groups, slices.Clone(found), variables})
	}
	return groups
}

func onlyErrors(list diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// noSuchHost reports that the target is none of the hosts.
func (e hostReader) noSuchHost() {
	var names []string
	for _, h := range e.hosts.entries {
		names = append(names, h.Name)
	}
	summary, hint := "the site declares hosts, and none is named", cmp.Or(diag.Choices(names), "tenet inspect hosts lists them")
	if e.target.Host != "" {
		summary = fmt.Sprintf("the site does not declare the host %q", e.target.Host)
		hint = cmp.Or(diag.DidYouMean(e.target.Host, names), hint)
	}
	e.list.Add(diag.Diagnostic{Summary: summary, Hint: hint, Range: e.hosts.entries[0].Range})
	e.host = &hostEntry{Host: site.Host{Name: e.target.Host}}
}

// hostOf evaluates a host with what its groups and roles give it, and with what an
// inventory says of it; nil: none does. What the site declares counts before that.
func (e hostReader) hostOf(d *declaredHost, groups *hostGroups, x *externalHost) *hostEntry {
	h := &hostEntry{Host: site.Host{Name: d.name, Address: d.name, Executor: "ssh"}}
	var own, itself []levelVars
	if x != nil {
		h.Host = x.Host.Host
		h.Roles, h.Groups, h.SSHOptions = e.knownRoles(x), slices.Clone(x.Groups), slices.Clone(x.SSHOptions)
		own, itself = slices.Clone(x.groups), x.ownVars
	}
	h.Range, h.Labels = rangeOf(d.src), maps.Clone(h.Labels)
	for name, text := range e.labels(d.labels, d.ctx) {
		if h.Labels == nil {
			h.Labels = map[string]string{}
		}
		h.Labels[name] = text
	}
	if text, ok := e.singleText(d.address, d.ctx); ok {
		if err := site.CheckAddress(text); err != nil {
			e.wrongValue(d.address, err, "")
		}
		h.Address = text
	}
	given := slices.Clone(h.Roles) // by others than its cluster
	for _, g := range groups.of(h) {
		if !slices.Contains(h.Groups, g.name) {
			h.Groups = append(h.Groups, g.name)
		}
		if roles := e.applyReach(h, &g.reach, e.root); g.cluster == nil {
			given = append(given, roles...)
		} else {
			g.cluster.Roles = roles
			e.join(h, g)
		}
		if list := e.windows(g.window, e.root); list != nil {
			h.Windows = append(h.Windows, list) // those of groups intersect
		}
		h.Reconcile = e.reconcile(g.reconcile, e.root).Or(h.Reconcile)
		items, _ := e.items(g.vars, e.root, "vars")
		own = append(own, levelVars{level: expr.LevelGroup, name: g.name, group: g, items: items})
	}
	own = append(own, itself...)
	given = append(given, e.applyReach(h, &d.reach, d.ctx)...)
	if list := e.windows(d.window, d.ctx); list != nil {
		h.Windows = site.Schedule{list} // in place of the groups'
	}
	h.Reconcile = e.reconcile(d.reconcile, d.ctx).Or(h.Reconcile)
	items, _ := e.items(d.vars, d.ctx, "vars")
	own = append(own, levelVars{level: expr.LevelHost, name: d.name, items: items})
	e.clusterRoles(h, groups.of(h), e.site.withTaken(given))
	h.has = expr.NewRoles(h.Roles)
	for _, name := range h.Roles {
		items, _ := e.items(e.site.roles[name].vars, e.root, "vars")
		h.levels = append(h.levels, levelVars{level: expr.LevelRole, name: name, items: items})
	}
	h.levels = append(h.levels, own...)
	return h
}

// applyReach takes what a group or the host itself says; the later wins. It gives the roles that this says.
func (e hostReader) applyReach(h *hostEntry, r *reach, ctx *hcl2.EvalContext) (roles []string) {
	if v, ok := e.attribute(r.port, ctx); ok {
		n, whole := expr.Int(v)
		if !whole || n < 1 || n > 65535 {
			e.wrongValue(r.port, fmt.Errorf("a port is a number from 1 to 65535"), "write port = 22")
		}
		h.Port = n
	}
	if text, ok := e.singleText(r.user, ctx); ok {
		if err := site.CheckUser(text); err != nil {
			e.wrongValue(r.user, err, "")
		}
		h.User = text
	}
	if text, ok := e.singleText(r.executor, ctx); ok {
		if !slices.Contains(site.Executors(), text) {
			e.wrongValue(r.executor, fmt.Errorf("%q is no way to reach a host", text),
				cmp.Or(diag.DidYouMean(text, site.Executors()), `write "local", "ssh" or "agent"`))
		}
		h.Executor = text
	}
	if v, ok := e.attribute(r.become, ctx); ok {
		user, err := expr.BecomeUser(v)
		if err != nil {
			e.wrongValue(r.become, err, "write become = true")
		}
		h.Become = user
	}
	if text, ok := e.singleText(r.becomeMethod, ctx); ok {
		if !slices.Contains(site.BecomeMethods(), text) {
			e.wrongValue(r.becomeMethod, fmt.Errorf("%q is no way to become another account", text), `write "sudo" or "doas"`)
		}
		h.BecomeMethod = text
	}
	if text, ok := e.singleText(r.runnerCache, ctx); ok {
		if err := site.CheckRunnerCache(text); err != nil {
			e.wrongValue(r.runnerCache, err, `write runner_cache = "/opt/tenet"`)
		}
		h.RunnerCache = text
	}
	e.sshOptions(h, r.sshOptions, ctx)
	return e.roles(h, r.roles, ctx)
}

// sshOptions puts options before those that the host has already, since of several
// the first counts.
func (e hostReader) sshOptions(h *hostEntry, a *syntax.Attribute, ctx *hcl2.EvalContext) {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return
	}
	options, err := expr.Texts(v)
	if err != nil {
		e.wrongValue(a, err, `write ssh_options = ["ProxyJump=gate"]`)
	}
	for i, option := range options {
		if err := site.CheckSSHOption(option); err != nil {
			e.wrongElement(a, i, err)
		}
	}
	h.SSHOptions = append(options, h.SSHOptions...)
}

// roles adds roles to a host, and gives them.
func (e hostReader) roles(h *hostEntry, a *syntax.Attribute, ctx *hcl2.EvalContext) (added []string) {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return nil
	}
	names, err := expr.Texts(v)
	if err != nil {
		e.wrongValue(a, err, `write roles = ["web"]`)
	}
	for _, name := range names {
		if e.site.roles[name] == nil {
			known := slices.Sorted(maps.Keys(e.site.roles))
			e.wrongValue(a, &diag.HintError{Message: fmt.Sprintf("there is no role %q", name),
				Hint: cmp.Or(diag.DidYouMean(name, known), diag.Choices(known), fmt.Sprintf("declare it: role %q { … }", name))}, "")
			continue
		}
		// The last place of a role counts.
		h.Roles = append(slices.DeleteFunc(h.Roles, func(r string) bool { return r == name }), name)
		added = append(added, name)
	}
	return added
}

// singleText evaluates an attribute that is one text.
func (e *expressions) singleText(a *syntax.Attribute, ctx *hcl2.EvalContext) (string, bool) {
	v, ok := e.attribute(a, ctx)
	if !ok {
		return "", false
	}
	return e.textOf(a, v)
}

// textOf gives the text that an attribute's value is.
func (e *expressions) textOf(a *syntax.Attribute, v cty.Value) (string, bool) {
	v, sensitive := expr.Split(v)
	text, err := expr.Text(v)
	if err == nil && (sensitive || text == "") {
		err = fmt.Errorf("a text that is not empty, and may be shown, is required")
	}
	if err != nil {
		e.wrongValue(a, err, fmt.Sprintf("write %s = \"…\"", a.Name))
	}
	return text, err == nil
}

// Roles describes the roles, sorted by name.
func (p *Program) Roles(ctx context.Context, t expr.Target) ([]site.Role, diag.List) {
	e := newEvaluation(ctx, p, t)
	e.preparation().takeInventory()
	p = e.site
	hosts, _, list := e.hostsFound()
	var out []site.Role
	declares := map[string][]string{}
	for _, d := range p.declarations {
		declares[d.role] = append(declares[d.role], d.base)
	}
	for _, name := range slices.Sorted(maps.Keys(p.roles)) {
		all := p.roles[name].all
		r := site.Role{Name: name, Roles: slices.Clone(all[:len(all)-1]), Declares: declares[name], Range: rangeOf(p.roles[name].src)}
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
func (p *Program) Hosts(ctx context.Context, t expr.Target) (hosts []site.Host, groups []string, list diag.List) {
	if p.dir.Scripts == nil && len(p.hosts)+len(p.groups)+len(p.inventories) == 0 {
		return nil, nil, nil
	}
	e := newEvaluation(ctx, p, t)
	e.preparation().takeInventory()
	return e.hostsFound()
}

// Clusters gives the clusters of the site, in the order of declaration.
func (p *Program) Clusters(ctx context.Context, t expr.Target) ([]site.Cluster, diag.List) {
	e := newEvaluation(ctx, p, t)
	e.preparation().takeInventory()
	return e.hosts.clusterList(), e.findings()
}

func (e *evaluator) hostsFound() (hosts []site.Host, groups []string, list diag.List) {
	return e.hosts.list(), slices.Clone(e.hosts.groupNames), e.findings()
}
