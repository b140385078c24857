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

// resumption is what was done before this process; nil: the run began with it.
type resumption struct {
	*journal.Resumed
	nodes dag
}

// earlierEnd gives how a part has ended before, if that stands: it ended well, or in a
// block that was rescued, or nobody has notified it and nobody may do so now. That of
// a handler does not if something has called it since. Nil: it is carried out.
func (r *resumption) earlierEnd(n *node, p *states.Part) *states.Event {
	if r == nil || r.Begun[p.Address] != nil {
		return nil
	}
	ev := r.Parts[p.Address]
	if ev == nil {
		return nil
	}
	switch ev.Outcome {
	case states.Changed, states.Unchanged, states.Skipped:
		if r.calledSince(n, ev) {
			return nil
		}
		return ev
	case states.Idle:
		if slices.ContainsFunc(n.sources, func(s source) bool { return !s.node.isFromEarlierProcess }) {
			return nil
		}
		return ev
	}
	if r.isRescuedBefore(n) {
		return ev
	}
	return nil
}

// calledSince reports whether a handler whose part has ended before is called by
// what came after that end: it has not picked that up.
func (r *resumption) calledSince(n *node, end *states.Event) bool {
	return slices.ContainsFunc(n.sources, func(s source) bool {
		if s.notification() != surely {
			return false
		}
		nodes := []*node{s.node}
		if s.node.block != nil {
			nodes = r.nodes.within(s.node)
		}
		return slices.ContainsFunc(nodes, func(by *node) bool {
			if by.inv != nil && by.parts == nil { // its guard has failed
				return by.notification.failure == surely
			}
			for part, was := range by.parts {
				if s.part != "" && s.part != part || was == (notification{}) {
					continue
				}
				if before := r.Parts[part]; by.fresh[part] || before != nil && before.Seq > end.Seq {
					return true
				}
			}
			return false
		})
	})
}

// isRescuedBefore reports whether a block around the node has been rescued before: its
// failures stand.
func (r *resumption) isRescuedBefore(n *node) bool {
	return slices.ContainsFunc(n.blocks, func(b *node) bool {
		return r.Ended[b.address] == states.Rescued || r.isRescuedBefore(b)
	})
}

// earlierBegin gives the beginning of a part whose end nobody saw; nil: it has none.
func (r *resumption) earlierBegin(p *states.Part) *states.Event {
	if r == nil {
		return nil
	}
	return r.Begun[p.Address]
}

// takeOverAll ends an invocation all of whose parts have ended before, and returns
// whether that is so.
func (e *engine) takeOverAll(n *node) bool {
	if e.resumption == nil || len(n.inv.Parts) == 0 {
		return false
	}
	for k := range n.inv.Parts {
		if e.resumption.earlierEnd(n, &n.inv.Parts[k]) == nil {
			return false
		}
	}
	_, told := e.resumption.Ended[n.address]
	first := e.resumption.earlierEnd(n, &n.inv.Parts[0])
	if (len(n.sources) > 0 || n.inv.Handler) && first.Outcome != states.Idle && !told {
		e.recordHandlerStart(n, e.takeDebts(n)) // so that what it was owed is paid
	}
	n.isFromEarlierProcess, n.isRecorded = true, told
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
		i.settle()
	}
	return true
}

// takeOver ends a part as it has ended before, and returns whether it has.
func (e *engine) takeOver(s *step) bool {
	ev := e.resumption.earlierEnd(s.node, s.part)
	if ev == nil {
		return false
	}
	s.outcome, s.reason, s.action, s.attempts = ev.Outcome, ev.Reason, ev.Action, ev.Attempt
	s.module = e.options.Registry.ModuleOf(s.part.Type)
	s.isHaveKnown, s.want = true, s.part // that there is something wanted is all that counts now
	if s.part.Ensure == states.Absent {
		s.want = nil
	}
	e.keepEarlierResult(s)
	e.recorder.recordTakeover(s, ev)
	s.invocation.addPart(s)
	return true
}

