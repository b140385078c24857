package reconcile

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
)

// place is a loop with a machine that fails at random, and processes that end at any moment.
type place struct {
	*rapid.T
	core   Core
	kept   []byte // what is durable
	now    time.Time
	action Action            // under way; zero: none
	begun  map[string]bool   // executions, by name: as a machine records them
	ended  map[string]Ended  // how they ended, which it tells whoever asks again
	fate   func(Cause) Cause // what becomes of an action
	left   bool              // the machine differs
}

// state reads what is durable, as a process does that begins.
func (p *place) state() (s State) {
	if err := json.Unmarshal(p.kept, &s); err != nil {
		p.Fatal(err)
	}
	return s
}

// step takes a message in. A process that ends before the State is durable has done nothing; one that ends after has done nothing yet.
func (p *place) step(m Message) (phase Phase) {
	before := p.state()
	s, a, taken := p.core.Step(before, p.now, m)
	if was, err := json.Marshal(before); err != nil || string(was) != string(p.kept) {
		p.Fatalf("the former state was changed: %s, %v", was, err)
	}
	if rapid.IntRange(0, 19).Draw(p.T, "crash before") == 0 {
		p.action = Action{}
		return before.Phase
	}
	data, err := json.Marshal(s)
	if err != nil {
		p.Fatal(err)
	}
	p.kept = data
	p.check(s, a, m, taken)
	if len(taken) > 0 {
		p.action = a
	}
	if rapid.IntRange(0, 19).Draw(p.T, "crash after") == 0 {
		p.action = Action{}
	}
	return s.Phase
}

// check is what holds at every step.
func (p *place) check(s State, a Action, m Message, taken []Transition) {
	o := p.core.WithDefaults()
	if !s.Phase.IsRest() && len(taken) == 0 && p.action.Phase != s.Phase {
		if _, ok := m.(Start); ok {
			p.Fatalf("a process that begins in %s does nothing", s.Phase)
		}
	}
	if _, ended := m.(Ended); a.Phase != "" && p.action.Phase.changes() && !ended {
		p.Fatalf("%v is begun while %v goes on", a, p.action)
	}
	switch a.Phase {
	case Applying:
		found, ok := m.(Found)
		switch {
		case s.Helpless, o.Mode == Audit, s.Target.Absent, s.Target.Digest == "":
			p.Fatalf("it applies in %+v", s)
		case !a.Again && (!ok || !found.Something && !found.Maybe || found.Cause != None):
			p.Fatalf("it applies after %+v", m)
		case !a.Again && !o.Windows.IsOpen(p.now):
			p.Fatalf("it applies at %s: %+v", p.now, o.Windows)
		case s.Goal == Keep && !s.Target.is(s.Wanted) && !a.Again:
			p.Fatalf("it applies what is not wanted: %+v", s)
		}
	case Reverting:
		if o.Mode == Audit || !a.Again && !o.Windows.IsOpen(p.now) {
			p.Fatalf("it reverts in %s: %+v", o.Mode, s)
		}
		if o.OnFailure != Revert || s.Converged.Digest == "" || !s.Target.is(s.Converged) || s.Converged.Absent {
			p.Fatalf("it reverts in %+v", s)
		}
	case Removing:
		if !s.Wanted.Absent && !a.Again {
			p.Fatalf("it removes in %+v", s)
		}
	}
	for cause, n := range s.Attempts {
		if cause.counts() && n > o.Attempts+renewals*o.Attempts {
			p.Fatalf("%d attempts have failed by %s", n, cause)
		}
	}
	if s.Phase.IsRest() && s.Phase != Gone && s.Next.IsZero() && s.Wanted.Digest != "" && s.Goal != Remove {
		p.Fatalf("it waits for ever: %+v", s)
	}
}

// work does what is under way, and tells how it ended. What a machine has carried out it does not carry out again.
func (p *place) work() {
	a := p.action
	switch {
	case a.Phase == Discovering:
		p.step(Found{Something: p.left, Maybe: rapid.Bool().Draw(p.T, "maybe"), Failure: Failure{Cause: p.fate(Unplannable)}})
	case a.Phase == Validating:
		p.step(Checked{Kept: rapid.Bool().Draw(p.T, "kept"), Failure: Failure{Cause: p.fate(Unsound)}})
	case a.Phase.changes():
		if p.begun[a.Execution] && !a.Again {
			p.Fatalf("%s is begun once more", a.Execution)
		}
		end, ok := p.ended[a.Execution]
		if !ok {
			p.begun[a.Execution] = true
			end = Ended{Failure{Cause: p.fate(Unsuccess)}}
			if end.Cause != Obstacle && end.Cause != Unavailable {
				p.ended[a.Execution] = end
			}
			p.left = end.Cause != None
		}
		p.step(end)
	}
}

