package inventory

import (
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// readStatic reads an inventory of Ansible in YAML, or in JSON of the same form: groups with
// hosts, children and vars.
func (t *tree) readStatic(n *node) {
	if n.get("plugin") != nil {
		t.errorAt(n.values["plugin"].src, `let Ansible ask it: command = ["ansible-inventory", "-i", "FILE", "--list"]`,
			"this is the configuration of a plugin of Ansible, and no inventory")
		return
	}
	for _, k := range n.keys {
		t.staticGroup(k, n.values[k.name])
	}
}

// staticGroup reads a group with all that is below it.
func (t *tree) staticGroup(k key, n *node) *group {
	g := t.group(k.name, k.src)
	if g == nil || n.isNull() {
		return g
	}
	if n.kind != objectKind {
		t.errorAt(n.src, "write hosts, children and vars below it", "the group %s is %s", k.name, n.kind)
		return g
	}
	for _, word := range n.keys {
		v := n.values[word.name]
		switch word.name {
		case "hosts", "children":
			t.members(g, word, v)
		case "vars":
			t.groupVars(g, v)
		default:
			t.warn(word.src, "a group has hosts, children and vars", "the group %s: %q has no meaning here", k.name, word.name)
		}
	}
	return g
}

// members reads the hosts or the children of a group: an object of them, a list of names,
// or one name.
func (t *tree) members(g *group, word key, n *node) {
	if n.isNull() {
		return
	}
	if n.kind == scalarKind {
		n = &node{kind: listKind, src: n.src, list: []*node{n}}
	}
	if n.kind == listKind {
		object := &node{kind: objectKind, src: n.src}
		for _, e := range n.list {
			name, ok := keyText(e.scalar)
			if !ok || e.kind != scalarKind {
				t.errorAt(e.src, "write a name", "the %s of %s: a name is text", word.name, g.name)
				continue
			}
			object.put(name, e.src, &node{src: e.src})
		}
		n = object
	}
	for _, k := range n.keys {
		if t.full {
			return
		}
		if word.name == "children" {
			if child := t.staticGroup(k, n.values[k.name]); child != nil {
				g.addChild(child.name)
			}
			continue
		}
		names, port, err := expand(k.name)
		if err != nil {
			t.errorAt(k.src, "write web[01:20] or db-[a:f]", "%s names no hosts: %v", k.name, err)
			continue
		}
		t.setHosts(names, port, g, t.vars(n.values[k.name], "host "+k.name), k.src)
	}
}

// vars gives the variables of an object.
func (t *tree) vars(n *node, of string) map[string]value {
	out := map[string]value{}
	if n.isNull() {
		return out
	}
	if n.kind != objectKind {
		t.errorAt(n.src, "write NAME: VALUE", "the variables of the %s are an object, and not %s", of, n.kind)
		return out
	}
	for _, k := range n.keys {
		out[k.name] = value{n.values[k.name].plain(), keyRange(k.src, n.values[k.name].src)}
	}
	return out
}

// keyRange is from a key to its value where both stand in one line, else the key.
func keyRange(k, v diag.Range) diag.Range {
	if v.File == k.File && v.End.Line == k.Start.Line {
		k.End = v.End
	}
	return k
}

func (t *tree) groupVars(g *group, n *node) {
	vars := t.vars(n, "group "+g.name)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		t.setGroup(g, name, vars[name])
	}
}

// readDynamic reads what an inventory program of Ansible prints with --list.
func (t *tree) readDynamic(n *node) {
	for _, k := range n.keys {
		v := n.values[k.name]
		if k.name == "_meta" {
			continue
		}
		g := t.group(k.name, k.src)
		if g == nil || v.isNull() {
			continue
		}
		switch {
		case v.kind != objectKind:
			t.members(g, key{"hosts", k.src}, v)
		case v.values["hosts"] == nil && v.values["vars"] == nil && v.values["children"] == nil:
			t.setHosts([]string{k.name}, 0, g, nil, k.src) // a host with variables
			t.groupVars(g, v)
		default:
			t.dynamicGroup(g, v)
		}
	}
	meta := n.get("_meta")
	if meta == nil || meta.kind != objectKind {
		if len(t.names) > 0 {
			t.warn(n.src, `add "_meta": {"hostvars": {…}} to what it prints`, "the inventory has no _meta: the hosts have no variables of their own")
		}
		return
	}
	hostvars := meta.get("hostvars")
	if hostvars == nil {
		return
	}
	if hostvars.kind != objectKind {
		t.errorAt(hostvars.src, `write "hostvars": {"HOST": {…}}`, "hostvars is an object, and not %s", hostvars.kind)
		return
	}
	for _, k := range hostvars.keys {
		if t.hosts[k.name] != nil {
			t.setHosts([]string{k.name}, 0, nil, t.vars(hostvars.values[k.name], "host "+k.name), k.src)
		}
	}
}

func (t *tree) dynamicGroup(g *group, n *node) {
	for _, word := range n.keys {
		v := n.values[word.name]
		switch {
		case v.isNull():
		case word.name == "vars":
			t.groupVars(g, v)
		case word.name == "children":
			t.members(g, word, v)
		case word.name == "hosts" && v.kind == listKind:
			for _, e := range v.list {
				name, ok := e.scalar.(string)
				if !ok || e.kind != scalarKind {
					t.errorAt(e.src, "write a name", "the hosts of %s: a name is text", g.name)
					continue
				}
				t.setHosts([]string{name}, 0, g, nil, e.src)
			}
		case word.name == "hosts":
			t.members(g, word, v)
		}
	}
}

// isDynamic tells what programs print from what people write: there, members are lists.
func isDynamic(n *node) bool {
	if n.values["_meta"] != nil {
		return true
	}
	for _, g := range n.values {
		if g.kind == listKind {
			return true
		}
		for _, word := range []string{"hosts", "children"} {
			if v := g.values[word]; v != nil && v.kind == listKind {
				return true
			}
		}
	}
	return false
}
