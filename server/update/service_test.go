package update

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
)

// What was offered is taken back when an update is ended, and is not offered again when the server is started.
func TestAbortTakesTheOfferBack(t *testing.T) {
	w := newWorld(t, 3)
	u := w.start("v1.1.0")
	w.expect(Rolling, "h1:v1.1.0")
	if _, err := w.Steer(t.Context(), w.by, u.Number, "abort", ""); err != nil {
		t.Fatal(err)
	}
	w.round()
	u = w.expect(Aborted, "")
	if u.Hosts[0].Reason == "" || u.Hosts[0].State == "begun" || u.Hosts[1].Reason == "" {
		t.Errorf("%+v %+v", u.Hosts[0], u.Hosts[1])
	}
	w.restart()
	w.run()
	w.expect(Aborted, "")
	w.runs("h1", "v1.1.0") // it had switched already
	if u = w.expect(Aborted, ""); u.Hosts[0].State != "ready" {
		t.Errorf("%+v", u.Hosts[0])
	}
}

// The same where more hosts fail than may.
func TestFailureTakesTheOfferBack(t *testing.T) {
	w := newWorld(t, 3)
	w.start("v1.1.0")
	w.runs("h1", "v1.1.0")
	w.round()
	w.expect(Rolling, "h1:v1.1.0 h2:v1.1.0")
	w.later(2 * time.Hour) // h2 was in time for nothing
	w.round()
	w.expect(Failed, "")
	w.restart()
	w.run()
	w.expect(Failed, "")
}

// A host that is part of a newer update does not come back to what an older one offered.
func TestNewerUpdateTakesTheOfferBack(t *testing.T) {
	w := newWorld(t, 2)
	w.start("v1.1.0")
	w.runs("h1", "v1.1.0")
	w.round()
	w.looks["h2"] = Look{Away: w.now}
	w.round()
	w.expect(Rolling, "h1:v1.1.0 h2:v1.1.0")
	if _, err := w.Steer(t.Context(), w.by, 1, "continue", ""); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.round()
	}
	w.expect(Done, "h1:v1.1.0 h2:v1.1.0")
	if u := w.start("v1.2.0"); u.Number != 2 {
		t.Error(u.Number)
	}
	w.expect(Rolling, "h1:v1.2.0")
}

// Whichever read of the store fails once: hosts that are noted as begun are offered the release.
func TestStoreFailsOnce(t *testing.T) {
	for read := 1; read <= 5; read++ {
		w := newWorld(t, 1)
		if _, err := w.Start(t.Context(), w.by, Request{Version: "v1.1.0"}); err != nil {
			t.Fatal(err)
		}
		w.engine.mu.Lock()
		w.engine.fail = read
		w.engine.mu.Unlock()
		for range 3 {
			if err := w.Round(t.Context()); err != nil {
				t.Log(read, err)
			}
		}
		w.expect(Rolling, "h1:v1.1.0")
		// And those that were offered it before a start of the server.
		w.restart()
		w.engine.mu.Lock()
		w.engine.fail = read
		w.engine.mu.Unlock()
		w.run()
		w.expect(Rolling, "h1:v1.1.0")
	}
}

// An update that has ended costs nothing, and one that is done little: who comes late follows all the same.
func TestRestingUpdates(t *testing.T) {
	w := newWorld(t, 20)
	rounds := func() (listings, writes int) {
		before := w.listings
		_, wrote := w.engine.count()
		for range 10 {
			w.later(interval)
			w.round()
		}
		_, now := w.engine.count()
		return w.listings - before, now - wrote
	}
	u := w.start("v1.1.0")
	w.round()
	w.looks["h1"] = Look{Program: w.looks["h1"].Program, Update: &control.Update{Number: u.Number, Release: u.Release, Phase: control.UpdateWaiting, Reason: "the host is held"}}
	if _, writes := rounds(); writes != 1 {
		t.Errorf("%d rows are written for one host", writes)
	}
	if _, err := w.Steer(t.Context(), w.by, u.Number, "abort", ""); err != nil {
		t.Fatal(err)
	}
	if listings, writes := rounds(); listings+writes > 0 {
		t.Errorf("an update that was aborted: hosts are listed %d times, and %d rows are written", listings, writes)
	}
	for i := range 19 {
		w.runs(fmt.Sprint("h", i+1), "v1.2.0")
	}
	w.looks["h20"] = Look{Away: w.now}
	w.start("v1.2.0")
	if _, err := w.Steer(t.Context(), w.by, 2, "continue", ""); err != nil {
		t.Fatal(err)
	}
	w.round()
	w.expect(Done, "")
	if listings, writes := rounds(); listings > 1 || writes > 0 {
		t.Errorf("an update that is done: hosts are listed %d times, and %d rows are written", listings, writes)
	}
	w.runs("h20", "v1.0.0")
	w.later(lateInterval)
	w.round()
	w.expect(Done, "h20:v1.2.0")
}

// A release whose key may not release any more is reported once, and offered again when a key has signed it that may.
func TestReleaseKeyIsRemoved(t *testing.T) {
	for _, phase := range []Phase{Rolling, Done} {
		w := newWorld(t, 1)
		w.start("v1.1.0")
		if phase == Done {
			w.runs("h1", "v1.1.0")
			w.round()
		}
		w.expect(phase, "h1:v1.1.0")
		w.mu.Lock()
		w.chain, w.keyless = w.keyless, w.chain
		w.mu.Unlock()
		w.run()
		if len(w.failures) != 1 {
			t.Errorf("it is reported %d times: %q", len(w.failures), w.failures)
		}
		w.expect(phase, "")
		w.mu.Lock()
		w.chain, w.keyless = w.keyless, w.chain
		w.mu.Unlock()
		w.later(lateInterval)
		w.round()
		w.expect(phase, "h1:v1.1.0")
	}
}
