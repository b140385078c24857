package agent

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// Who asks the host is told where the loop of a site stands, and can have what was given up tried again, also after the agent was stopped.
func TestHelpEndsByAPersonsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		folder := reconcile.In(filepath.Join(w.dir, "state"))
		stands := func() reconcile.State {
			list, err := folder.List()
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			return list[0]
		}
		w.machine.fail = errors.New("no space left on device")
		at := w.assign("shop", "1")
		w.mustStart()
		w.wait(12 * time.Hour)
		if s := stands(); s.Site != "shop" || s.Phase != reconcile.Help || s.Attempt() != site.DefaultAttempts || s.Limit != site.DefaultAttempts || s.Cause != reconcile.Unsuccess || s.Reason == "" || s.Next.IsZero() {
			t.Fatalf("it stands at %+v", s)
		}
		w.machine.mu.Lock()
		w.machine.fail = nil
		w.machine.mu.Unlock()
		w.wait(2 * time.Hour)
		if l := w.loop("shop"); l.Phase != control.PhaseHelp {
			t.Fatalf("nobody has said anything, and it is %+v", l)
		}
		w.end()
		if err := folder.AskAgain("shop"); err != nil {
			t.Fatal(err)
		}
		w.mustStart()
		w.wait(time.Minute)
		w.expectConverged("shop", "1", at)
		if s := stands(); s.Phase != reconcile.Waiting || s.Condition != reconcile.Converged || s.Attempt() != 0 {
			t.Errorf("it stands at %+v", s)
		}
		w.end()
	})
}
