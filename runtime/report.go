package runtime

import (
	"strings"
	"time"

	"github.com/tenetcm/tenet/states"
)

// partState is what a part's end says for the report.
type partState struct {
	node       *node
	isAct      bool
	state      string
	reason     string
	hasChanged bool
	isIgnored  bool
	outcome    states.Outcome
	failure    *states.Failure
	key        string // as it is shown; it may have been computed here
	time       time.Time
	order      int64 // of its end among all
}

// updateReport remembers the part's end. The recorder's lock is held.
func (r *recorder) updateReport(s *step, ev *states.Event) {
	p := &partState{
		node: s.node, key: ev.Key, outcome: s.outcome, reason: ev.Reason, failure: ev.Error, time: ev.Time,
		order: r.seq, hasChanged: s.outcome == states.Changed || s.hasPartialChange, state: states.PartPending,
		isAct: s.module != nil && s.module.IsAct(), isIgnored: s.part.Options.IgnoreFailure,
	}
	switch {
	case s.outcome == states.Failed, s.outcome == states.Unknown:
		p.state = states.PartError
	case p.isAct && s.invocation != nil, s.isNeedlessForNode():
		p.state = states.PartDone
	case s.isHaveKnown && s.outcome == states.Unchanged, s.outcome == states.Changed && !r.engine.planning():
		p.state = string(states.Present)
		if s.want == nil {
			p.state = string(states.Absent)
		}
	}
	if s.outcome == states.Blocked || s.outcome == states.Skipped || s.outcome == states.Idle {
		p.state = states.PartPending
		if p.reason == "" {
			p.reason = string(s.outcome)
		} else if s.outcome == states.Blocked {
			p.reason = "blocked " + p.reason // by what
		}
	}
	r.reports[s.part.Address] = p
}

// isNeedlessForNode reports whether a part of a rule had nothing to do, so that nobody has looked at its resource.
func (s *step) isNeedlessForNode() bool {
	return s.node.inv != nil && s.node.inv.Node != nil && s.outcome == states.Unchanged && !s.isHaveKnown
}

// runFailed reports whether a failure is excused by nobody.
func (r *recorder) runFailed() bool {
	for _, p := range r.reports {
		if isFailure(p.outcome) && !p.isIgnored && !p.node.isExcused() {
			return true
		}
	}
	return r.engine.confirms.hasUnconfirmed()
}

// foretell makes an event the row of a plan.
func (r *recorder) foretell(s *step, ev *states.Event) {
	ev.Action, ev.Certain = states.NoChange, new(s.doubt == "")
	switch s.outcome {
	case states.Failed:
		ev.Action, ev.Outcome = "", states.Failed
	case states.Changed:
		ev.Action = s.action
	}
	if s.doubt != "" {
		ev.Reason = r.mask.part(s, strings.TrimPrefix(s.reason+"; "+s.doubt, "; "))
		ev.Cause, ev.Assured = s.rootCause(), s.isAssured
	}
}

// report lists every part of the run in its order. The recorder's lock is held.
func (r *recorder) report() states.Report {
	run := r.engine.run
	report := states.Report{Host: run.Host, Revision: run.Revision, Ready: true, Parts: make([]states.PartReport, 0, len(r.reports))}
	if j := r.engine.options.Journal; j != nil {
		report.Run = j.ID()
	}
	last := map[string]*partState{} // of each resource, the part that ran last
	inTarget := map[*partState]bool{}
	for i := range run.Invocations {
		for k := range run.Invocations[i].Parts {
			part := &run.Invocations[i].Parts[k]
			row, state := r.row(part)
			report.Parts = append(report.Parts, row)
			if run.Invocations[i].Handler || !r.resource(part, state) {
				continue
			}
			inTarget[state] = row.State == string(part.Ensure)
			name := part.Type + "\x00" + row.Key
			if row.Key == "" { // nobody got to know it
				name = part.Address
			}
			if other := last[name]; other == nil || other.order < state.order {
				last[name] = state
			}
		}
	}
	for _, state := range last {
		report.Ready = report.Ready && inTarget[state]
	}
	return report
}

// row is one line of the report. A part that was not reached is pending.
func (r *recorder) row(part *states.Part) (states.PartReport, *partState) {
	row := states.PartReport{
		ID: part.ID, Address: part.Address, Type: part.Type, Key: part.Key,
		Target: part.Ensure, State: states.PartPending, Cluster: part.Options.Cluster,
	}
	state := r.reports[part.Address]
	if state == nil {
		state = &partState{}
		r.reports[part.Address] = state
		row.Reason = "interrupted"
		return row, state
	}
	row.Key = state.key
	row.State, row.Reason, row.Error = state.state, state.reason, state.failure
	row.Changed, row.Timestamp = state.hasChanged, state.time
	return row, state
}

// resource reports whether the part's condition counts for ready: acts,
// handlers' parts that were not called, and what was skipped do not.
func (r *recorder) resource(part *states.Part, state *partState) bool {
	if m := r.engine.options.Registry.ModuleOf(part.Type); m != nil && m.IsAct() {
		return false
	}
	return state.outcome != states.Skipped && state.outcome != states.Idle && state.state != states.PartDone
}
