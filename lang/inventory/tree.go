package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// tree is an inventory while it is read: groups within groups, and hosts in them.
type tree struct {
	problems
	groups map[string]*group
	order  []string // of groups
	hosts  map[string]*host
	names  []string // of hosts, in their order
	full   bool     // there are too many, which was said
	// own says that settings stand by themselves, and not among the variables.
	own bool
}

type group struct {
	name     string
	src      diag.Range
	vars     map[string]value
	files    map[string]value // of group_vars
	settings map[string]value // of our own form
	children []string
	hosts    []string
	priority int
	depth    int
	holds    map[string]bool // the hosts
}

type host struct {
	name     string
	src      diag.Range
	vars     map[string]value
	files    map[string]value // of host_vars
	settings map[string]value
	groups   []*group // around it, lowest precedence first
}

// The groups that inventories of Ansible always have: of all hosts, and of those that are
// in no other one.
const (
	All       = "all"
	Ungrouped = "ungrouped"
)

func newTree() *tree {
	t := &tree{groups: map[string]*group{}, hosts: map[string]*host{}}
	t.group(All, diag.Range{})
	t.group(Ungrouped, diag.Range{})
	return t
}

// group gives the group of a name, new if it is not known; nil for a name that cannot
// be one.
func (t *tree) group(name string, src diag.Range) *group {
	if g := t.groups[name]; g != nil {
		return g
	}
	if name == "" || name[0] == '!' || name[0] == '@' || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 127 || r == ',' || r == '*' }) {
		t.errorAt(src, "a group's name holds no white space, commas or *", "%q is no name for a group", name)
		return nil
	}
	if t.tooMany(len(t.order), maxGroups, "groups", src) {
		return nil
	}
	g := &group{name: name, src: src, vars: map[string]value{}, settings: map[string]value{}, priority: 1, holds: map[string]bool{}}
	t.groups[name] = g
	t.order = append(t.order, name)
	return g
}

// host gives the host of a name, new if it is not known; nil for a name that cannot be
// one.
func (t *tree) host(name string, src diag.Range) *host {
	if h := t.hosts[name]; h != nil {
		return h
	}
	if !site.IsHostName(name) {
		hint := "use letters, digits, -, _ and ., and begin with a letter or digit"
		switch {
		case strings.Contains(name, "@"):
			_, to, _ := strings.Cut(name, "@")
			hint = "name who logs in by itself, as ansible_user or user: " + to
		case strings.Contains(name, ":"):
			hint = "give it a name, and the address by itself, as ansible_host or address"
		}
		t.errorAt(src, hint, "%q is no name for a host", name)
		return nil
	}
	if t.tooMany(len(t.names), maxHosts, "hosts", src) {
		return nil
	}
	h := &host{name: name, src: src, vars: map[string]value{}, settings: map[string]value{}}
	t.hosts[name] = h
	t.names = append(t.names, name)
	return h
}

// tooMany reports once that there are more than there may be.
func (t *tree) tooMany(have, limit int, what string, src diag.Range) bool {
	if have < limit {
		return false
	}
	if !t.full {
		t.errorAt(src, "split the inventory", "there are more than %d %s", limit, what)
	}
	t.full = true
	return true
}

func (g *group) add(h *host) {
	if !g.holds[h.name] {
		g.holds[h.name] = true
		g.hosts = append(g.hosts, h.name)
	}
}

func (g *group) addChild(name string) {
	if !slices.Contains(g.children, name) {
		g.children = append(g.children, name)
	}
}

// finish gives the inventory that was read.
func (t *tree) finish() (*Inventory, diag.List) {
	out := &Inventory{}
	if t.arrange() {
		for _, name := range t.names {
			if h, ok := t.flatten(t.hosts[name]); ok {
				out.Hosts = append(out.Hosts, h)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.groups)) {
			if !t.isImplied(t.groups[name]) {
				out.Groups = append(out.Groups, name)
			}
		}
	}
	t.problems.finish()
	return out, t.list.Sorted()
}

// isImplied reports whether our own form has a group only because Ansible's do.
func (t *tree) isImplied(g *group) bool {
	return t.own && (g.name == All || g.name == Ungrouped) && g.src.IsZero()
}

