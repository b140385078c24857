package inventory

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/lang/diag"
)

// setHosts adds hosts to a group, nil for none, and gives them variables. A port, if it
// is not 0, counts only for a host that is new.
func (t *tree) setHosts(names []string, port int, in *group, vars map[string]value, src diag.Range) {
	for _, name := range names {
		known := t.hosts[name] != nil
		h := t.host(name, src)
		if h == nil {
			continue
		}
		if port != 0 && !known {
			h.vars["ansible_port"] = value{json.Number(strconv.Itoa(port)), src}
		}
		if in != nil {
			in.add(h)
		}
		for _, key := range slices.Sorted(maps.Keys(vars)) {
			t.set(h.vars, key, vars[key])
		}
	}
}

// setGroup gives a group a variable. One is about the group itself.
func (t *tree) setGroup(g *group, name string, v value) {
	if name != "ansible_group_priority" {
		t.set(g.vars, name, v)
		return
	}
	n, err := strconv.Atoi(text(v.plain))
	if err != nil {
		t.errorAt(v.src, "write a number: ansible_group_priority=10", "the priority of a group is a whole number")
		return
	}
	g.priority = n
}

// set puts a variable into a map.
func (t *tree) set(to map[string]value, name string, v value) {
	if name == "" {
		t.errorAt(v.src, "write NAME=VALUE", "a variable has no name")
		return
	}
	if why := unusableReason(v.plain); why != "" && !t.own {
		t.omit(name, v.src, why)
	}
	to[name] = v
}

// text gives a text or a number as text; "" for anything else.
func text(plain any) string {
	switch p := plain.(type) {
	case string:
		return p
	case json.Number:
		return p.String()
	}
	return ""
}
