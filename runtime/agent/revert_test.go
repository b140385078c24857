package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// What has failed as often as the site allows is given up for what the host was brought to last, without the server and across starts of the agent, until
// something else is wanted. The server is told that it is the newest that has failed.
func TestRevert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := &reconcile.Options{Attempts: 2, OnFailure: reconcile.Revert}
		w.assignKept("shop", "1", o)
		w.mustStart()
		w.wait(time.Minute)
		w.machine.bad = "2"
		bad := w.assignKept("shop", "2", o)
		w.wait(5 * time.Second)
		w.setCut(true)
		w.end()
		w.mustStart()
		w.wait(time.Hour)
		if got := w.machine.version("shop"); got != "1" {
			t.Errorf("the host has version %q", got)
		}
		runs := w.machine.runs
		w.end()
		w.mustStart() // that somebody starts the agent is no reason to try again what has failed
		w.wait(time.Hour)
		if w.machine.runs != runs {
			t.Errorf("after a start there were %d runs more", w.machine.runs-runs)
		}
		w.machine.drift("shop")
		w.wait(time.Hour) // drift of it is mended as ever
		w.setCut(false)
		w.wait(2 * time.Minute)
		if l := w.loop("shop"); l.Phase != control.PhaseWaiting || l.Condition != control.ConditionReverted || l.Position != bad || l.Reason == "" {
			t.Errorf("the server knows %+v, and %v has failed", l, bad)
		}
		if got := w.machine.version("shop"); got != "1" {
			t.Errorf("the host has version %q", got)
		}
		at := w.assignKept("shop", "3", o)
		w.wait(time.Minute)
		w.expectConverged("shop", "3", at)
		sealed, err := os.ReadDir(filepath.Join(w.dir, "agent", sealedDir))
		if err != nil || len(sealed) > 2 { // of what is wanted, and of what it was before until the next look
			t.Errorf("%d bundles are left: %v", len(sealed), err)
		}
		w.end()
	})
}

// What takes the agent down with it, again and again, is given up as the site says, though no process has ever seen it end.
func TestRevertOfWhatEndsTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := &reconcile.Options{Attempts: 2, OnFailure: reconcile.Revert}
		w.assignKept("shop", "1", o)
		w.mustStart()
		w.wait(time.Minute)
		w.end()
		w.machine.began = func(string) {
			if w.machine.running == "2" {
				w.disk.die()
			}
		}
		w.assignKept("shop", "2", o)
		w.mustStart()
		for range 20 {
			w.wait(2 * time.Minute)
			w.disk = w.disk.kill()
			w.end()
			w.mustStart()
		}
		w.wait(time.Hour)
		if got := w.machine.version("shop"); got != "1" {
			t.Errorf("the host has version %q", got)
		}
		if l := w.loop("shop"); l.Condition != control.ConditionReverted {
			t.Errorf("the server knows %+v", l)
		}
		w.end()
	})
}

// A site says how its host is kept: how often it is looked at, that it is only looked at, or when it may be changed.
func TestSiteSaysHowItIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assignKept("shop", "1", &reconcile.Options{Poll: time.Minute, Jitter: -1})
		w.mustStart()
		w.wait(time.Second)
		w.machine.drift("shop")
		w.wait(time.Minute)
		if got := w.machine.version("shop"); got != "1" {
			t.Errorf("after a minute the host has %q", got)
		}
		w.assignKept("shop", "2", &reconcile.Options{Mode: reconcile.Audit})
		w.wait(time.Minute)
		if l := w.loop("shop"); l.Phase != control.PhaseWaiting || l.Condition != control.ConditionDrifted {
			t.Errorf("the server knows %+v", l)
		}
		if got := w.machine.version("shop"); got != "1" {
			t.Errorf("it was to be looked at, and has %q", got)
		}
		opens := time.Duration((time.Now().UTC().Hour()+12)%24) * time.Hour
		at := w.assignKept("shop", "3", &reconcile.Options{Windows: site.Schedule{{{Start: opens, End: (opens + time.Hour) % (24 * time.Hour)}}}})
		w.wait(10 * time.Hour)
		if l := w.loop("shop"); l.Phase != control.PhaseBlocked || !strings.Contains(l.Reason, "windows") || w.machine.version("shop") != "1" {
			t.Errorf("outside of its windows the server knows %+v, and the host has %q", l, w.machine.version("shop"))
		}
		w.wait(3 * time.Hour)
		w.expectConverged("shop", "3", at)
		w.end()
	})
}

// Where the record of a loop cannot be read nothing is applied, since nobody knows what must not be: that is said, and other sites go on.
func TestLoopRecordIsDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.assign("shop", "1")
		at := w.assign("db", "1")
		w.mustStart()
		w.wait(time.Minute)
		w.end()
		files, err := filepath.Glob(filepath.Join(w.dir, "state", "loops", "*.json"))
		if err != nil || len(files) != 2 {
			t.Fatal(files, err)
		}
		damaged := ""
		for _, name := range files {
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), `"shop"`) {
				damaged = name
			}
		}
		if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.machine.drift("shop")
		w.machine.drift("db")
		w.logs = nil
		w.mustStart()
		w.wait(time.Hour)
		w.expectConverged("db", "1", at)
		if got := w.machine.version("shop"); got == "1" || len(w.logs) == 0 || !strings.Contains(w.logs[0].Error(), damaged) {
			t.Errorf("nobody knows what must not be applied, and the host has %q; the log has %v", got, w.logs)
		}
		w.end()
	})
}
