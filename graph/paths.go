package graph

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/states"
)

// use is how an invocation touches a path; a stronger use hides a weaker one.
type use int

const (
	looks use = iota // a guard asks whether it is there
	takes            // a part removes it
	keeps            // a part sets it up
)

// pathNode is the part of the tree that one path names.
type pathNode struct {
	users line  // all, in their order
	uses  []use // of each user
}

// touch is one use of a path.
type touch struct {
	path string
	use  use
}

// orderPaths orders what touches the same path, and what touches a path and
// what lies below it: a directory comes before what lies below it, or after
// if it is removed; a guard keeps the order of declarations.
func (o *outline) orderPaths() {
	tree := make(map[string]*pathNode)
	touched := make([][]touch, len(o.finals))
	for i, f := range o.finals {
		if f.d.isBlock() {
			continue // its guards are decided once, with its first member
		}
		touched[i] = f.d.touches(o.registry)
		for _, t := range touched[i] {
			n := tree[t.path]
			if n == nil {
				n = new(pathNode)
				tree[t.path] = n
			}
			at := o.join(&n.users, i)
			n.uses = slices.Insert(n.uses, at, t.use)
		}
	}
	for i := range touched {
		for _, t := range touched[i] {
			o.orderBelow(tree, t.path, i)
		}
	}
}

// orderBelow orders user u of a path and the users of the directories above:
// of all of them, since what is between may have given way.
func (o *outline) orderBelow(tree map[string]*pathNode, name string, u int) {
	for dir, ok := parent(name); ok; dir, ok = parent(dir) {
		if n := tree[dir]; n != nil {
			o.putAfterCreator(n, u)
			o.putBeforeRemover(n, u)
			o.putBetweenGuards(n, u)
		}
	}
}

// putAfterCreator puts u behind the last that sets the directory up.
func (o *outline) putAfterCreator(n *pathNode, u int) {
	for k, d := range slices.Backward(n.users) {
		if n.uses[k] == keeps && o.insertAfter(d, u) {
			return
		}
	}
}

// putBeforeRemover puts u before the first that removes the directory.
func (o *outline) putBeforeRemover(n *pathNode, u int) {
	for k, d := range n.users {
		if n.uses[k] == takes && o.insertAfter(u, d) {
			return
		}
	}
}

// putBetweenGuards puts u between the guards declared before and after it.
func (o *outline) putBetweenGuards(n *pathNode, u int) {
	for k, d := range slices.Backward(n.users) {
		if n.uses[k] == looks && d <= u && o.insertAfter(d, u) {
			break
		}
	}
	for k, d := range n.users {
		if n.uses[k] == looks && d >= u && o.insertAfter(u, d) {
			break
		}
	}
}

// touches gives the paths that the parts of d and their guards name, sorted.
func (d *decl) touches(registry *states.Registry) []touch {
	var out []touch
	add := func(name string, u use) {
		if name != "" {
			out = append(out, touch{path.Clean(name), u})
		}
	}
	guards := func(list []states.GuardDeclaration) {
		for _, g := range list {
			add(g.Exists, looks)
			add(g.Missing, looks)
		}
		if states.LateGuard(list) {
			add("/", looks)
		}
	}
	guards(d.Options.Guards)
	if d.state != nil {
		guards(d.state.Options.Guards)
	}
	for part := range d.parts() {
		u := keeps
		if d.ensureOf(part) == states.Absent {
			u = takes
		}
		for _, name := range part.Paths {
			add(name, u)
		}
		m := registry.ModuleOf(part.Type)
		if m != nil {
			for _, dir := range m.Places(part.Values) {
				add(d.privatePath(dir), u)
			}
		}
		guards(part.Options.Guards)
		// A path that only the host knows may be any: what touches one keeps
		// the order of declarations with it, as with a guard.
		if len(part.Results) > 0 && m != nil && part.LatePath(m) {
			add("/", looks)
		}
	}
	// The strongest use of each path comes first.
	slices.SortFunc(out, func(a, b touch) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(b.use, a.use)) })
	return slices.CompactFunc(out, func(a, b touch) bool { return a.path == b.path })
}

// privatePath names something in a directory that nobody else can name: who works there
// comes after who sets the directory up, and no other order follows from it.
func (d *decl) privatePath(dir string) string { return dir + "/\x00" + strconv.Itoa(d.index) }
