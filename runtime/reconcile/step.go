package reconcile

import (
	"time"
)

// Core is the pure part: it decides, and does nothing.
type Core struct {
	Options
	Random func() float64 // from [0, 1)
}

// Transition is one that was taken. State is how the loop stands after it.
type Transition struct {
	From  Phase
	On    Trigger
	State State
}

// Step takes a message in. The State that comes out is to be durable before the Action is done; the one that came in is as it was.
func (c Core) Step(s State, now time.Time, m Message) (State, Action, []Transition) {
	st := &step{options: c.WithDefaults(), random: c.Random, now: now, s: s.clone()}
	st.s.repair(now, st.options)
	for on := st.receive(m); on != ""; on = st.follow() {
		to, ok := find(st.s.Phase, on)
		if !ok {
			break
		}
		from := st.s.Phase
		st.leave(from, on)
		st.enter(from, to, on)
		st.taken = append(st.taken, Transition{From: from, On: on, State: st.s.clone()})
	}
	if len(st.taken) == 0 || st.s.Phase.IsRest() {
		return st.s, Action{}, st.taken
	}
	last := st.taken[len(st.taken)-1]
	a := Action{Phase: st.s.Phase, Target: st.s.Target}
	if a.Phase.changes() {
		a.Execution, a.Again, a.Restarts = st.s.Execution, last.On == OnRestart, st.s.Restarts
	}
	return st.s, a, st.taken
}

// step is one call of Step.
type step struct {
	options Options
	random  func() float64
	now     time.Time
	s       State
	failure Failure // that the message tells
	kept    bool
	taken   []Transition
}

// receive takes note of a message, and tells what has happened by it; "": nothing that leads anywhere.
func (st *step) receive(m Message) Trigger {
	switch m := m.(type) {
	case Start:
		return st.restart()
	case Want:
		return st.want(m.Target)
	case Look:
		return st.look()
	case Again:
		return st.again()
	case Tick:
		return st.tick()
	case Found:
		if st.s.Phase == Discovering {
			return st.found(m)
		}
	case Checked:
		if st.s.Phase == Validating {
			st.failure, st.kept = m.Failure, m.Kept
			return st.checked()
		}
	case Ended:
		if st.s.Phase.changes() {
			st.failure = m.Failure
			return st.ended()
		}
	}
	return ""
}

// restart goes on with what was under way. An apply that ends the process each time has failed.
func (st *step) restart() Trigger {
	if st.s.Phase.changes() {
		if st.s.Restarts++; st.s.Restarts > maxRestarts {
			st.failure = Failure{Interrupted, "it was ended from outside each time"}
			return st.ended()
		}
	}
	return OnRestart
}

// tick tells what the time brings.
func (st *step) tick() Trigger {
	s := &st.s
	if s.Next.IsZero() || st.now.Before(s.Next) {
		return ""
	}
	switch {
	case (s.Phase == Help || s.Phase == Waiting && s.Goal == Return) && s.Goal != Remove && !s.Wanted.is(s.Tried) && st.renew(s.Wanted):
		return OnWanted // that had no attempts left when it came, and it is another day
	case s.Phase == Waiting || s.Phase == Help && s.Goal != Remove:
		return OnPoll
	case st.isSpent() && st.canReturn():
		return st.back()
	case s.Phase == Retrying || s.Phase == Blocked:
		return st.towards(OnDue)
	}
	return ""
}

// look tells what comes of a look that is asked for.
func (st *step) look() Trigger {
	s := &st.s
	switch {
	case s.Wanted.Digest == "", s.Phase == Help && s.Goal == Remove:
		return ""
	case s.Phase == Blocked:
		return st.towards(OnLook)
	}
	return OnLook
}

// towards gives what leads on with the goal, where it is not to keep what is wanted.
func (st *step) towards(on Trigger) Trigger {
	switch st.s.Goal {
	case Remove:
		return OnUndeploy
	case Return:
		return st.back()
	}
	return on
}

