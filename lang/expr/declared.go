package expr

import (
	"maps"
	"slices"
)

// Owned is something that the site declares for every host, or a role for its hosts.
type Owned interface {
	comparable
	// Owner is the role that declares it; empty: none, it is every host's.
	Owner() string
}

// Declared holds what is declared under names: under each one thing of every host, or one of
// each of several roles, of which a host has one at most. Its zero value is empty and ready.
type Declared[T Owned] struct {
	first  map[string]T // by name
	shared map[string]*choice[T]
	// sharedBy are the names that a role shares with others.
	sharedBy map[string][]string
}

// choice is what several roles declare under one name.
type choice[T Owned] struct {
	list []T // in order of declaration
	of   map[string]T
}

// Add enters a declaration. Where a host would have two of the name, whatever roles it has, it
// enters nothing, and gives the one that has the name.
func (d *Declared[T]) Add(name string, v T) (taken T, ok bool) {
	first, known := d.first[name]
	switch {
	case !known:
		if d.first == nil {
			d.first = map[string]T{}
		}
		d.first[name] = v
		return taken, true
	case first.Owner() == "" || v.Owner() == "" || first.Owner() == v.Owner():
		return first, false
	}
	c := d.shared[name]
	if c == nil {
		c = &choice[T]{[]T{first}, map[string]T{first.Owner(): first}}
		if d.shared == nil {
			d.shared, d.sharedBy = map[string]*choice[T]{}, map[string][]string{}
		}
		d.shared[name] = c
		d.sharedBy[first.Owner()] = append(d.sharedBy[first.Owner()], name)
	}
	if other, twice := c.of[v.Owner()]; twice {
		return other, false
	}
	c.list, c.of[v.Owner()] = append(c.list, v), v
	d.sharedBy[v.Owner()] = append(d.sharedBy[v.Owner()], name)
	return taken, true
}

// By gives what a role declares under a name, the empty one what is every host's; the zero value if that
// is nothing.
func (d *Declared[T]) By(name, role string) (v T) {
	if c := d.shared[name]; c != nil {
		return c.of[role]
	}
	if first, ok := d.first[name]; ok && first.Owner() == role {
		return first
	}
	return v
}

// First gives what was declared first under a name, whoever has it; the zero value if nothing is.
func (d *Declared[T]) First(name string) T { return d.first[name] }

// Has reports whether anything is declared under a name.
func (d *Declared[T]) Has(name string) bool {
	_, ok := d.first[name]
	return ok
}

// All gives what is declared under a name, in order of declaration.
func (d *Declared[T]) All(name string) []T {
	if c := d.shared[name]; c != nil {
		return c.list
	}
	if first, ok := d.first[name]; ok {
		return []T{first}
	}
	return nil
}

// Of gives what those who have the roles have under a name: of several, which is a mistake, that
// of the first role.
func (d *Declared[T]) Of(name string, roles Roles) (v T, ok bool) {
	first, known := d.first[name]
	c := d.shared[name]
	switch {
	case !known:
		return v, false
	case c == nil || roles.all:
		return first, roles.Has(first.Owner())
	}
	for _, role := range roles.names {
		if v, ok := c.of[role]; ok {
			return v, true
		}
	}
	return v, false
}

// AnyShared reports whether several roles declare any one name.
func (d *Declared[T]) AnyShared() bool { return len(d.shared) > 0 }

// IsShared reports whether several roles declare a name.
func (d *Declared[T]) IsShared(name string) bool { return d.shared[name] != nil }

// Owners gives the roles that declare something under a name, in order of declaration; none where it
// is every host's.
func (d *Declared[T]) Owners(name string) []string {
	var owners []string
	for _, v := range d.All(name) {
		if v.Owner() != "" {
			owners = append(owners, v.Owner())
		}
	}
	return owners
}

// Names gives the names, sorted.
func (d *Declared[T]) Names() []string { return slices.Sorted(maps.Keys(d.first)) }

// Conflicts gives the pairs of one name that those who have the roles have.
func (d *Declared[T]) Conflicts(roles Roles) [][2]T {
	var pairs [][2]T
	if roles.all {
		for _, name := range slices.Sorted(maps.Keys(d.shared)) {
			list := d.shared[name].list
			for _, other := range list[1:] {
				pairs = append(pairs, [2]T{list[0], other})
			}
		}
		return pairs
	}
	found := map[string]T{}
	for _, role := range roles.names {
		for _, name := range d.sharedBy[role] {
			v := d.shared[name].of[role]
			if first, twice := found[name]; twice {
				pairs = append(pairs, [2]T{first, v})
				continue
			}
			found[name] = v
		}
	}
	return pairs
}

// Roles are the roles of who asks for a name. Its zero value has none, and finds what is every
// host's.
type Roles struct {
	names []string
	set   map[string]bool
	all   bool
}

// NewRoles makes the roles of those names.
func NewRoles(names []string) Roles {
	r := Roles{names: names, set: make(map[string]bool, len(names))}
	for _, name := range names {
		r.set[name] = true
	}
	return r
}

// AllRoles are those of a machine that has every role: that of a site without hosts.
func AllRoles() Roles { return Roles{all: true} }

// Has reports whether a role is among them; that of every host, the empty one, always is.
func (r Roles) Has(role string) bool { return role == "" || r.all || r.set[role] }
