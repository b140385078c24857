package inventory

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
)

// isOwnForm tells our own form from Ansible's: it has hosts and groups at its top, and
// nothing else.
func isOwnForm(n *node) bool {
	for _, k := range n.keys {
		if k.name != "hosts" && k.name != "groups" {
			return false
		}
		if v := n.values[k.name]; v.kind == listKind {
			return false // groups of Ansible
		}
	}
	return len(n.keys) > 0
}

func settingNames() []string {
	return []string{"address", "become", "become_method", "executor", "labels", "port", "roles", "runner_cache", "ssh_options", "user"}
}

// readOwnForm reads hosts and groups of our own form.
func (t *tree) readOwnForm(n *node) {
	t.own = true
	if hosts := t.objectIn(n, "hosts"); hosts != nil {
		for _, k := range hosts.keys {
			h := t.host(k.name, k.src)
			if v := hosts.values[k.name]; h != nil && !v.isNull() {
				t.ownEntry(v, "the host "+k.name, h.vars, h.settings, nil)
			}
		}
	}
	groups := t.objectIn(n, "groups")
	if groups == nil {
		return
	}
	for _, k := range groups.keys {
		g := t.group(k.name, k.src)
		if v := groups.values[k.name]; g != nil && !v.isNull() {
			t.ownEntry(v, "the group "+k.name, g.vars, g.settings, g)
		}
	}
	for _, k := range groups.keys {
		for _, child := range t.groups[k.name].childrenOf() {
			if groups.values[child] == nil {
				t.errorAt(k.src, "declare it beside the others", "the group %s holds the group %s, which there is not", k.name, child)
				t.group(child, k.src)
			}
		}
	}
}

// childrenOf gives the names of the children; nil has none.
func (g *group) childrenOf() []string {
	if g == nil {
		return nil
	}
	return g.children
}

func (t *tree) objectIn(n *node, name string) *node {
	v := n.get(name)
	if v != nil && v.kind != objectKind {
		t.errorAt(v.src, `write "`+name+`": {"NAME": {…}}`, "%s is an object, and not %s", name, v.kind)
		return nil
	}
	return v
}

// ownEntry reads a host, or a group.
func (t *tree) ownEntry(n *node, what string, vars, settings map[string]value, g *group) {
	if n.kind != objectKind {
		t.errorAt(n.src, "write {…}", "%s is an object, and not %s", what, n.kind)
		return
	}
	known := append(settingNames(), "vars")
	if g != nil {
		known = append(slices.DeleteFunc(known, func(name string) bool { return name == "address" || name == "labels" }), "hosts", "children")
	}
	for _, k := range n.keys {
		v := n.values[k.name]
		switch {
		case !slices.Contains(known, k.name):
			t.errorAt(k.src, cmp.Or(diag.DidYouMean(k.name, known), diag.Choices(known), "put values for variables into vars"), "%s has no %q", what, k.name)
		case v.isNull():
		case k.name == "vars":
			for name, x := range t.vars(v, what) {
				vars[name] = x
			}
		case k.name == "hosts" || k.name == "children":
			t.ownMembers(g, k, v)
		default:
			settings[k.name] = value{v.plain(), v.src}
		}
	}
}

// ownMembers reads the hosts or children of a group: a list of names.
func (t *tree) ownMembers(g *group, word key, n *node) {
	names, ok := texts(n.plain())
	if !ok {
		t.errorAt(n.src, `write ["NAME", …]`, "the %s of the group %s are a list of names", word.name, g.name)
		return
	}
	for i, name := range names {
		if word.name == "children" {
			g.addChild(name)
		} else if h := t.host(name, n.list[i].src); h != nil {
			g.add(h)
		}
	}
}

// texts gives a list of texts.
func texts(plain any) ([]string, bool) {
	list, ok := plain.([]any)
	var out []string
	for _, e := range list {
		text, isText := e.(string)
		ok = ok && isText && text != ""
		out = append(out, text)
	}
	return out, ok
}

// ownSettings makes of the settings how the host is reached; those of later maps count.
func (t *tree) ownSettings(h *Host, all []map[string]value) bool {
	for _, settings := range all {
		for _, name := range settingNames() {
			if v, ok := settings[name]; ok {
				t.ownSetting(h, name, v)
			}
		}
	}
	return true
}

func (t *tree) ownSetting(h *Host, name string, v value) {
	given, isText := v.plain.(string)
	var err error
	switch name {
	case "port":
		h.Port = t.port(text(v.plain), v)
		return
	case "become":
		h.Become, err = becomeUser(v.plain)
	case "roles", "ssh_options":
		t.ownList(h, name, v)
		return
	case "labels":
		t.labels(h, v)
		return
	case "address":
		h.Address, err = given, site.CheckAddress(given)
	case "user":
		h.User, err = given, site.CheckUser(given)
	case "executor":
		h.Executor, err = given, choice(name, given, site.Executors())
	case "runner_cache":
		h.RunnerCache, err = given, site.CheckRunnerCache(given)
	case "become_method":
		h.BecomeMethod, err = given, choice(name, given, site.BecomeMethods())
	}
	if !isText && name != "become" {
		t.errorAt(v.src, "write a text", "%s is a text", name)
		return
	}
	if err != nil {
		t.list.Add(diag.Diagnose(err, v.src))
	}
}

func choice(name, text string, known []string) error {
	if slices.Contains(known, text) {
		return nil
	}
	return &diag.HintError{Message: name + " cannot be " + text, Hint: cmp.Or(diag.DidYouMean(text, known), diag.Choices(known))}
}

func becomeUser(plain any) (string, error) {
	if v, err := expr.Value(plain); err == nil && plain != nil {
		return expr.BecomeUser(v)
	}
	return "", &diag.HintError{Message: "become cannot be this", Hint: "write true for root, or a user's name"}
}

// ownList adds roles, the last place of which counts, or options, the first of which
// does.
func (t *tree) ownList(h *Host, name string, v value) {
	names, ok := texts(v.plain)
	if !ok {
		t.errorAt(v.src, `write ["…"]`, "%s is a list of texts", name)
		return
	}
	if name == "roles" {
		for _, role := range names {
			h.Roles = append(slices.DeleteFunc(h.Roles, func(r string) bool { return r == role }), role)
		}
		return
	}
	for _, option := range names {
		if err := site.CheckSSHOption(option); err != nil {
			t.list.Add(diag.Diagnose(err, v.src))
		}
	}
	h.SSHOptions = append(names, h.SSHOptions...)
}

func (t *tree) labels(h *Host, v value) {
	labels, ok := v.plain.(map[string]any)
	h.Labels = map[string]string{}
	for name, e := range labels {
		text, isText := e.(string)
		ok = ok && isText
		h.Labels[name] = text
	}
	if !ok {
		t.errorAt(v.src, `write {"NAME": "VALUE"}`, "labels are texts by their names")
	}
}
