package machinetest

import (
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

func lockTests() []test {
	return []test{
		{"a hold keeps applies from starting", testHold},
		{"a hold ends by itself", testHoldEnds},
		{"a machine is a member of one cluster", testMember},
		{"the parts of a cluster", testClusterParts},
		{"two applies at once", testTwoAtOnce},
		{"a plan tells what is in the way of it", testObstacles},
	}
}

func testHold(s *suite) {
	_, err := s.Hold(s.ctx, machine.HoldRequest{Reason: " "})
	s.refused(err, "")
	if was, err := s.Unhold(s.ctx); err != nil || was != nil {
		s.Errorf("nothing was on hold, but %+v, %v", was, err)
	}
	held := must[*machine.HoldResult](s)(s.Hold(s.ctx, machine.HoldRequest{Reason: "works"}))
	if held.Hold == nil || held.Reason != "works" || held.Since.IsZero() || !held.Until.IsZero() || held.Applying != nil {
		s.Errorf("the hold is %s", marshal(s, held))
	}
	j := s.job(execution, s.file("a", "one\n"))
	j.LockTimeout = limit // nobody waits for the end of a hold
	r := newRecorder()
	result, err := s.Apply(s.ctx, j, r.observer())
	if e := s.refused(err, machine.CodeLocked); result != nil || len(r.started) > 0 || !strings.Contains(e.Error(), "works") || e.Hint == "" {
		s.Errorf("it has begun: %+v, %+v, %v (%s)", result, r.started, e, e.Hint)
	}
	s.lacks("a")
	_, err = s.Another().Hold(s.ctx, machine.HoldRequest{Reason: "more works"})
	s.refused(err, machine.CodeLocked)
	if now := must[*machine.Status](s)(s.Status(s.ctx, "")); now.Hold == nil || now.Hold.Reason != "works" || now.Status != nil {
		s.Errorf("the status is %s", marshal(s, now))
	}
	if was, err := s.Another().Unhold(s.ctx); err != nil || was == nil || was.Reason != "works" {
		s.Errorf("what was on hold: %+v, %v", was, err)
	}
	if was, err := s.Unhold(s.ctx); err != nil || was != nil {
		s.Errorf("nothing was on hold, but %+v, %v", was, err)
	}
	if result, _ := s.apply(j); result.Counts.Changed != 1 {
		s.Errorf("after the hold: %+v", result)
	}
}

func testMember(s *suite) {
	m, ok := s.Machine.(machine.Member)
	if !ok {
		s.Fatalf("%T cannot be a member of a cluster", s.Machine)
	}
	of := func(cluster string, members ...string) machine.MemberRequest {
		return machine.MemberRequest{Site: "lab", Membership: site.Membership{Name: cluster, Members: members}}
	}
	if was, err := m.Member(s.ctx, of("bench")); err != nil || was != nil {
		s.Errorf("it was %+v, %v", was, err)
	}
	if was, err := m.Member(s.ctx, of("bench", "a", "b")); err != nil || was == nil || was.Name != "bench" || len(was.Members) > 0 || was.Since.IsZero() {
		s.Errorf("it was %+v, %v", was, err)
	}
	_, err := m.Member(s.ctx, of("table", "a"))
	if e := s.refused(err, machine.CodeMember); !strings.Contains(e.Error(), "bench") || e.Hint == "" {
		s.Errorf("%v (%s)", e, e.Hint)
	}
	j := s.job(execution, s.file("a", "one\n"))
	j.Run.Site, j.Run.Cluster = "lab", &site.Membership{Name: "table", Members: []string{"a"}}
	_, err = s.Apply(s.ctx, j, newRecorder().observer())
	s.refused(err, machine.CodeMember)
	s.lacks("a")
	leaves := of("table")
	leaves.Leaves = true
	if was, err := m.Member(s.ctx, leaves); err != nil || was == nil || was.Name != "bench" {
		s.Errorf("it was %+v, %v", was, err)
	}
	if now := must[*machine.Status](s)(s.Status(s.ctx, "")); now.Cluster == nil || now.Cluster.Site != "lab" || !slices.Equal(now.Cluster.Members, []string{"a", "b"}) {
		s.Errorf("the status is %s", marshal(s, now))
	}
	leaves.Name = "bench"
	must[*journal.Membership](s)(m.Member(s.ctx, leaves))
	if now := must[*machine.Status](s)(s.Status(s.ctx, "")); now.Cluster == nil {
		s.Errorf("a member leaves without a run: %s", marshal(s, now))
	}
	claim := s.Another().(machine.Member)
	_, err = claim.Member(s.ctx, of("bench"))
	if err != nil {
		s.Error(err)
	}
	must[*journal.Membership](s)(m.Member(s.ctx, leaves))
	if now := must[*machine.Status](s)(s.Status(s.ctx, "")); now.Cluster != nil {
		s.Errorf("the status is %s", marshal(s, now))
	}
	_, err = m.Member(s.ctx, machine.MemberRequest{Site: "lab", Membership: site.Membership{Name: "../x"}})
	s.refused(err, machine.CodeUsage)
}

func testHoldEnds(s *suite) {
	held := must[*machine.HoldResult](s)(s.Hold(s.ctx, machine.HoldRequest{Reason: "works", For: time.Nanosecond}))
	if held.Until.Sub(held.Since) != time.Nanosecond {
		s.Errorf("the hold is %s", marshal(s, held))
	}
	s.apply(s.job(execution, s.file("a", "one\n")))
}

func testTwoAtOnce(s *suite) {
	first := s.begin(s.ctx, s.Machine, s.job(execution, s.gate("gate"), s.file("a", "one\n")))
	first.begins(s, "wait_for.gate")
	beside := s.Another()
	j := s.job("20260101-000001-abcdef", s.file("a", "one\n"))
	r := newRecorder()
	result, err := beside.Apply(s.ctx, j, r.observer())
	if e := s.refused(err, machine.CodeLocked); result != nil || len(r.started) > 0 || e.Hint == "" {
		s.Errorf("it has begun: %+v, %+v", result, r.started)
	}
	if held := must[*machine.HoldResult](s)(beside.Hold(s.ctx, machine.HoldRequest{Reason: "works"})); held.Applying == nil || held.Applying.Run != first.run(s) {
		s.Errorf("who applies nevertheless: %s", marshal(s, held))
	}
	if _, err := beside.Unhold(s.ctx); err != nil {
		s.Error(err)
	}
	j.LockTimeout = limit
	second := s.begin(s.ctx, beside, j)
	second.await(s, "that it waits", func() bool { return len(second.notes) > 0 })
	s.open("gate")
	if result, err := first.end(s); err != nil || result.Counts.Changed != 1 {
		s.Errorf("the first one: %+v, %v", result, err)
	}
	if result, err := second.end(s); err != nil || result.Counts.Changed != 0 || result.Counts.Unchanged != 1 {
		s.Errorf("the second one: %+v, %v", result, err)
	}
	if n := second.notes[0]; len(second.notes) != 1 || !strings.HasPrefix(n.Text, "waiting for at most 3m: ") {
		s.Errorf("the notes are %+v", second.notes)
	}
}

func testObstacles(s *suite) {
	must[*machine.HoldResult](s)(s.Hold(s.ctx, machine.HoldRequest{Reason: "works"}))
	if _, r := s.plan(s.job("", s.file("a", "one\n"))); !slices.ContainsFunc(r.notes, func(n machine.Note) bool { return strings.Contains(n.Text, "works") }) {
		s.Errorf("the notes are %+v", r.notes)
	}
}
