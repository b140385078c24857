package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A run that goes on in another process. What has ended well before is taken over
// as it ended; what was begun, and not seen to end, is tried again and counts as
// changed; all else is carried out.

// over gives how a part has ended before, if that stands: it ended well, or in a
// block that was rescued, or nobody has notified it and nobody may do so now. That of
// a handler does not if something has called it since. Nil: it is carried out.
func (e *engine) over(n *node, p *states.Part) *states.Event {
	if e.resumed == nil || e.resumed.Begun[p.Address] != nil {
		return nil
	}
	ev := e.resumed.Parts[p.Address]
	if ev == nil {
		return nil
	}
	switch ev.Outcome {
	case states.Changed, states.Unchanged, states.Skipped:
		if e.calledSince(n, ev) {
			return nil
		}
		return ev
	case states.Idle:
		if slices.ContainsFunc(n.sources, func(s source) bool { return !s.node.over }) {
			return nil
		}
		return ev
	}
	if e.mended(n) {
		return ev
	}
	return nil
}

// calledSince reports whether a handler whose part has ended before is called by
// what came after that end: it has not picked that up.
func (e *engine) calledSince(n *node, end *states.Event) bool {
	return slices.ContainsFunc(n.sources, func(s source) bool {
		if s.sent() != surely {
			return false
		}
		nodes := []*node{s.node}
		if s.node.block != nil {
			nodes = e.within(s.node)
		}
		return slices.ContainsFunc(nodes, func(by *node) bool {
			if by.inv != nil && by.parts == nil { // its guard has failed
				return by.sent.failure == surely
			}
			for part, was := range by.parts {
				if s.part != "" && s.part != part || was == (sent{}) {
					continue
				}
				if before := e.resumed.Parts[part]; by.fresh[part] || before != nil && before.Seq > end.Seq {
					return true
				}
			}
			return false
		})
	})
}

// mended reports whether a block around the node has been rescued before: its
// failures stand.
func (e *engine) mended(n *node) bool {
	return slices.ContainsFunc(n.blocks, func(b *node) bool {
		return e.resumed.Ended[b.address] == states.Rescued || e.mended(b)
	})
}

// wasBegun gives the beginning of a part whose end nobody saw; nil: it has none.
func (e *engine) wasBegun(p *states.Part) *states.Event {
	if e.resumed == nil {
		return nil
	}
	return e.resumed.Begun[p.Address]
}

// takeOverAll ends an invocation all of whose parts have ended before, and returns
// whether that is so.
func (e *engine) takeOverAll(n *node) bool {
	if e.resumed == nil || len(n.inv.Parts) == 0 {
		return false
	}
	for k := range n.inv.Parts {
		if e.over(n, &n.inv.Parts[k]) == nil {
			return false
		}
	}
	_, told := e.resumed.Ended[n.address]
	first := e.over(n, &n.inv.Parts[0])
	if (len(n.sources) > 0 || n.inv.Handler) && first.Outcome != states.Idle && !told {
		e.begins(n, e.takes(n)) // so that what it was owed is paid
	}
	n.over, n.quiet = true, told
	i := &invocation{engine: e, node: n, parts: map[string]states.Outcome{}}
	for k := range n.inv.Parts {
		e.takeOver(e.newStep(i, &n.inv.Parts[k]))
	}
	switch first.Outcome {
	case states.Idle:
		n.outcome = states.Idle
	case states.Blocked:
		n.outcome, n.blockedBy = states.Blocked, strings.TrimPrefix(first.Reason, "by ")
	default:
		i.end()
	}
	return true
}

// takeOver ends a part as it has ended before, and returns whether it has.
func (e *engine) takeOver(s *step) bool {
	ev := e.over(s.node, s.part)
	if ev == nil {
		return false
	}
	s.outcome, s.reason, s.action, s.attempts = ev.Outcome, ev.Reason, ev.Action, ev.Attempt
	s.module = e.options.Registry.Lookup(s.part.Type)
	s.seen, s.want = true, s.part // that there is something wanted is all that counts now
	if s.part.Ensure == states.Absent {
		s.want = nil
	}
	e.keepAgain(s)
	e.recorder.tookOver(s, ev)
	s.over = true
	s.invocation.partEnded(s)
	return true
}

