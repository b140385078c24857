package graph_test

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// followed gives the declarations that w comes after by `follows`: through what is left out,
// which hands on what it requires, too; and a state is its runs as well.
func (c *checked) followed(w wish) []string {
	var out []string
	type way struct {
		name    string
		follows bool
	}
	seen := map[way]bool{}
	runs := func(name string) (list []string) {
		for _, r := range c.wishes {
			if r.runOf == name {
				list = append(list, r.name)
			}
		}
		return list
	}
	var add func(name string, follows bool)
	addAll := func(w wish, follows bool) {
		for _, name := range c.inherited(w, requiresOf) {
			if list := runs(name); len(list) > 0 { // required, a state that runs invoke is its runs
				for _, r := range list {
					add(r, follows)
				}
				continue
			}
			add(name, follows)
		}
		for _, name := range c.inherited(w, followsOf) {
			for _, one := range append(runs(name), name) {
				add(one, true)
			}
		}
	}
	add = func(name string, follows bool) {
		if seen[way{name, follows}] {
			return
		}
		seen[way{name, follows}] = true
		switch to := c.wishes[name]; {
		case c.left(to):
			addAll(to, follows)
		case follows:
			out = append(out, name)
		}
	}
	addAll(w, false)
	return out
}

// findDeclared finds what comes before what whatever waits for it: by what is required,
// notifies, or is followed and comes before.
func (c *checked) findDeclared() {
	direct := map[string][]string{}
	for _, i := range c.Invocations {
		w, of := c.wishes[states.WithoutWave(i.Address)], i.Address
		for _, n := range i.NotifiedBy {
			direct[of] = append(direct[of], n.Address)
		}
		for _, name := range c.required(w) {
			for _, n := range c.of(name) {
				if !n.Handler {
					direct[of] = append(direct[of], n.Address)
				}
			}
		}
		for _, name := range c.followed(w) {
			for _, n := range c.of(name) {
				if c.before[of][n.Address] {
					direct[of] = append(direct[of], n.Address)
					c.byFollows = append(c.byFollows, [2]string{n.Address, of})
				}
			}
		}
		if w.defers {
			tail := c.tail()
			for _, n := range c.Invocations {
				if !tail[n.Address] {
					direct[of] = append(direct[of], n.Address)
				}
			}
		}
	}
	whole := c.direct
	c.direct, c.declared = direct, map[string]map[string]bool{}
	for _, i := range c.Invocations {
		c.declared[i.Address] = c.walk(i.Address, "", "")
	}
	c.direct = whole
}

// isAfterByFollows reports whether one invocation comes after another by way of a `follows`.
func (c *checked) isAfterByFollows(later, earlier string) bool {
	return slices.ContainsFunc(c.byFollows, func(f [2]string) bool {
		return (f[0] == earlier || c.before[f[0]][earlier]) && (f[1] == later || c.before[later][f[1]])
	})
}

// follow checks that an invocation begins when all that it follows has ended: of a handler
// all waves but those that come after it, not since something waits.
func (c *checked) follow(t failer, d states.Invocation) {
	w := c.wishes[states.WithoutWave(d.Address)]
	for _, name := range c.followed(w) {
		for _, n := range c.of(name) {
			switch {
			case c.before[d.Address][n.Address]:
			case !n.Handler:
				t.Errorf("%s follows %s, and is not after it", d.Address, n.Address)
			case !c.before[n.Address][d.Address]:
				t.Errorf("%s follows %s, and may run at the same time", d.Address, n.Address)
			case !c.declared[n.Address][d.Address] && !c.isCausedBy(n, c.whole(w)):
				t.Errorf("%s follows %s, and comes before it for a wait", d.Address, n.Address)
			}
		}
	}
}

// whole gives the names of a state with its runs, which follow what it follows.
func (c *checked) whole(w wish) []string {
	state := cmp.Or(w.runOf, w.name)
	out := []string{state}
	for _, other := range c.wishes {
		if other.runOf == state {
			out = append(out, other.name)
		}
	}
	return out
}

// isCausedBy reports whether a wave comes of an invocation of some declarations by
// notifications alone.
func (c *checked) isCausedBy(wave states.Invocation, names []string) bool {
	for _, by := range wave.NotifiedBy {
		if slices.Contains(names, states.WithoutWave(by.Address)) {
			return true
		}
		for _, i := range c.Invocations {
			if i.Address == by.Address && c.isCausedBy(i, names) {
				return true
			}
		}
	}
	return false
}
