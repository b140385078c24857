package agent

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/programs"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
)

// release has the host run a release from now on, of which the agent learns with its next sign of life; empty: whatever it runs.
func (w *world) release(version string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.host.Release = nil
	if version == "" {
		return
	}
	data := []byte(version)
	program := trust.Content{SHA256: trust.DigestOf(data), Size: int64(len(data))}
	w.contents[program.SHA256] = data
	signed, err := trust.Sign(trust.KindRelease, trust.Release{Format: trust.ReleaseFormat, Version: version, Programs: []trust.Program{
		{Name: "tenet", OS: "linux", Arch: "amd64", Content: program}}}, w.server)
	if err != nil {
		w.t.Fatal(err)
	}
	w.host.Release = &control.Release{Offer: control.Offer{Number: 1, Release: signed}, Version: version}
}

// A host that waits, as for the end of a hold, does not follow a release that was taken back meanwhile; and it follows one that was not.
func TestReleaseIsWithdrawn(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.programs = programs.In(filepath.Join(w.dir, "agent"))
			held := machine.NewStatus()
			held.Hold = &journal.Hold{Reason: "work"}
			w.machine.pending = held
			w.mustStart()
			defer func() { w.end() }()
			w.wait(time.Minute)
			w.release("v1.1.0")
			w.wait(5 * time.Minute)
			var told *control.Update
			for _, i := range w.told() {
				if i.Update != nil {
					told = i.Update
				}
			}
			if told == nil || told.Phase != control.UpdateWaiting {
				t.Fatalf("it does not wait: %+v %v", told, w.logs)
			}
			if withdrawn {
				w.release("")
			}
			w.wait(5 * time.Minute)
			w.machine.mu.Lock()
			w.machine.pending = nil
			w.machine.mu.Unlock()
			w.wait(time.Hour)
			w.mu.Lock()
			defer w.mu.Unlock()
			if (len(w.tries) == 0) != withdrawn {
				t.Errorf("withdrawn: %v, and it tries %q", withdrawn, w.tries)
			}
		})
	}
}
