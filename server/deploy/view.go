package deploy

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// knownFacts are facts or outputs of a host, and since when they are what they are.
type knownFacts struct {
	values map[string]json.RawMessage
	since  time.Time
	number uint64    // of the question that has given them: others have another one
	asked  time.Time // when that was
}

// isOld reports whether it is to be asked for again. That there are no facts may have been a fault of whoever was asked.
func (k *knownFacts) isOld(now time.Time) bool {
	return k.number == 0 || k.values == nil && (now.Before(k.asked) || !now.Before(k.asked.Add(retryLook)))
}

// factsOf gives the facts of a host; nil: it has told none.
func (s *Service) factsOf(host trust.ID) knownFacts {
	s.known.Lock()
	defer s.known.Unlock() // so that what is told meanwhile is not put back
	known := s.facts[host]
	if known.isOld(s.now()) {
		s.asked++
		known.number, known.asked = s.asked, s.now()
		known.values, known.since = s.Seen.Facts(host)
		s.facts[host] = known
	}
	return known
}

// outputsOf gives what a host gives to others of a site.
func (s *Service) outputsOf(host trust.ID, site string) knownFacts {
	s.known.Lock()
	defer s.known.Unlock()
	known := s.outputs[host][site]
	if known.number == 0 {
		if s.outputs[host] == nil {
			s.outputs[host] = map[string]knownFacts{}
		}
		s.asked++
		known.number, known.asked = s.asked, s.now()
		known.values, known.since = s.Seen.Outputs(host, site)
		s.outputs[host][site] = known
	}
	return known
}

// hostView is what hosts have told, as of one time.
type hostView struct {
	loops   map[trust.ID]*control.Loop
	held    map[trust.ID]trust.Position
	away    map[trust.ID]time.Time
	facts   map[string]map[string]json.RawMessage // by name
	revoked map[trust.ID]bool                     // who is no host any more
	since   map[string]time.Time                  // since when the facts of a name are what they are
	// outputs are what hosts give to others of the site, and given since when that is what it is.
	outputs map[string]map[string]json.RawMessage
	given   map[string]time.Time
	// objections are what hosts have against what they are to be.
	objections map[trust.ID]*Objection

	enrolled []Enrolled // whom it is of
	numbers  []uint64   // of the facts and outputs of each
	changes  int        // how often something was another one than before
	// told is how often that was so of facts or outputs, and toldBy when of those of a name last.
	told   int
	toldBy map[string]int
}

// look asks what hosts have told.
func (s *Service) look(enrolled []Enrolled, site string) *hostView {
	v := &hostView{loops: map[trust.ID]*control.Loop{}, held: map[trust.ID]trust.Position{}, away: map[trust.ID]time.Time{}, facts: map[string]map[string]json.RawMessage{},
		revoked: map[trust.ID]bool{}, since: map[string]time.Time{}, outputs: map[string]map[string]json.RawMessage{}, given: map[string]time.Time{}, objections: map[trust.ID]*Objection{},
		enrolled: enrolled, numbers: make([]uint64, 2*len(enrolled)), toldBy: map[string]int{}}
	for i := range enrolled {
		s.lookAt(v, i, site)
	}
	return v
}

// lookAgain gives what hosts of a site have told by now. What a round has seen before is kept, and changed where it is otherwise.
func (s *Service) lookAgain(enrolled []Enrolled, site string) *hostView {
	v := s.views[site]
	if v == nil || !areSame(v.enrolled, enrolled) {
		before := v
		v = s.look(enrolled, site)
		if before != nil { // so that it is another one for whoever has counted
			v.changes, v.told = v.changes+before.changes+1, v.told+before.told+1
			for name := range v.toldBy {
				v.toldBy[name] = v.told
			}
		}
		s.views[site] = v
		return v
	}
	for i := range enrolled {
		s.lookAt(v, i, site)
	}
	return v
}