// superseded tells whether something else is wanted than what is worked at, and by which trigger that is taken up.
func (st *step) superseded() Trigger {
	s := &st.s
	switch {
	case s.Wanted.Absent && s.Goal != Remove:
		return OnUndeploy
	case s.Goal == Remove && !s.Wanted.Absent, s.Goal == Keep && !s.Wanted.is(s.Target), s.Goal == Return && !s.Wanted.is(s.Fallen):
		return OnSuperseded
	}
	return ""
}

// found tells what a plan leads to.
func (st *step) found(m Found) Trigger {
	s := &st.s
	if on := st.superseded(); on != "" {
		return on
	}
	st.failure = m.Failure
	if m.Cause != Unavailable && s.Goal != Return { // of what a host goes back to, the plan may be at hand, and the contents not
		delete(s.Attempts, Unavailable)
	}
	todo := m.Something || m.Maybe && !s.HasRun
	switch {
	case m.Cause == Obstacle:
		return OnObstacle
	case m.Cause == Unavailable:
		return OnUnavailable
	case m.Cause != None:
		return OnUnplannable
	case st.options.Mode == Audit && m.Something:
		return OnDrift
	case !todo, st.options.Mode == Audit:
		return OnNothing
	case s.Helpless:
		return OnStuck
	case !st.options.Windows.IsOpen(st.now) && !m.Something && s.Converged.is(s.Target):
		return OnNothing // what is only maybe waits for the next look within a window
	case !st.options.Windows.IsOpen(st.now):
		st.failure = Failure{Closed, outside(st.options.Windows.Next(st.now))}
		return OnObstacle
	case m.Something && s.Rounds >= st.options.Rounds:
		st.failure = Failure{Unstable, "after the last of its applies the host still differs from what is wanted"}
		return OnUnstable
	}
	return OnSomething
}

// opens is when a window does, or when the machine is looked at again, if that is sooner.
func (st *step) opens() time.Time {
	wait := st.poll()
	if next := st.options.Windows.Next(st.now); !next.IsZero() {
		wait = min(wait, next.Sub(st.now))
	}
	return st.now.Add(wait)
}

// outside says that no window is open.
func outside(next time.Time) string {
	if next.IsZero() {
		return "outside of its windows, none of which opens within a year"
	}
	return "outside of its windows: the next one opens at " + next.UTC().Format(time.RFC3339)
}

// checked tells what validating leads to.
func (st *step) checked() Trigger {
	switch on := st.superseded(); {
	case on != "":
		return on
	case st.failure.Cause != None:
		return OnUnsound
	}
	return OnSound
}

// ended tells what the end of an apply leads to.
func (st *step) ended() Trigger {
	if on := st.superseded(); on != "" {
		return on
	}
	switch st.failure.Cause {
	case None:
		return OnDone
	case Obstacle:
		return OnObstacle
	case Unavailable:
		return OnUnavailable
	case Overdue:
		return OnOverdue
	}
	return OnFailed
}

// follow tells what comes of a transition at once.
func (st *step) follow() Trigger {
	switch {
	case !st.isSpent():
		return ""
	case st.canReturn():
		return st.back()
	}
	return OnSpent
}

// isSpent tells whether it has failed as often as it may.
func (st *step) isSpent() bool {
	s := &st.s
	return s.Phase == Retrying && s.counts() && s.Attempts[s.Cause] >= st.options.Attempts
}

// canReturn tells whether what has failed can be given up for what was last converged.
func (st *step) canReturn() bool {
	s := &st.s
	return st.options.OnFailure == Revert && st.options.Mode != Audit && s.Goal == Keep && s.Converged.Digest != "" && !s.Converged.is(s.Wanted)
}

// back goes back to what was last converged, as soon as a window is open.
func (st *step) back() Trigger {
	if !st.options.Windows.IsOpen(st.now) {
		st.s.Next = st.opens()
		return ""
	}
	return OnReturn
}
