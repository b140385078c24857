package agent

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
)

// The loop's run that was interrupted goes on with the next start, and is told of; any other one is left alone.
func TestInterruptedRunGoesOn(t *testing.T) {
	for name, isOwn := range map[string]bool{"the loop's": true, "another one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.machine.hang = true
				w.assign("shop", "1")
				w.mustStart()
				w.wait(time.Minute)
				execution := w.machine.execution
				w.end()
				w.machine.hang = false
				if !isOwn {
					execution = executionPrefix + strings.Repeat("0", 16) + "-abcdefgh"
				}
				w.machine.pending = &machine.Status{Status: &journal.Status{Run: "00000009", Execution: execution, Site: "shop", State: journal.Interrupted}}
				w.mustStart()
				w.wait(time.Minute)
				w.end()
				if got := strings.Join(w.machine.resumed, " "); isOwn && got != "00000009" || !isOwn && got != "" {
					t.Errorf("it goes on with %q", got)
				}
				known := false
				for _, i := range w.told() {
					known = known || i.Run != nil && i.Run.Run == "00000009" && !i.Run.Ended.IsZero()
				}
				if known != isOwn {
					t.Errorf("the server knows of the run: %v", known)
				}
				w.expectConverged("shop", "1", w.host.Targets["shop"].Position)
			})
		})
	}
}

// What fails is tried again, eight times in all, however often the agent starts anew; what is wanted next begins to count anew.
func TestAttemptsOutliveTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.machine.fail = errors.New("no space left on device")
		w.assign("shop", "1")
		for range 3 { // each of them is killed in its third apply
			last := w.machine.runs + 3
			w.machine.began = func(string) {
				if w.machine.runs == last {
					w.disk.die()
				}
			}
			w.mustStart()
			w.wait(12 * time.Hour)
			w.disk = w.disk.kill()
			w.end()
		}
		w.machine.began = nil
		w.mustStart()
		w.wait(12 * time.Hour)
		// What the end of the process has cut short was done again.
		runs := site.DefaultAttempts + 3
		if l := w.loop("shop"); l.Phase != control.PhaseHelp || w.machine.runs != runs {
			t.Errorf("after %d attempts the server knows %+v", w.machine.runs, l)
		}
		w.end()
		w.mustStart()
		w.wait(12 * time.Hour)
		if w.machine.runs != runs {
			t.Errorf("it is tried again after a start: %d times", w.machine.runs)
		}
		w.assign("shop", "2")
		w.wait(time.Minute)
		w.machine.mu.Lock()
		w.machine.fail = nil
		w.machine.mu.Unlock()
		w.wait(2 * time.Hour)
		w.expectConverged("shop", "2", w.host.Targets["shop"].Position)
		if l := w.loop("shop"); l.Attempt != 0 {
			t.Errorf("the server knows of attempts: %+v", l)
		}
		w.end()
	})
}

// Whoever stops the agent in an apply says nothing of what is wanted: it does not count.
func TestStoppedApplyDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assign("shop", "1")
		for range site.DefaultAttempts + 2 {
			begun := make(chan struct{}, 1)
			w.machine.began = func(string) { begun <- struct{}{} }
			w.machine.hang = true
			w.mustStart()
			<-begun
			w.end()
		}
		w.machine.began, w.machine.hang = nil, false
		w.mustStart()
		w.wait(time.Minute)
		w.expectConverged("shop", "1", w.host.Targets["shop"].Position)
		w.end()
	})
}

// Another apply on the host is waited for, and no attempt.
func TestLockedHostIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.machine.fail = &diag.HintError{Code: machine.CodeLocked, Message: "somebody holds the host"}
		w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Hour)
		if l := w.loop("shop"); l.Phase != control.PhaseBlocked || l.Attempt != 0 || w.machine.runs < 20 {
			t.Errorf("after %d tries the server knows %+v", w.machine.runs, l)
		}
		w.machine.mu.Lock()
		w.machine.fail = nil
		w.machine.mu.Unlock()
		w.wait(2 * time.Minute)
		w.expectConverged("shop", "1", w.host.Targets["shop"].Position)
		w.end()
	})
}

// Drift is mended, with a server and without.
func TestDriftIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Minute)
		w.machine.drift("shop")
		w.wait(40 * time.Minute)
		w.expectConverged("shop", "1", w.host.Targets["shop"].Position)
		w.setCut(true)
		w.machine.drift("shop")
		w.wait(40 * time.Minute)
		w.end()
		w.machine.drift("shop")
		w.mustStart() // nobody answers
		w.wait(40 * time.Minute)
		if got := w.machine.version("shop"); got != "1" {
			t.Errorf("without a server the host has %q", got)
		}
		w.setCut(false)
		w.wait(2 * time.Minute)
		w.expectConverged("shop", "1", w.host.Targets["shop"].Position)
		w.end()
	})
}

// A signed absence removes what a site has created, and nothing that was signed before it brings it back, also after a start.
func TestAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assign("shop", "1")
		w.mustStart()
		w.wait(time.Minute)
		former := w.host.Targets["shop"]
		w.sign(&trust.Assignment{Format: trust.AssignmentFormat, Host: w.host.ID, Site: "shop", Revision: "2", Absent: true, Until: time.Now().Add(time.Hour)})
		w.wait(time.Minute)
		if _, there := w.machine.applied["shop"]; there || w.loop("shop").Phase != control.PhaseGone {
			t.Errorf("the machine has %v, and the server knows %+v", w.machine.applied, w.loop("shop"))
		}
		w.host.Targets["shop"] = former
		for range 2 {
			w.host.Held = nil
			w.reconnect()
			w.wait(time.Minute)
			if _, there := w.machine.applied["shop"]; there {
				t.Error("what was wanted before is there again")
			}
			w.end()
			w.mustStart()
			w.wait(time.Minute)
		}
		w.end()
	})
}

// Sites take turns, and so do what they fetch: a server that is busy is asked for one at a time, and a site of which it gives nothing keeps no other one waiting for ever.
func TestSitesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		busy := 0
		var next time.Time
		w.turn = func(c *control.Claim) *control.Turn {
			if time.Now().Before(next) {
				t.Errorf("%v too early the server is asked for %s", time.Until(next), c.Site)
			}
			if c.Site == "broken" {
				return &control.Turn{Why: "there is nothing of it"}
			}
			if busy++; busy < 4 {
				next = time.Now().Add(15 * time.Second)
				return &control.Turn{RetryAfter: 15 * time.Second}
			}
			return nil
		}
		shop, db := w.assign("shop", "1"), w.assign("db", "1")
		w.assign("broken", "1")
		w.mustStart()
		w.wait(20 * time.Minute)
		w.expectConverged("shop", "1", shop)
		w.expectConverged("db", "1", db)
		if l := w.loop("broken"); l.Phase != control.PhaseRetrying || l.Attempt != 0 || !strings.Contains(l.Reason, "there is nothing of it") {
			t.Errorf("the server knows %+v", l)
		}
		w.end()
	})
}
