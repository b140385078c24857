package runtime

import (
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// recordWanted records, before anything else, what the run wants to be retained, in the
// order of the run, and what is to be retained no longer. Nothing is recorded that was
// so before.
func (e *engine) recordWanted() {
	m := e.managed()
	if m == nil || e.planning() || !e.orphans.hasRead {
		return
	}
	holding := m.Holding(e.run.Site)
	entries := map[string][]*journal.Created{} // by the address of all instances
	for _, c := range holding.Entries() {
		if base := states.BaseAddress(c.Address); !c.Claim {
			entries[base] = append(entries[base], c)
		}
	}
	wanted := map[string][]*states.Part{}
	var order []string
	seen := map[states.Resource]bool{}
	for i := range e.orphans.site.Invocations {
		for k := range e.orphans.site.Invocations[i].Parts {
			p := &e.orphans.site.Invocations[i].Parts[k]
			name := states.Resource{Type: p.Type, Key: p.Key}
			if p.Ensure == states.Absent || p.Key == "" || seen[name] {
				continue
			}
			seen[name] = true
			base := states.BaseAddress(states.WithoutWave(p.Address))
			if wanted[base] == nil {
				order = append(order, base)
			}
			wanted[base] = append(wanted[base], p)
		}
	}
	for _, base := range order {
		if isRecorded(holding, entries[base], wanted[base]) {
			continue
		}
		for _, p := range wanted[base] {
			e.recorder.emitWanted(wantedEvent(p, p.Key))
		}
	}
}

// emitWanted emits an event that outlives a loss of power once the run has ended, though the run does nothing else: by it
// the next run knows what stays.
func (r *recorder) emitWanted(ev states.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasChanged = true
	r.emitLocked(ev)
}

func wantedEvent(p *states.Part, key string) states.Event {
	return states.Event{Type: states.EventWanted, Address: states.WithoutWave(p.Address), ID: p.ID, Part: p.Type, Key: key, Retain: p.Options.Retain, Cluster: p.Options.Cluster}
}

// isRecorded reports whether the records say already how long parts of one address are to
// stay and, if that is a number, that they were wanted last, in this order.
func isRecorded(holding *journal.Holding, entries []*journal.Created, parts []*states.Part) bool {
	counts := false
	var names []states.Resource
	for _, p := range parts {
		c := holding.Entry(p.Type, p.Key)
		switch {
		case !isBound(p) && (c == nil || c.Retain == 0 && c.Cluster == ""):
		case c == nil || c.Claim || !isAsBound(c, p):
			return false
		}
		counts = counts || p.Options.Retain.Count() > 0
		names = append(names, states.Resource{Type: p.Type, Key: p.Key})
	}
	if !counts {
		return true
	}
	slices.SortFunc(entries, journal.ByWanted)
	last := entries[max(0, len(entries)-len(names)):]
	return slices.EqualFunc(last, names, func(c *journal.Created, name states.Resource) bool { return c.Resource() == name })
}

// isBound reports whether how long a part is to stay does not depend on the site alone.
func isBound(p *states.Part) bool { return p.Options.Retain != 0 || p.Options.Cluster != "" }

// isAsBound reports whether the records say of a part how long it is to stay.
func isAsBound(c *journal.Created, p *states.Part) bool {
	return c.Retain == p.Options.Retain && c.Cluster == p.Options.Cluster
}

// wantLate records how long something is to stay whose key only the host could tell. The
// recorder is locked.
func (r *recorder) wantLate(s *step) {
	m := s.engine.managed()
	if m == nil || s.module == nil || s.engine.planning() || s.part.Ensure == states.Absent || !slices.ContainsFunc(s.module.Keys(), func(key string) bool { return s.part.Results[key] != nil }) {
		return
	}
	key := r.key(s.part)
	holding := m.Holding(s.engine.run.Site)
	if holding == nil { // told when the run is recorded
		return
	}
	c := holding.Entry(s.part.Type, key)
	if c == nil && isBound(s.part) && s.creation != nil || c != nil && !c.Claim && !isAsBound(c, s.part) {
		r.hasChanged = true
		r.emitLocked(wantedEvent(s.part, key))
	}
}
