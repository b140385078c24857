package runner

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A wish to cancel that comes before it is known which run is meant is not lost, and does
// not end the connection that is to tell what comes of it.
func TestWishBeforeItIsKnown(t *testing.T) {
	dir := t.TempDir()
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	run, err := folder.Start(t.Context(), journal.Meta{Run: &states.StateRun{Format: states.Format, Host: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 4) // this process has the lock
	signal.Notify(signals, syscall.SIGTERM)
	defer signal.Stop(signals)
	s := &session{Runner: &Runner{StateDir: dir, Note: func(n Note) { t.Error(n.Text) }}}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCancelled)
	w := &wish{made: make(chan struct{})}
	if ctx = s.passes(ctx, func() { w.make(s) }); ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	w.about(s, run.ID())
	<-signals
	w.make(s) // impatient
	<-signals
	if s.cancel(errLost); context.Cause(ctx) != errLost {
		t.Errorf("the end of the connection does not end it: %v", context.Cause(ctx))
	}
	if err := run.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
}
