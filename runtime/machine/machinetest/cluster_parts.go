package machinetest

import (
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/states"
)

// testClusterParts has a member tell of what it has by its cluster alone: while that is made, once it is, where it fails, and while it goes.
func testClusterParts(s *suite) {
	begun := time.Now()
	ofBench := func(list ...states.Part) []states.Part {
		for i := range list {
			list[i].Options.Cluster = "bench"
		}
		return list
	}
	standing := func() string {
		var got []string
		for _, p := range s.status("").ClusterParts {
			text := p.Address + " " + p.State
			if p.State == states.PartPending {
				text += " (" + p.Reason + ")"
			}
			if p.Error != nil {
				text += ": " + p.Error.Message
			}
			got = append(got, text)
		}
		return strings.Join(got, ", ")
	}
	stand := func(want string) {
		s.Helper()
		got := standing()
		for s.ctx.Err() == nil && got != want && time.Since(begun) < time.Minute { // what a run has done is on the disk a moment after it is told
			time.Sleep(time.Millisecond)
			got = standing()
		}
		if got != want {
			s.Errorf("it says %q, want %q", got, want)
		}
	}
	parts := append(ofBench(s.file("a", "one\n"), s.gate("gate"), s.file("b", "two\n")), s.file("own", "own\n"))
	j := s.job(execution, parts...)
	j.Run.Cluster = &site.Membership{Name: "bench", Members: []string{"subject"}}
	call := s.begin(s.ctx, s.Another(), j) // a machine answers one question at a time
	call.begins(s, "wait_for.gate")
	stand("file.a present, wait_for.gate creating, file.b pending ()")
	s.open("gate")
	if _, err := call.end(s); err != nil {
		s.Fatal(err)
	}
	stand("file.a present, wait_for.gate done, file.b present")

	fails := s.file("b", "two\n")
	fails.Values["path"] = s.path("a/below")
	fails.Key = s.path("a/below")
	j = s.job("20260101-000002-abcdef", append(ofBench(s.file("a", "one\n"), fails), s.file("own", "own\n"))...)
	j.Run.Cluster = &site.Membership{Name: "bench", Members: []string{"subject"}}
	s.apply(j)
	if now := s.status("").ClusterParts; len(now) != 2 || now[1].State != states.PartError || now[1].Error == nil || now[1].Timestamp.IsZero() {
		s.Errorf("it says %s", marshal(s, now))
	}

	other := s.job("20260101-000003-abcdef", s.file("elsewhere", "x"))
	other.Run.Site = "other"
	s.apply(other)
	if now := s.status("").ClusterParts; len(now) != 2 {
		s.Errorf("after a run of another site it says %s", marshal(s, now))
	}
	s.apply(s.job("20260101-000004-abcdef", s.file("own", "own\n")))
	s.lacks("a")
	if now := s.status(""); now.Cluster != nil || now.ClusterParts != nil {
		s.Errorf("it has left, and says %s", marshal(s, now))
	}
}
