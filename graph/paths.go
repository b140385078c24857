package graph

import (
	"path"
	"slices"

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
	users line        // all, in their order
	use   map[int]use // of each user
}

// orderPaths orders what touches the same path, and what touches a path and
// what lies below it: a directory comes before what lies below it, or after
// if it is removed; a guard keeps the order of declarations.
func (p *planner) orderPaths() {
	tree := make(map[string]*pathNode)
	touched := make([][]string, len(p.finals))
	for i, f := range p.finals {
		if f.d.isBlock() {
			continue // its guards are decided once, with its first member
		}
		for name, u := range f.d.touches() {
			n := tree[name]
			if n == nil {
				n = &pathNode{use: make(map[int]use, 1)}
				tree[name] = n
			}
			n.use[i] = u
			touched[i] = append(touched[i], name)
		}
		slices.Sort(touched[i])
		for _, name := range touched[i] {
			p.join(&tree[name].users, i)
		}
	}
	for i := range touched {
		for _, name := range touched[i] {
			p.orderBelow(tree, name, i)
		}
	}
}

// orderBelow orders user u of a path and the users of the directories above:
// of all of them, since what is between may have given way.
func (p *planner) orderBelow(tree map[string]*pathNode, name string, u int) {
	for dir, ok := parent(name); ok; dir, ok = parent(dir) {
		if n := tree[dir]; n != nil {
			p.afterKept(n, u)
			p.beforeTaken(n, u)
			p.besideGuards(n, u)
		}
	}
}

// afterKept puts u behind the last that sets the directory up.
func (p *planner) afterKept(n *pathNode, u int) {
	for _, d := range slices.Backward(n.users) {
		if n.use[d] == keeps && p.after(d, u) {
			return
		}
	}
}

// beforeTaken puts u before the first that removes the directory.
func (p *planner) beforeTaken(n *pathNode, u int) {
	for _, d := range n.users {
		if n.use[d] == takes && p.after(u, d) {
			return
		}
	}
}

// besideGuards puts u between the guards declared before and after it.
func (p *planner) besideGuards(n *pathNode, u int) {
	for _, d := range slices.Backward(n.users) {
		if n.use[d] == looks && d <= u && p.after(d, u) {
			break
		}
	}
	for _, d := range n.users {
		if n.use[d] == looks && d >= u && p.after(u, d) {
			break
		}
	}
}

// touches gives the paths that the parts of d and their guards name.
func (d *decl) touches() map[string]use {
	var out map[string]use
	add := func(name string, u use) {
		if name == "" {
			return
		}
		if out == nil {
			out = make(map[string]use, 1)
		}
		name = path.Clean(name)
		out[name] = max(out[name], u)
	}
	guards := func(list []states.GuardDeclaration) {
		for _, g := range list {
			add(g.Exists, looks)
			add(g.Missing, looks)
		}
	}
	guards(d.Options.Guards)
	if d.of != nil {
		guards(d.of.Options.Guards)
	}
	for part := range d.parts() {
		u := keeps
		if d.ensureOf(part) == states.Absent {
			u = takes
		}
		for _, name := range part.Paths {
			add(name, u)
		}
		guards(part.Options.Guards)
	}
	return out
}
