package machinetest

import (
	"context"
	"errors"
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

func cancelTests() []test {
	return []test{
		{"cancel and resume", testCancel},
		{"cancel by the run's name", func(s *suite) {
			testCancelByName(s, func(run string) machine.RunRef { return machine.RunRef{ID: run} })
		}},
		{"cancel by the execution's name", func(s *suite) {
			testCancelByName(s, func(string) machine.RunRef { return machine.RunRef{ID: execution, Host: "subject"} })
		}},
		{"cancel of another run", testCancelOther},
		{"cancel before it begins", func(s *suite) { testCancelBefore(s, machine.RunRef{ID: execution, Host: "subject"}) }},
		{"cancel before it begins, on any host", func(s *suite) { testCancelBefore(s, machine.RunRef{ID: execution}) }},
		{"cancel of what nobody knows", testCancelUnknown},
		{"cancel with nothing to end", testCancelNothing},
		{"cancel of who follows", testCancelFollower},
		{"nothing to resume", testResumeNothing},
		{"the caller lets go", testLetGo},
		{"the caller lets go of a plan", testLetGoOfPlan},
	}
}

// interrupted wants a run to have ended so, and none of its later parts to have run.
func (s *suite) interrupted(c *call, names ...string) {
	s.Helper()
	result, err := c.end(s)
	if err != nil || result == nil || !result.Interrupted || result.Run != c.run(s) {
		s.Fatalf("the result is %+v, %v", result, err)
	}
	c.follows(s, 0)
	s.lacks(names...)
	now := must[*machine.Status](s)(s.Status(s.ctx, result.Run))
	if now.Status == nil || now.State != journal.Interrupted || now.Progress != nil {
		s.Errorf("the status is %s", marshal(s, now))
	}
}

func testCancel(s *suite) {
	first := s.begin(s.ctx, s.Machine, s.job(execution, s.file("a", "one\n"), s.gate("gate"), s.file("b", "two\n")))
	first.begins(s, "wait_for.gate")
	if err := s.Cancel(s.ctx, machine.RunRef{}); err != nil {
		s.Fatal(err)
	}
	s.interrupted(first, "b")
	s.open("gate")

	goesOn := start(func(o machine.Observer) (*machine.Result, error) {
		return s.Resume(s.ctx, machine.Resumption{Run: machine.RunRef{ID: execution, Host: "subject"}, Execution: "20260101-000001-abcdef"}, o)
	})
	result, err := goesOn.end(s)
	if err != nil || result == nil || result.Interrupted || result.Failed || result.Run != first.run(s) || result.Counts.Changed != 2 {
		s.Errorf("the result is %+v, %v", result, err)
	}
	last := int64(len(first.events))
	goesOn.follows(s, last)
	if goesOn.early || goesOn.run(s) != result.Run || goesOn.started[0].After != last || goesOn.events[0].Type != states.EventResume {
		s.Errorf("it went on as %+v after %d events with %s", goesOn.started, last, marshal(s, goesOn.events[0]))
	}
	s.holds("b", "two\n")
	r := newRecorder()
	if _, err := s.Logs(s.ctx, machine.LogRequest{Run: machine.RunRef{ID: result.Run}}, r.observer()); err != nil {
		s.Fatal(err)
	}
	if got, want := marshal(s, r.events), marshal(s, slices.Concat(first.events, goesOn.events)); got != want {
		s.Errorf("recorded are %s, told were %s", got, want)
	}
}

func testCancelByName(s *suite, name func(run string) machine.RunRef) {
	c := s.begin(s.ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	c.begins(s, "wait_for.gate")
	if err := s.Another().Cancel(s.ctx, name(c.run(s))); err != nil {
		s.Fatal(err)
	}
	s.interrupted(c, "a")
}

// testCancelOther wants a run to go on when another one is cancelled, which has ended.
func testCancelOther(s *suite) {
	ended, _ := s.apply(s.job("20260101-000001-abcdef", s.file("b", "two\n")))
	c := s.begin(s.ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	c.begins(s, "wait_for.gate")
	for _, other := range []machine.RunRef{{ID: ended.Run}, {ID: execution, Host: "another"}} {
		if err := s.Another().Cancel(s.ctx, other); err != nil {
			s.Errorf("%+v: %v", other, err)
		}
	}
	s.open("gate")
	if result, err := c.end(s); err != nil || result.Interrupted || result.Counts.Changed != 1 {
		s.Errorf("the result is %+v, %v", result, err)
	}
}

// testCancelBefore keeps an execution from beginning, which waits for another apply.
func testCancelBefore(s *suite, named machine.RunRef) {
	before := s.begin(s.ctx, s.Another(), s.job("20260101-000001-abcdef", s.gate("gate")))
	before.begins(s, "wait_for.gate")
	j := s.job(execution, s.file("a", "one\n"))
	j.LockTimeout = limit
	c := s.begin(s.ctx, s.Machine, j)
	c.await(s, "that it waits", func() bool { return len(c.notes) > 0 })
	if err := s.Another().Cancel(s.ctx, named); err != nil {
		s.Fatal(err)
	}
	result, err := c.end(s)
	if s.refused(err, machine.CodeInterrupted); result != nil || len(c.started) > 0 {
		s.Errorf("it has begun: %+v, %+v", result, c.started)
	}
	s.open("gate")
	if _, err := before.end(s); err != nil {
		s.Error(err)
	}
	s.lacks("a")
}

// testCancelUnknown cancels an execution that nobody has asked for yet, which then does not
// begin, and a run that there never was.
func testCancelUnknown(s *suite) {
	if err := s.Cancel(s.ctx, machine.RunRef{ID: execution}); err != nil {
		s.Fatal(err)
	}
	result, err := s.Apply(s.ctx, s.job(execution, s.file("a", "one\n")), machine.Observer{})
	if s.refused(err, machine.CodeInterrupted); result != nil {
		s.Errorf("it has begun: %+v", result)
	}
	s.lacks("a")
	s.refused(s.Cancel(s.ctx, machine.RunRef{ID: "00000099-abcdef"}), machine.CodeNotFound)
}

func testCancelNothing(s *suite) {
	if err := s.Cancel(s.ctx, machine.RunRef{}); err != nil {
		s.Error(err)
	}
	result, _ := s.apply(s.job(execution, s.file("a", "one\n")))
	if err := s.Cancel(s.ctx, machine.RunRef{ID: result.Run}); err != nil {
		s.Errorf("a run that has ended: %v", err)
	}
	if result, _ := s.apply(s.job("20260101-000001-abcdef", s.file("a", "two\n"))); result.Counts.Changed != 1 {
		s.Errorf("what comes after that: %+v", result)
	}
}

// testCancelFollower ends a run through the value that follows it.
func testCancelFollower(s *suite) {
	c := s.begin(s.ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	c.begins(s, "wait_for.gate")
	beside := s.Another()
	follower := start(func(o machine.Observer) (*machine.Result, error) {
		return beside.Follow(s.ctx, machine.RunRef{ID: execution, Host: "subject"}, o)
	})
	follower.begins(s, "wait_for.gate")
	if err := beside.Cancel(s.ctx, machine.RunRef{}); err != nil {
		s.Fatal(err)
	}
	s.interrupted(c, "a")
	s.interrupted(follower, "a")
}

func testResumeNothing(s *suite) {
	r := newRecorder()
	result, err := s.Resume(s.ctx, machine.Resumption{}, r.observer())
	if err != nil || result == nil || result.Run != "" || len(r.notes) != 1 {
		s.Errorf("without records: %+v, %v, %+v", result, err, r.notes)
	}
	done, _ := s.apply(s.job(execution, s.file("a", "one\n")))
	result, err = s.Resume(s.ctx, machine.Resumption{Run: machine.RunRef{ID: "20250101-000000-abcdef"}}, machine.Observer{})
	if s.refused(err, machine.CodeNotFound); result != nil {
		s.Errorf("an unknown run: %+v", result)
	}
	// A controller that goes on with all of its machines finds some that are done.
	r = newRecorder()
	result, err = s.Resume(s.ctx, machine.Resumption{Run: machine.RunRef{ID: done.Run}, Execution: "20260101-000001-abcdef"}, r.observer())
	if err != nil || result == nil || result.Run != done.Run || len(r.started) > 0 || len(r.events) > 0 || len(r.notes) != 1 {
		s.Errorf("a run that is done: %+v, %v, %+v", result, err, r.notes)
	}
}

// testLetGo ends the context of an apply.
func testLetGo(s *suite) {
	ctx, letGo := context.WithCancel(s.ctx)
	c := s.begin(ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	c.begins(s, "wait_for.gate")
	letGo()
	result, err := c.end(s)
	beside := s.Another()
	if !s.Outlives {
		if err == nil && (result == nil || !result.Interrupted) {
			s.Errorf("the result is %+v", result)
		}
		r := newRecorder()
		result, err := beside.Follow(s.ctx, machine.RunRef{ID: execution}, r.observer())
		if err != nil || result == nil || !result.Interrupted || result.Run != c.run(s) {
			s.Errorf("afterwards the result is %+v, %v", result, err)
		}
		r.follows(s, 0)
		s.lacks("a")
		return
	}
	if broken, ok := errors.AsType[*machine.ConnectionError](err); !ok || !broken.Asked || !broken.Answered || result != nil {
		s.Errorf("it ends with %+v, %T %v", result, err, err)
	}
	now := must[*machine.Status](s)(beside.Status(s.ctx, ""))
	if now.Status == nil || now.State != journal.Running || now.Progress == nil || now.Applying == nil || now.Applying.Run != c.run(s) {
		s.Errorf("the status is %s", marshal(s, now))
	}
	s.open("gate")
	r, last := newRecorder(), int64(len(c.events))
	result, err = beside.Follow(s.ctx, machine.RunRef{ID: execution, After: last}, r.observer())
	if err != nil || result == nil || result.Interrupted || result.Counts.Changed != 1 || result.Run != c.run(s) {
		s.Errorf("afterwards the result is %+v, %v", result, err)
	}
	r.follows(s, last)
	s.holds("a", "one\n")
}

// testLetGoOfPlan asks for a plan with a context that has ended.
func testLetGoOfPlan(s *suite) {
	ctx, letGo := context.WithCancel(s.ctx)
	letGo()
	result, err := s.Plan(ctx, s.job("", s.file("a", "one\n")), machine.Observer{})
	if err == nil && (result == nil || !result.Interrupted) {
		s.Errorf("the plan: %+v", result)
	}
	_, err = s.Apply(ctx, s.job(execution, s.file("a", "one\n")), machine.Observer{})
	if err == nil {
		s.Error("it was applied")
	}
	s.lacks("a")
}