// arrange puts all groups below "all", finds how deep each is, and which are around
// each host. False: groups hold each other.
func (t *tree) arrange() bool {
	hasParent := map[string]bool{}
	for _, g := range t.groups {
		for _, child := range g.children {
			hasParent[child] = true
		}
	}
	for _, name := range t.order {
		if name != All && !hasParent[name] {
			t.groups[All].addChild(name)
		}
	}
	state := map[string]int{} // 1: within, 2: done
	if !t.checkAcyclic(t.groups[All], nil, state) {
		return false
	}
	for _, name := range t.order { // what is not below all is in a circle
		if state[name] == 0 && !t.checkAcyclic(t.groups[name], nil, state) {
			return false
		}
	}
	sorted := slices.Collect(maps.Values(t.groups))
	t.depths(sorted)
	slices.SortFunc(sorted, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	t.groupsOfHosts(sorted)
	return true
}

// checkAcyclic looks for groups that hold each other.
func (t *tree) checkAcyclic(g *group, way []string, state map[string]int) bool {
	way = append(way, g.name)
	if state[g.name] == 1 || len(way) > 10*maxDepth {
		start := slices.Index(way, g.name)
		t.errorAt(g.src, "take one of them out of the other", "the groups hold each other: %s", strings.Join(way[start:], " → "))
		return false
	}
	if state[g.name] == 2 {
		return true
	}
	state[g.name] = 1
	for _, child := range g.children {
		if !t.checkAcyclic(t.groups[child], way, state) {
			return false
		}
	}
	state[g.name] = 2
	return true
}

// depths finds the length of the longest way from all to each group.
func (t *tree) depths(groups []*group) {
	for changed := true; changed; {
		changed = false
		for _, g := range groups {
			for _, name := range g.children {
				if child := t.groups[name]; child.depth < g.depth+1 {
					child.depth = g.depth + 1
					changed = true
				}
			}
		}
	}
}

// groupsOfHosts finds the groups of each host, of the sorted ones. A host that is in no other
// group is in ungrouped; one that is, is not.
func (t *tree) groupsOfHosts(sorted []*group) {
	parents := map[string][]*group{}
	for _, g := range sorted {
		for _, child := range g.children {
			parents[child] = append(parents[child], g)
		}
	}
	within := map[string]map[*group]bool{}
	var climb func(g *group, to map[*group]bool)
	climb = func(g *group, to map[*group]bool) {
		if to[g] {
			return
		}
		to[g] = true
		for _, p := range parents[g.name] {
			climb(p, to)
		}
	}
	for _, g := range sorted {
		if g.name == Ungrouped {
			continue
		}
		for _, name := range g.hosts {
			if within[name] == nil {
				within[name] = map[*group]bool{}
			}
			climb(g, within[name])
		}
	}
	for _, name := range t.names {
		h, in := t.hosts[name], within[name]
		if in == nil {
			in = map[*group]bool{}
		}
		if len(in) == 0 || len(in) == 1 && in[t.groups[All]] {
			climb(t.groups[Ungrouped], in)
		}
		for _, g := range sorted {
			if in[g] {
				h.groups = append(h.groups, g)
			}
		}
	}
}

// flatten gives a host with all that its groups give it; false: it cannot be one.
func (t *tree) flatten(h *host) (Host, bool) {
	out := Host{Host: site.Host{Name: h.name, Address: h.name, Executor: "ssh", Range: h.src}}
	var all, settings []map[string]value
	level := func(group string, vars map[string]value) {
		if len(vars) == 0 {
			return
		}
		all = append(all, vars)
		l := Level{Group: group}
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			v := vars[name]
			if !t.own && strings.HasPrefix(name, "ansible_") {
				continue
			}
			if why := unusableReason(v.plain); why != "" && !t.own {
				continue // it was told of where it was read
			}
			l.Items = append(l.Items, Item{name, v.plain, v.src})
		}
		if len(l.Items) > 0 {
			out.Levels = append(out.Levels, l)
		}
	}
	for _, g := range h.groups {
		if !t.isImplied(g) {
			out.Groups = append(out.Groups, g.name)
		}
		level(g.name, g.vars)
		settings = append(settings, g.settings)
	}
	for _, g := range h.groups {
		level(g.name, g.files)
	}
	level("", h.vars)
	level("", h.files)
	settings = append(settings, h.settings)
	if t.own {
		return out, t.ownSettings(&out, settings)
	}
	return out, t.ansibleSettings(&out, merge(all))
}

// merge gives the values that count; those of later maps do.
func merge(all []map[string]value) map[string]value {
	out := map[string]value{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
