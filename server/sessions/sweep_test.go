package sessions_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
)

// A run that goes on while its first events are removed keeps those that come.
func TestSweepOfARunThatGoesOn(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	session := a.hello(3)
	send := func(n uint64) uint64 {
		t.Helper()
		event := control.Item{Event: &control.Event{Site: "shop", Run: "long", Event: json.RawMessage(fmt.Sprint(n))}}
		a.send(&control.Batch{Session: session, Stream: "raw", First: n, Last: n, Items: [][]byte{item(t, event)}})
		return answer[*control.Stored](a).Through
	}
	send(1)
	time.Sleep(2 * time.Millisecond) // the store counts in microseconds
	between := time.Now()
	time.Sleep(2 * time.Millisecond)
	send(2)
	if err := f.sessions.Sweep(t.Context(), between); err != nil {
		t.Fatal(err)
	}
	if got := send(3); got != 3 {
		t.Errorf("it is stored through %d", got)
	}
	if events, err := f.sessions.Events(t.Context(), h.key.Public().ID(), "long"); err != nil || string(events) != "2\n3\n" {
		t.Errorf("the events are %q: %v", events, err)
	}
}

// What a host has told is kept for a time by the server's clock, whatever the host takes the time for; and gaps are kept no longer than the rest.
func TestSweepByTheServersClock(t *testing.T) {
	f := newFleet(t)
	_, a := f.raw("web1")
	session := a.hello(5)
	var items [][]byte
	for run, year := range map[string]int{"early": 1970, "late": 2090} {
		items = append(items, item(t, control.Item{Run: &control.Run{Run: run, Site: "shop", Started: time.Date(year, 1, 1, 1, 0, 0, 0, time.UTC)}}))
	}
	a.send(&control.Batch{Session: session, Stream: "raw", First: 1, Last: 2, Items: items})
	answer[*control.Stored](a)
	a.send(&control.Batch{Session: session, Stream: "raw", First: 3, Last: 4, Gap: true})
	answer[*control.Stored](a)
	count := func() (runs, gaps int) {
		part, err := f.sessions.Runs(t.Context(), sessions.RunFilter{})
		if err == nil {
			err = f.store.Read(t.Context(), func(r store.Reader) error {
				_, err := store.One(r, `SELECT COUNT(*) FROM sessions_gaps`, nil, &gaps)
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(part.Runs), gaps
	}
	for _, sweep := range []struct {
		before     time.Duration
		runs, gaps int
	}{{-30 * 24 * time.Hour, 2, 1}, {time.Hour, 0, 0}} {
		if err := f.sessions.Sweep(t.Context(), time.Now().Add(sweep.before)); err != nil {
			t.Fatal(err)
		}
		if runs, gaps := count(); runs != sweep.runs || gaps != sweep.gaps {
			t.Errorf("after what is older than %v was removed there are %d runs and %d gaps", sweep.before, runs, gaps)
		}
	}
}
