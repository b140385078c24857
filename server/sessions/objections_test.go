package sessions_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/sessions"
)

// What a host has against what it is to be is the reason of its delivery, beyond the end of the server, and until the host says otherwise.
func TestObjections(t *testing.T) {
	now := time.Now()
	f := newFleet(t, func(f *fleet) { f.clock = func() time.Time { return now } })
	h, a := f.raw("web1")
	id := h.key.Public().ID()
	f.assign(h, &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "r1", Absent: true, Until: now.Add(24 * time.Hour)})
	say := func(refused ...control.Objection) {
		t.Helper()
		a.send(&control.Hello{Versions: []int{control.Version}, Session: rand.Text(), Stream: "raw", First: 1, Refused: refused})
		answer[*control.Answer](a)
	}
	say()
	d := f.sessions.Status(id).Sites["shop"].Delivery
	if d.Refused != nil || !strings.Contains(d.Pending, "being delivered") {
		t.Errorf("it is delivered as %+v", d)
	}
	began := now
	clock := control.Objection{Site: "shop", Position: *d.Target, Code: control.ObjectionClock, Why: "the clock here says 1970"}
	say(clock)
	now = now.Add(time.Minute)
	clock.Why = "the clock here says 1970, still"
	say(clock, control.Objection{Site: "other", Position: *d.Target, Code: control.ObjectionTrust, Why: "nobody asks"})
	check := func(of *sessions.Sessions) {
		t.Helper()
		d := of.Status(id).Sites["shop"].Delivery
		if d.Refused == nil || !d.Refused.Since.Equal(began) {
			t.Errorf("it is delivered as %+v", d)
		}
	}
	check(f.sessions)
	if d := f.sessions.Status(id).Sites["shop"].Delivery; d.Pending != "the host refuses it: the clock here says 1970, still" {
		t.Errorf("it is pending: %s", d.Pending)
	}
	if c := f.sessions.Counts(); c.Pending != 1 || c.Objecting != 1 {
		t.Errorf("it is counted as %+v", c)
	}
	again, err := sessions.Open(t.Context(), sessions.Options{Store: f.store, Broker: f.broker, Hosts: f, Signer: f, Term: 2})
	if err != nil {
		t.Fatal(err)
	}
	check(again)
	say(control.Objection{Code: control.ObjectionStorage, Why: "no space left"})
	st := f.sessions.Status(id)
	if d := st.Sites["shop"].Delivery; len(st.Trouble) != 1 || d.Pending != "the host takes up nothing: no space left" {
		t.Errorf("it stands as %+v, and is pending: %s", st, d.Pending)
	}
	clock.Position.N-- // what it had before
	say(clock)
	if d := f.sessions.Status(id).Sites["shop"].Delivery; d.Refused != nil {
		t.Errorf("it is delivered as %+v", d)
	}
	say()
	if again, err = sessions.Open(t.Context(), sessions.Options{Store: f.store, Broker: f.broker, Hosts: f, Signer: f, Term: 3}); err != nil {
		t.Fatal(err)
	}
	if st := again.Status(id); len(st.Trouble) != 0 || st.Sites["shop"].Delivery.Refused != nil {
		t.Errorf("it stands as %+v", st)
	}
}
