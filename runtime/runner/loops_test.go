package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Whoever asks over a connection is told where loops stand, and has tried again what has come to nothing, and no other.
func TestRetryOverTheWire(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.ask(wire.Request{Op: wire.OpApply}, files("20260101-000000-abcdef", 2))
	if h := m.ask(wire.Request{Op: wire.OpRetry}, nil); h.end.Failure != nil || string(h.data) != "null" {
		t.Errorf("without loops: %s, %+v", h.data, h.end.Failure)
	}
	folder := reconcile.In(m.runner.StateDir)
	for site, phase := range map[string]reconcile.Phase{"broken": reconcile.Help, "well": reconcile.Waiting} {
		s := reconcile.NewState(site, time.Now())
		s.Phase = phase
		if err := folder.Save(s); err != nil {
			t.Fatal(err)
		}
	}
	asked := func(site string) bool {
		t.Helper()
		is, err := folder.TakeAgain(site)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if h := m.ask(wire.Request{Op: wire.OpStatus}, nil); !strings.Contains(string(h.data), `"site":"broken","phase":"help"`) {
		t.Errorf("the status is %s", h.data)
	}
	if h := m.ask(wire.Request{Op: wire.OpRetry}, nil); h.end.Failure != nil || !strings.Contains(string(h.data), `"broken"`) || strings.Contains(string(h.data), `"well"`) {
		t.Errorf("%s, %+v", h.data, h.end.Failure)
	}
	if !asked("broken") || asked("broken") || asked("well") {
		t.Error("something else is tried again")
	}
	if h := m.ask(wire.Request{Op: wire.OpRetry, Site: "well"}, nil); h.end.Failure != nil || !asked("well") {
		t.Errorf("by its name: %+v", h.end.Failure)
	}
	if h := m.ask(wire.Request{Op: wire.OpRetry, Site: "../other"}, nil); h.end.Failure == nil || h.end.Failure.Code != machine.CodeNotFound {
		t.Errorf("an unknown one: %+v", h.end.Failure)
	}
}
