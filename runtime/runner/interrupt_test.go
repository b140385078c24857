package runner

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// underWay gives a session beside a run that this process carries out, so that wishes to
// cancel it come here as signals.
func underWay(t *testing.T) (s *session, run *journal.Run, signals chan os.Signal) {
	t.Helper()
	dir := t.TempDir()
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	run, err = folder.Start(t.Context(), journal.Meta{Run: &states.StateRun{Format: states.Format, Host: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	signals = make(chan os.Signal, 4)
	tell := func(pid int) error {
		if pid != os.Getpid() { // which has the lock
			t.Errorf("process %d is asked", pid)
		}
		signals <- syscall.SIGTERM
		return nil
	}
	c := &call{Runner: &Runner{StateDir: dir, terminate: tell}, observer: machine.Observer{Note: func(n machine.Note) { t.Error(n.Text) }}}
	return &session{call: c}, run, signals
}

// A wish to cancel reaches the process that carries the run out, and nobody else.
func TestInterrupt(t *testing.T) {
	s, run, signals := underWay(t)
	s.tryInterrupt("00000009-abcdef")
	s.tryInterrupt(run.ID())
	select {
	case <-signals:
	case <-time.After(time.Minute):
		t.Fatal("it is not told")
	}
	if err := run.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
	s.tryInterrupt(run.ID())
	select {
	case <-signals:
		t.Error("somebody is told who has nothing to do with it")
	case <-time.After(20 * time.Millisecond):
	}
}

// A process does not end itself, and with it all that it does besides, since two values of
// it share a state folder.
func TestInterruptOfThisProcess(t *testing.T) {
	s, run, _ := underWay(t)
	s.terminate = nil
	if err := s.interrupt(run.ID()); err == nil || !strings.Contains(err.Error(), "another Runner of this process") {
		t.Error(err)
	}
	if err := run.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
}