// keepAgain remembers what a part has left in an earlier process.
func (e *engine) keepAgain(s *step) {
	if !e.results.named[s.part.Address] {
		return
	}
	l := &left{module: s.module, none: "what it has left is not recorded"}
	if r, ok := e.resumed.Results[s.part.Address]; ok {
		l.values, l.none = r.Values, r.None
		l.sensitive = func(name string) bool { return slices.Contains(r.Sensitive, name) || s.hides(name) }
		for _, name := range r.Sensitive {
			e.recorder.mask.add(r.Values[name])
		}
	}
	e.results.mu.Lock()
	defer e.results.mu.Unlock()
	e.results.byPart[s.part.Address] = l
}

// record keeps what a part has left for a process that goes on with the run.
func (l *left) record(j *journal.Run, address string) error {
	r := journal.Result{Address: address, Values: l.values, None: l.none}
	for name := range l.values {
		if l.sensitive(name) {
			r.Sensitive = append(r.Sensitive, name)
		}
	}
	slices.Sort(r.Sensitive)
	return j.Result(r)
}

// tookOver counts and reports a part that has ended before, without an event.
func (r *recorder) tookOver(s *step, ev *states.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(ev)
	r.note(s, ev)
	r.reports[s.part.Address].order = ev.Seq
	r.changed = r.changed || ev.Outcome == states.Changed
}

// passed reports whether the guards of an invocation have let it through before.
func (e *engine) passed(n *node) bool {
	if e.resumed == nil {
		return false
	}
	return slices.ContainsFunc(n.inv.Parts, func(p states.Part) bool {
		ev := e.resumed.Parts[p.Address]
		return e.resumed.Begun[p.Address] != nil || ev != nil && (ev.Outcome == states.Changed || ev.Outcome == states.Unchanged)
	})
}

// decidedBefore gives blocks' guards the decisions that they have made before, as
// far as these can be told: they are made once a run.
func (e *engine) decidedBefore() {
	if e.resumed == nil {
		return
	}
	e.guards.decided = map[string]*scopedDecision{}
	set := func(g *states.Guard, d decision) {
		made := &scopedDecision{decision: d}
		made.once.Do(func() {})
		e.guards.decided[guardKey(g)] = made
	}
	var skipped []*states.Invocation
	for i := range e.run.Invocations {
		inv := &e.run.Invocations[i]
		if e.passed(e.nodes[inv.Address]) {
			for k := range inv.Guards {
				if isShared(&inv.Guards[k]) {
					set(&inv.Guards[k], decision{})
				}
			}
		} else if len(inv.Parts) > 0 && e.resumed.Parts[inv.Parts[0].Address] != nil && e.resumed.Parts[inv.Parts[0].Address].Outcome == states.Skipped {
			skipped = append(skipped, inv)
		}
	}
	for _, inv := range skipped {
		open := slices.DeleteFunc(slices.Clone(inv.Guards), func(g states.Guard) bool {
			return e.guards.decided[guardKey(&g)] != nil
		})
		if len(open) == 1 && isShared(&open[0]) {
			set(&open[0], decision{skip: true, reason: e.resumed.Parts[inv.Parts[0].Address].Reason})
		}
	}
}

// accounted reports whether a debt is one that this run's own notifications bring
// about again: the wave that they call pays it.
func (e *engine) accounted(d states.Debt) bool {
	if e.resumed == nil {
		return false
	}
	for address, ev := range e.resumed.Parts {
		well := ev.Outcome == states.Changed || ev.Outcome == states.Unchanged
		if well && states.WithoutWave(address) == d.Notifier && slices.Contains(ev.Owes, d.Handler) {
			return true
		}
	}
	for address, ev := range e.resumed.Begun {
		if states.WithoutWave(address) == d.Notifier && slices.Contains(ev.Handlers, d.Handler) {
			return true
		}
	}
	// One that nobody has to call was begun by this run, which now goes on with it.
	return d.Notifier == d.Handler && d.Run == e.options.Journal.ID() &&
		slices.ContainsFunc(e.run.Invocations, func(inv states.Invocation) bool {
			return inv.Always && states.WithoutWave(inv.Address) == d.Handler
		})
}

// goesOn is the first event of a process that goes on with a run.
func (r *recorder) goesOn() states.Event {
	before := r.engine.resumed
	r.seq, r.counts.Retried = before.Last, before.Retried
	done := 0
	for _, ev := range before.Parts {
		if ev.Outcome == states.Changed || ev.Outcome == states.Unchanged || ev.Outcome == states.Skipped {
			done++
		}
	}
	reason := fmt.Sprintf("%d parts are done", done)
	if done == 1 {
		reason = "1 part is done"
	}
	return states.Event{Type: states.EventResume, Format: states.EventFormat, Mode: "apply", Reason: reason}
}
