package graph

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// nearBudget bounds the search for a path that makes an `after` needless.
const nearBudget = 64

// orderImplicitly orders what declares no order but must not run at the same time, or
// is expected to run in the order of its file. Each of these edges gives way
// to all before it: requirements, then accounts, then paths, then keys, then files.
func (p *planner) orderImplicitly() {
	p.sortFinals()
	p.orderAccounts()
	p.orderPaths()
	p.orderKeys()
	p.orderFiles()
	p.sortFinals()
}

// sortFinals sorts by declaration as far as the edges let it, and returns the
// order.
func (o *outline) sortFinals() []int {
	key := make([]int, len(o.soft.succ))
	for i := range key {
		if key[i] = i; i >= len(o.finals) {
			key[i] = -1
		}
	}
	sorted := o.soft.sort(key)
	if len(sorted) != len(key) {
		panic("graph: the merged graph has a cycle")
	}
	return sorted
}

// runOrder gives the finals in the order of the run.
func (o *outline) runOrder() []int {
	list := make([]int, len(o.finals))
	for i := range list {
		list[i] = i
	}
	return o.soft.inPosition(list)
}

// insertAfter lets one final wait for the end of another. It returns false where
// that would close a cycle.
func (o *outline) insertAfter(from, to int) bool {
	if from == to || o.soft.reaches(from, to, nearBudget) {
		return true
	}
	if !o.soft.insert(from, to) {
		return false
	}
	if to < len(o.finals) {
		o.finals[to].predecessors = append(o.finals[to].predecessors, from)
	}
	return true
}

// line is a set of finals, each before the next.
type line []int

// join puts u into the line: at its end, or as near to it as what u comes
// before allows, and returns its place. Everything in the line stays in one
// order.
func (o *outline) join(l *line, u int) int {
	at := len(*l)
	for at > 0 && !o.insertAfter((*l)[at-1], u) {
		at--
	}
	*l = slices.Insert(*l, at, u)
	return at
}

// orderKeys gives invocations with parts of the same type and key the order of
// their declarations.
func (o *outline) orderKeys() {
	type thing struct{ kind, key string }
	lines := make(map[thing]*line)
	late := o.lateTypes()
	for i, f := range o.finals {
		var seen []thing
		for part := range f.d.parts() {
			t := thing{part.Type, part.Key}
			if late[part.Type] {
				t.key = "" // a key that only the host knows may be any
			} else if part.Key == "" || slices.Contains(part.Paths, part.Key) {
				continue
			}
			if slices.Contains(seen, t) {
				continue
			}
			seen = append(seen, t)
			l := lines[t]
			if l == nil {
				l = new(line)
				lines[t] = l
			}
			o.join(l, i)
		}
	}
}

// lateTypes are the types of parts whose keys only the host knows; paths are
// ordered by themselves.
func (o *outline) lateTypes() map[string]bool {
	late := map[string]bool{}
	for _, f := range o.finals {
		for part := range f.d.parts() {
			if len(part.Results) == 0 {
				continue
			}
			for _, a := range o.registry.ModuleOf(part.Type).Attributes {
				if a.Key && !a.Path && part.Results[a.Name] != nil {
					late[part.Type] = true
				}
			}
		}
	}
	return late
}

// parts yields the parts that are not left out.
func (d *decl) parts() func(func(*states.PartDeclaration) bool) {
	return func(yield func(*states.PartDeclaration) bool) {
		for i := range d.Parts {
			if part := &d.Parts[i]; !part.Options.LeftOut && !yield(part) {
				return
			}
		}
	}
}

// orderFiles lets the top-level parts of a file start in groups: neighbours of
// one type have no order, the next group waits for the one before.
func (o *outline) orderFiles() {
	var file, kind string
	var before, group []int
	flush := func() {
		if len(before) > 0 && len(group) > 0 {
			before = o.follow(before, group)
		} else {
			before = slices.Clone(group)
		}
		group = group[:0]
	}
	for i, f := range o.finals {
		if !f.d.TopLevel || f.d.lazy || len(f.d.Parts) == 0 {
			continue
		}
		if f.d.File != file {
			flush()
			file, kind, before = f.d.File, f.d.Parts[0].Type, nil
		}
		if t := f.d.Parts[0].Type; t != kind {
			flush()
			kind = t
		}
		group = append(group, i)
	}
	flush()
}

// follow puts a group behind another, and returns what the next group is to
// wait for: the group, and what it could not wait for.
func (o *outline) follow(before, group []int) []int {
	next := slices.Clone(group)
	from, bundled := before, len(before)*len(group) > manyEdges
	var j int
	if bundled {
		j = o.soft.add()
		o.joins = append(o.joins, join{after: before})
		for _, a := range before {
			o.soft.insert(a, j)
		}
	}
	for _, b := range o.soft.inPosition(slices.Clone(group)) {
		if bundled && o.insertAfter(j, b) {
			continue
		}
		for _, a := range from {
			if !o.insertAfter(a, b) && !slices.Contains(next, a) {
				next = append(next, a)
			}
		}
	}
	return next
}

// parent gives the directory of a clean path, and false at the root.
func parent(path string) (string, bool) {
	slash := strings.LastIndexByte(path, '/')
	switch {
	case slash > 0:
		return path[:slash], true
	case slash == 0 && len(path) > 1:
		return "/", true
	}
	return "", false
}