// run lets a loop live through n things that happen.
func (p *place) run(n int) {
	for range n {
		switch rapid.IntRange(0, 11).Draw(p.T, "what") {
		case 0:
			digest := rapid.SampledFrom([]string{"A", "B", "C", ""}).Draw(p.T, "digest")
			p.step(Want{Target{Digest: digest + "d", Name: digest, Revision: rapid.SampledFrom([]string{"1", "2"}).Draw(p.T, "revision"), Absent: digest == ""}})
			p.left = p.left || rapid.Bool().Draw(p.T, "differs")
		case 1:
			p.step(Look{})
		case 2:
			p.step(Again{})
		case 3:
			p.left = true // somebody changes something
		case 4:
			p.now = p.now.Add(time.Duration(rapid.IntRange(-3600, 90000).Draw(p.T, "seconds")) * time.Second)
			p.step(Tick{})
		case 5:
			p.step(Tick{})
		default:
			p.goOn()
		}
	}
}

// goOn does what is under way; where nothing is though the phase says so, a new process takes it up.
func (p *place) goOn() {
	s := p.state()
	switch {
	case p.action.Phase != "":
		p.work()
	case !s.Phase.IsRest():
		p.step(Start{})
	case !s.Next.IsZero():
		p.now = maxTime(p.now, s.Next)
		p.step(Tick{})
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Whatever happens, a loop applies only what it may, counts its attempts, and comes to rest once the world does: where all goes well it
// has converged, where all fails it asks for help, and where something is in the way it waits for that.
func TestLoopComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Mode: rapid.SampledFrom([]site.Mode{Apply, Apply, Audit}).Draw(t, "mode"), OnFailure: rapid.SampledFrom([]site.OnFailure{AskHelp, Revert}).Draw(t, "on failure"),
			Attempts: rapid.IntRange(1, 4).Draw(t, "attempts"), Rounds: rapid.IntRange(1, 3).Draw(t, "rounds"),
		}
		if rapid.Bool().Draw(t, "has windows") {
			at := time.Duration(rapid.IntRange(0, 22).Draw(t, "opens")) * time.Hour
			o.Windows = site.Schedule{{{Start: at, End: at + time.Hour}}}
		}
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		p := &place{T: t, now: now, begun: map[string]bool{}, ended: map[string]Ended{}}
		next := 0
		p.core = Core{Options: o, Random: func() float64 { next++; return float64(next%100_000) / 100_000 }}
		p.kept, _ = json.Marshal(NewState("shop", now))
		p.fate = func(bad Cause) Cause {
			return rapid.SampledFrom([]Cause{None, None, None, bad, Unavailable, Obstacle, Overdue}).Draw(p.T, "fate")
		}
		p.run(rapid.IntRange(0, 60).Draw(t, "n"))
		p.settle(rapid.SampledFrom([]Cause{None, Unsuccess, Obstacle}).Draw(t, "end"))
	})
}

// settle lets the world come to rest, and looks where the loop does.
func (p *place) settle(end Cause) {
	p.fate = func(Cause) Cause { return end }
	p.left = true
	applies, at := 0, ""
	for range 400 {
		if p.action.Phase.changes() && !p.begun[p.action.Execution] {
			applies++
		}
		s := p.state()
		if at = fmt.Sprint(s.Phase, " ", s.Condition); p.isSettled(s, end) {
			break
		}
		p.goOn()
	}
	s := p.state()
	if !p.isSettled(s, end) {
		p.Fatalf("it has not come to rest, but is %s: %+v", at, s)
	}
	o := p.core.WithDefaults()
	causes := 5
	if limit := (o.Attempts*causes + 2) * (o.Rounds + maxRestarts); applies > limit {
		p.Fatalf("it has applied %d times", applies)
	}
}

func (p *place) isSettled(s State, end Cause) bool {
	switch {
	case s.Wanted.Digest == "":
		return s.Phase == Waiting
	case s.Phase == Gone:
		return s.Wanted.Absent
	case s.Phase == Waiting:
		return !s.Wanted.Absent && (end == None && s.Condition != Failed || s.Condition == Drifted)
	case s.Phase == Help:
		return end != None || s.Helpless && p.left || s.Wanted.Absent
	}
	return s.Phase == Blocked && end == Obstacle
}
