package deploy

import (
	"maps"
	"slices"
)

// maxChanges is how often outputs of other hosts make something else of a host in one revision before a person is asked: hosts that change one
// another go on for ever.
const maxChanges = 3

// follow takes the place of what was prepared of the same revision before; nil: nothing was.
func (p *Prepared) follow(former *Prepared) {
	if former == nil {
		return
	}
	p.Changes = former.Changes
	if len(former.Waits) > 0 || former.Error != "" || former.Identity == p.Identity || len(p.Waits) > 0 || p.Error != "" {
		return
	}
	isOutput := func(v Value) bool { return v.IsOutput }
	was := map[Value]bool{}
	for v := range former.Read.all() {
		was[v] = true
	}
	for v := range p.Read.all() {
		if isOutput(v) && !was[v] {
			p.Changes++
			return
		}
	}
}

// givers are the hosts whose outputs a host waits for.
func (p *Prepared) givers() (names []string) {
	if p == nil {
		return nil
	}
	is := map[string]bool{}
	for v := range p.Read.all() {
		if v.IsOutput && !v.IsLast && !is[v.Host] {
			is[v.Host] = true
			names = append(names, v.Host)
		}
	}
	return names
}

// cycle gives hosts each of which reads of the next, the last one of the first, which stands there twice; nil: there are none.
func cycle(reads map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		if i := slices.Index(path, name); i >= 0 {
			return append(slices.Clone(path[i:]), name)
		}
		if done[name] {
			return nil
		}
		done[name] = true
		path = append(path, name)
		for _, giver := range reads[name] {
			if found := visit(giver); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}

// tolerate lets hosts pass that what others give has changed too often. It reports whether there were any.
func (d *Deployment) tolerate() bool {
	found := false
	for _, h := range d.Hosts {
		if h.Why.Code == CodeUnsteady {
			found, d.Tolerated = true, max(d.Tolerated, h.Changes)
		}
	}
	return found
}
