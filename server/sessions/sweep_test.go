package sessions_test

import (
	"encoding/json"
	"fmt"
	"strings"
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

// What has gathered in a long time is removed in many writes, of which each ends soon, and between which hosts are heard.
func TestSweepOfMuch(t *testing.T) {
	f := newFleet(t)
	const rows = 1234
	at := time.Now().Add(-time.Hour)
	err := f.store.Write(t.Context(), func(tx store.Tx) error {
		for n := range int64(rows) {
			for _, sql := range []string{
				`INSERT INTO sessions_events (host, run, part, at, events) VALUES ('h', 'r', $1, $2, $3)`,
				`INSERT INTO sessions_runs (host, run, site, revision, started, failed, error, told) VALUES ('h', CAST($1 AS TEXT), 's', '', 0, 0, '', $2)`,
				`INSERT INTO sessions_gaps (host, stream, first, last, at) VALUES ('h', 's', $1, 9, $2)`,
				`INSERT INTO sessions_stream (n, count, host, at, items) VALUES ($1, 1, 'h', $2, $3)`,
			} {
				if _, err := tx.Exec(sql, append([]any{n, at}, []byte{})[:2+strings.Count(sql, "$3")]...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := f.store.Stats().Writes
	if err := f.sessions.Sweep(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := f.store.Stats().Writes - before; n < 4*rows/250 {
		t.Errorf("it was %d writes", n)
	}
	for table, want := range map[string]int{"sessions_events": 0, "sessions_runs": 0, "sessions_gaps": 0, "sessions_stream": 1} {
		var n int
		err := f.store.Read(t.Context(), func(r store.Reader) error {
			_, err := store.One(r, `SELECT COUNT(*) FROM `+table, nil, &n)
			return err
		})
		if err != nil || n != want {
			t.Errorf("%s has %d rows: %v", table, n, err)
		}
	}
}