// areSame reports whether hosts are those of before. Whoever lists them mostly gives the same list.
func areSame(a, b []Enrolled) bool {
	if len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
		return true
	}
	return slices.EqualFunc(a, b, func(a, b Enrolled) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Sealing == b.Sealing && a.Locked == b.Locked && a.Revoked == b.Revoked && maps.Equal(a.Labels, b.Labels)
	})
}

// lookAt notes what a host has told.
func (s *Service) lookAt(v *hostView, i int, site string) {
	e := &v.enrolled[i]
	if loop, ok := s.Seen.Loop(e.ID, site); ok {
		if former := v.loops[e.ID]; former == nil || *former != loop {
			v.loops[e.ID] = &loop
			v.changes++
		}
	} else if v.loops[e.ID] != nil {
		delete(v.loops, e.ID)
		v.changes++
	}
	if held := s.Seen.Held(e.ID, site); v.held[e.ID] != held {
		v.held[e.ID] = held
		v.changes++
	}
	s.lookAtObjection(v, e.ID, site)
	away := s.Seen.Away(e.ID)
	if former, known := v.away[e.ID]; !known || !former.Equal(away) {
		v.away[e.ID], v.revoked[e.ID] = away, e.Revoked
		v.changes++
	}
	if e.Locked != "" {
		return
	}
	if known := s.factsOf(e.ID); known.number != v.numbers[2*i] {
		v.numbers[2*i] = known.number
		if known.values != nil || v.facts[e.Name] != nil {
			v.facts[e.Name], v.since[e.Name] = known.values, known.since
			v.hasTold(e.Name)
		}
	}
	if known := s.outputsOf(e.ID, site); known.number != v.numbers[2*i+1] {
		v.numbers[2*i+1] = known.number
		if len(known.values) > 0 || v.outputs[e.Name] != nil {
			v.outputs[e.Name], v.given[e.Name] = known.values, known.since
			v.hasTold(e.Name)
		}
	}
}

// lookAtObjection notes what a host has against what it is to be.
func (s *Service) lookAtObjection(v *hostView, id trust.ID, site string) {
	seen, knows := s.Seen.(Objections)
	if !knows {
		return
	}
	now, former := seen.Objection(id, site), v.objections[id]
	if now == former || now != nil && former != nil && *now == *former {
		return
	}
	v.changes++
	v.objections[id] = nil
	if now != nil {
		kept := *now
		v.objections[id] = &kept
	}
}

// hasTold notes that facts or outputs of a host may be others.
func (v *hostView) hasTold(name string) {
	v.changes++
	v.told++
	v.toldBy[name] = v.told
}

// isSo reports whether a value that was read is what it was.
func (v *hostView) isSo(value Value) bool { return value.In(v.facts, v.outputs) == value }

// reading is what was found of the values that an evaluation has read, at a time of a view.
type reading struct {
	view    *hostView
	told    int
	isOther bool      // one of them is another one by now
	since   time.Time // since when
}

// look finds out whether what was prepared for a host has read something that is another one by now. That is known until somebody tells something.
func (p *Prepared) look(v *hostView) *reading {
	r := &p.seen
	if r.view == v && r.told == v.told {
		return r
	}
	if p.Read.table == nil {
		p.Read = newValueTable().take(p.Read)
	}
	r.view, r.told = v, v.told
	r.since, r.isOther = p.Read.since(v)
	return r
}

// isStale reports whether a host is to be evaluated anew: what it reads has changed, for as long as changes are gathered, and it was
// not evaluated a moment ago.
func (p *Prepared) isStale(told *hostView, now time.Time) bool {
	r := p.look(told)
	if !r.isOther || len(p.Waits) > 0 { // nothing is there for the host as long as it waits
		return r.isOther
	}
	isPast := func(t time.Time, long time.Duration) bool { return t.After(now) || !now.Before(t.Add(long)) }
	return isPast(r.since, Gather) && isPast(p.At, Between)
}

// stales is when it is to be evaluated anew by what has changed; zero: nothing has.
func (p *Prepared) stales() (at time.Time) {
	if p.seen.isOther {
		at = p.seen.since.Add(Gather)
		if other := p.At.Add(Between); other.After(at) {
			at = other
		}
	}
	return at
}