// keepEarlierResult remembers what a part has left in an earlier process.
func (e *engine) keepEarlierResult(s *step) {
	if !e.results.referenced[s.part.Address] {
		return
	}
	l := &partResult{module: s.module, missingReason: "what it has left is not recorded"}
	if r, ok := e.resumption.Results[s.part.Address]; ok {
		l.values, l.missingReason = r.Values, r.None
		l.sensitive = func(name string) bool { return slices.Contains(r.Sensitive, name) || s.hides(name) }
		for _, name := range r.Sensitive {
			if s.part.Type == states.ComparisonType {
				for _, secret := range secretsOf(r.Values[name]) {
					e.recorder.mask.add(secret)
				}
				continue
			}
			e.recorder.mask.add(r.Values[name])
		}
	}
	e.results.mu.Lock()
	defer e.results.mu.Unlock()
	e.results.byPart[s.part.Address] = l
}

// record keeps what a part has left for a process that goes on with the run.
func (l *partResult) record(j *journal.Run, address string) error {
	r := journal.Result{Address: address, Values: l.values, None: l.missingReason}
	for name := range l.values {
		if l.sensitive(name) {
			r.Sensitive = append(r.Sensitive, name)
		}
	}
	slices.Sort(r.Sensitive)
	return j.Result(r)
}

// recordTakeover counts and reports a part that has ended before, without an event.
func (r *recorder) recordTakeover(s *step, ev *states.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(ev)
	r.updateReport(s, ev)
	r.reports[s.part.Address].order = ev.Seq
	r.hasChanged = r.hasChanged || ev.Outcome == states.Changed
}

// hasPassedGuards reports whether the guards of an invocation have let it through before.
func (r *resumption) hasPassedGuards(n *node) bool {
	if r == nil {
		return false
	}
	return slices.ContainsFunc(n.inv.Parts, func(p states.Part) bool {
		ev := r.Parts[p.Address]
		return r.Begun[p.Address] != nil || ev != nil && (ev.Outcome == states.Changed || ev.Outcome == states.Unchanged)
	})
}

// inheritDecisions gives blocks' guards the decisions that they have made before, as
// far as these can be told: they are made once a run.
func (e *engine) inheritDecisions() {
	if e.resumption == nil {
		return
	}
	e.guards.decisions = map[string]*scopedDecision{}
	set := func(g *states.Guard, d decision) {
		made := &scopedDecision{decision: d}
		made.once.Do(func() {})
		e.guards.decisions[guardKey(g)] = made
	}
	var skipped []*states.Invocation
	for i := range e.run.Invocations {
		inv := &e.run.Invocations[i]
		if e.resumption.hasPassedGuards(e.nodes[inv.Address]) {
			for k := range inv.Guards {
				if isShared(&inv.Guards[k]) {
					set(&inv.Guards[k], decision{})
				}
			}
		} else if len(inv.Parts) > 0 && e.resumption.Parts[inv.Parts[0].Address] != nil && e.resumption.Parts[inv.Parts[0].Address].Outcome == states.Skipped {
			skipped = append(skipped, inv)
		}
	}
	for _, inv := range skipped {
		open := slices.DeleteFunc(slices.Clone(inv.Guards), func(g states.Guard) bool {
			return e.guards.decisions[guardKey(&g)] != nil
		})
		if len(open) == 1 && isShared(&open[0]) {
			set(&open[0], decision{skip: true, reason: e.resumption.Parts[inv.Parts[0].Address].Reason})
		}
	}
}

// isAccountedFor reports whether a debt is one that this run's own notifications bring
// about again: the wave that they call pays it.
func (e *engine) isAccountedFor(d states.Debt) bool {
	if e.resumption == nil {
		return false
	}
	for address, ev := range e.resumption.Parts {
		well := ev.Outcome == states.Changed || ev.Outcome == states.Unchanged
		if well && states.WithoutWave(address) == d.Notifier && slices.Contains(ev.Owes, d.Handler) {
			return true
		}
	}
	for address, ev := range e.resumption.Begun {
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

// resumeEvent is the first event of a process that goes on with a run.
func (r *recorder) resumeEvent() states.Event {
	before := r.engine.resumption
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
	return states.Event{Type: states.EventResume, Format: states.EventFormat, Mode: "apply", Site: r.engine.run.Site, Reason: reason}
}
