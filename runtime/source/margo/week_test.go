package margo_test

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// A week without the manager is messages: what has happened meanwhile is kept, the newest of each deployment, and told in the end.
func TestWeekWithoutTheManager(t *testing.T) {
	rules := margo.Rules{Device: "device-1", Interval: time.Minute}
	now := time.Unix(1_800_000_000, 0)
	d := rc2.Deployment{ID: "a", Name: "a", Device: "device-1", Type: rc2.TypeCompose, Components: []rc2.Component{{Name: "web"}}}
	m := rc2.Manifest{Version: 7, Deployments: []rc2.Reference{{ID: "a", Digest: rc2.DigestOf(nil)}}}
	s, _ := rules.Step(margo.State{}, now, margo.Verified{Manifest: m, Digest: rc2.DigestOf(nil), Documents: map[string]rc2.Deployment{"a": d}})
	s, _ = rules.Step(s, now, margo.Progress{Deployment: "a", Component: "web", State: rc2.Installed})
	s, _ = rules.Step(s, now, margo.Ended{})

	asks, sends, tells := 0, 0, 0
	away := margo.Failure{Reason: "no route"}
	for end := now.Add(7 * 24 * time.Hour); now.Before(end); now = now.Add(time.Second) {
		var actions []margo.Action
		s, actions = rules.Step(s, now, margo.Passed{})
		for len(actions) > 0 {
			var more []margo.Action
			switch a := actions[0].(type) {
			case margo.Ask:
				asks++
				s, more = rules.Step(s, now, margo.Unavailable{Failure: away})
			case margo.Send:
				sends++
				s, more = rules.Step(s, now, margo.Untold{Deployment: a.Status.Deployment, Serial: a.Serial, Failure: away})
			case margo.Tell:
				tells++
			default:
				t.Fatalf("%T", a)
			}
			actions = append(actions[1:], more...)
		}
		if hour := now.Unix() % 3600; hour < 2 { // each hour it fails, and is mended
			p := margo.Progress{Deployment: "a", Component: "web", State: rc2.Installed}
			if hour == 0 {
				p.State, p.Error = rc2.Failed, &rc2.Error{Code: margo.CodeFailed, Source: "web", Message: "it has ended"}
			}
			s, _ = rules.Step(s, now, p)
		}
	}
	if asks > 7*24*4+10 || sends > 7*24*4+10 || tells != 1 {
		t.Errorf("%d questions, %d reports tried, %d messages for people", asks, sends, tells)
	}
	if len(s.Outbox) != 1 || s.Outbox["a"].Status.Overall.State != rc2.Installed || s.Outbox["a"].Status.Adopted != 7 {
		t.Errorf("kept is %+v", s.Outbox)
	}
}

// Outside of its windows, and in a downtime, a device neither asks nor tells, and what it has to tell is kept.
func TestManagerIsAskedInWindows(t *testing.T) {
	midnight := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	evening, err := site.ParseWindow(nil, "20:00-06:00", "")
	if err != nil {
		t.Fatal(err)
	}
	rules := margo.Rules{
		Device: "device-1", Interval: time.Minute, Windows: []site.Window{evening},
		Downtimes: []source.Downtime{{From: midnight.Add(22 * time.Hour), To: midnight.Add(23 * time.Hour)}},
	}
	asked := map[int]bool{}
	s := margo.State{}
	for clock := midnight; clock.Before(midnight.Add(24 * time.Hour)); clock = clock.Add(10 * time.Minute) {
		next, actions := rules.Step(s, clock, margo.Passed{})
		for _, a := range actions {
			if _, ok := a.(margo.Ask); ok {
				asked[clock.Hour()] = true
				next, _ = rules.Step(next, clock, margo.Unchanged{})
			}
		}
		s = next
	}
	for hour := range 24 {
		if want := (hour >= 20 || hour < 6) && hour != 22; asked[hour] != want {
			t.Errorf("at %d: %t", hour, asked[hour])
		}
	}
}
