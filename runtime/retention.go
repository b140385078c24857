package runtime

import (
	"fmt"
	"path"
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// What is to be retained stays though it is declared no longer: all of it, or the last of
// what an address has stood for. Of those the others are removed by each run of the whole
// site, behind everything else.

// succession is all that an address has stood for, over its instances: versions, mostly.
type succession struct {
	address   string
	count     int  // how many stay, by what the run wants
	keepsAll  bool // the run wants something of it to be retained without a number
	isWanted  bool // the run wants something of it
	isRemoved bool // the run wants it to be absent, with all that it has stood for
	members   []*successor
}

// successor is one thing of a succession.
type successor struct {
	name   states.Resource
	entry  *journal.Created // nil: the site has not created it, or not yet
	orphan *orphan          // nil: it is declared, or another site's as well
	now    int              // its place among what the run wants, from one; 0: it does not
}

// newest puts what was wanted last first.
func newest(a, b *successor) int {
	if a.now != b.now || a.now != 0 {
		return b.now - a.now
	}
	return journal.ByWanted(b.entry, a.entry)
}

// successions finds what must be counted: of all addresses of which a number stays.
func (e *engine) successions(found []*orphan, entries []*journal.Created) []*succession {
	run := e.orphans.site
	byAddress := map[string]*succession{}
	var list []*succession
	count := func(address string, r states.Retention) {
		base := states.BaseAddress(states.WithoutWave(address))
		if r.Count() > 0 && byAddress[base] == nil {
			byAddress[base] = &succession{address: base}
			list = append(list, byAddress[base])
		}
	}
	for i := range run.Invocations {
		for k := range run.Invocations[i].Parts {
			count(run.Invocations[i].Parts[k].Address, run.Invocations[i].Parts[k].Options.Retain)
		}
	}
	for _, c := range entries {
		count(c.Address, c.Retain)
	}
	if len(list) == 0 {
		return nil
	}
	orphaned := map[states.Resource]*orphan{}
	for _, o := range found {
		orphaned[o.entry.Resource()] = o
	}
	members := map[states.Resource]*successor{}
	for _, c := range entries {
		s := byAddress[states.BaseAddress(c.Address)]
		if s == nil || c.Claim || slices.Contains(e.orphans.forgotten, c) {
			continue
		}
		m := &successor{name: c.Resource(), entry: c, orphan: orphaned[c.Resource()]}
		members[m.name] = m
		s.members = append(s.members, m)
	}
	number := 0
	for i := range run.Invocations {
		for k := range run.Invocations[i].Parts {
			p := &run.Invocations[i].Parts[k]
			s := byAddress[states.BaseAddress(states.WithoutWave(p.Address))]
			if s == nil {
				continue
			}
			if p.Ensure == states.Absent {
				s.isRemoved = s.isRemoved || p.Options.Retain.Count() > 0
				continue
			}
			number++
			s.isWanted, s.count = true, max(s.count, p.Options.Retain.Count())
			s.keepsAll = s.keepsAll || p.Options.Retain == states.RetainAll
			name := states.Resource{Type: p.Type, Key: p.Key}
			if members[name] == nil {
				members[name] = &successor{name: name}
				s.members = append(s.members, members[name])
			}
			members[name].now = number
		}
	}
	return list
}

// decide says of each member that is declared no longer whether it stays; places
// are told of all that stay, and of all that go.
func (s *succession) decide(places *retainedPlaces) {
	slices.SortFunc(s.members, newest)
	count := s.count
	if !s.isWanted && !s.isRemoved && len(s.members) > 0 {
		count = s.members[0].entry.Retain.Count()
	}
	for i, m := range s.members {
		o := m.orphan
		switch {
		case o != nil && (o.entry.Retain == states.RetainAll || s.keepsAll && count == 0 && o.entry.Retain != 0):
			o.keepReason = retainedReason
		case s.isRemoved && !s.isWanted && o != nil:
			o.lateReason = "with " + s.address + ", which is absent"
			places.going[places.of(m)] = true
		case count == 0:
		case o == nil:
			places.staying[places.of(m)] = true
		case i < count:
			o.isRetained = true
			places.staying[places.of(m)], places.withdrawn[places.of(m)] = true, true
		default:
			o.lateReason = fmt.Sprintf("older than what retain = %d keeps", count)
			places.going[places.of(m)] = true
		}
	}
}

const retainedReason = "it is retained, until tenet forget lets go of it"

// retainedPlaces are where things of successions stand, each of which may contain others.
type retainedPlaces struct {
	registry  *states.Registry
	staying   map[string]bool
	withdrawn map[string]bool // those that stay, and are declared no longer
	going     map[string]bool
}

// of gives the path of something that is all that is there; empty: there is none.
func (p *retainedPlaces) of(m *successor) string { return placeOf(p.registry, m.name) }

func placeOf(registry *states.Registry, name states.Resource) string {
	m := registry.Lookup(name.Type)
	if m == nil || onlyPathKey(m) == "" || !path.IsAbs(name.Key) {
		return ""
	}
	return path.Clean(name.Key)
}

// isBelow reports whether a path is below one of some; none is below the empty one.
func isBelow(at string, places map[string]bool) bool {
	for at != "" && at != "/" {
		if at = path.Dir(at); places[at] {
			return true
		}
	}
	return false
}

// retain decides of all that is declared no longer what stays nevertheless, and what is
// removed behind everything else.
func (e *engine) retain(found []*orphan, entries []*journal.Created, declared *declaredResources) {
	places := &retainedPlaces{e.options.Registry, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, o := range found {
		if o.entry.Retain == states.RetainAll {
			o.keepReason = retainedReason
		}
	}
	for _, s := range e.successions(found, entries) {
		s.decide(places)
	}
	for _, o := range found {
		at := placeOf(e.options.Registry, o.entry.Resource())
		switch {
		case o.keepReason == retainedReason || o.isRetained:
		case isBelow(at, places.withdrawn), o.lateReason == "" && isBelow(at, places.staying):
			o.isRetained, o.lateReason = true, ""
		case o.lateReason == "" && isBelow(at, places.going):
			o.lateReason = "with what is around it"
		}
	}
	for _, o := range found {
		if o.isRetained || o.keepReason == retainedReason {
			declared.keep(e.options.Registry.Lookup(o.entry.Type), o.entry)
		}
	}
	for _, o := range found {
		switch m := e.options.Registry.Lookup(o.entry.Type); {
		case o.lateReason == "":
		case m != nil && declared.isAt(m, o.entry): // it must go before that comes
			o.lateReason = ""
		case e.orphans.site.Partial && o.keepReason == "":
			o.keepReason = "an apply of all that is declared for this machine removes it"
		}
	}
}

// keep notes that something stays that is declared no longer.
func (d *declaredResources) keep(m *states.Module, c *journal.Created) {
	if m == nil {
		return
	}
	d.take(m, c.Key, m.Paths(c.Values))
	for _, at := range ownPaths(m, c) {
		if onlyPathKey(m) == "" {
			d.partsAt[at] = c.Address
		}
		for dir := path.Dir(at); d.partsBelow[dir] == ""; dir = path.Dir(dir) {
			d.partsBelow[dir] = c.Address
		}
	}
}
