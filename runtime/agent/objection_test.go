package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
)

// awaitObjections waits, and gives what the agent objects.
func (w *world) awaitObjections(d time.Duration) []control.Objection {
	w.wait(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objections
}

// A host whose disk is full tells that it cannot keep what it is given, and why; once there is room it takes it up, and tells that no more.
func TestFullDiskIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustStart()
		w.wait(time.Minute)
		w.disk.setFull(true)
		at := w.assign("shop", "1")
		list := w.awaitObjections(2 * time.Minute)
		if len(list) != 1 || list[0].Site != "shop" || list[0].Position != at || list[0].Code != control.ObjectionStorage || !strings.Contains(list[0].Why, errFull.Error()) {
			t.Fatalf("it objects %+v", list)
		}
		w.disk.setFull(false)
		if list := w.awaitObjections(5 * time.Minute); len(list) != 0 {
			t.Errorf("it objects %+v", list)
		}
		w.expectConverged("shop", "1", at)
		w.disk.setFull(true)
		w.machine.drift("shop")
		w.wait(34 * time.Minute)
		if list := w.awaitObjections(0); len(list) != 1 || list[0].Site != "" || list[0].Code != control.ObjectionStorage {
			t.Errorf("nothing can be told, and it objects %+v", list)
		}
		w.disk.setFull(false)
		if list := w.awaitObjections(time.Minute); len(list) != 0 {
			t.Errorf("it objects %+v", list)
		}
		w.expectConverged("shop", "1", at)
		w.end()
	})
}

// A host whose clock is wrong tells so, once, and takes up what it is given when the clock is right.
func TestWrongClockIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		wrong := true
		w.clock = func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			if wrong {
				return time.Now().AddDate(30, 0, 0)
			}
			return time.Now()
		}
		w.mustStart()
		at := w.assign("shop", "1")
		list := w.awaitObjections(2 * time.Minute)
		if len(list) != 1 || list[0].Site != "shop" || list[0].Position != at || list[0].Code != control.ObjectionClock {
			t.Fatalf("it objects %+v", list)
		}
		w.mu.Lock()
		wrong = false
		w.mu.Unlock()
		if list := w.awaitObjections(5 * time.Minute); len(list) != 0 {
			t.Errorf("it objects %+v", list)
		}
		w.expectConverged("shop", "1", at)
		w.end()
	})
}
