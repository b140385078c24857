package runner

import (
	"context"
	"testing"

	"github.com/tenetcm/tenet/runtime/journal"
)

// A wish to cancel that comes before it is known which run is meant is not lost, and does
// not end the connection that is to tell what comes of it.
func TestWishBeforeItIsKnown(t *testing.T) {
	s, run, signals := underWay(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCancelled)
	w := newWish()
	if ctx = s.passes(ctx, func() { w.make(s.call) }); ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	w.bind(s.call, run.ID())
	<-signals
	w.make(s.call) // impatient
	<-signals
	if s.cancel(errLost); context.Cause(ctx) != errLost {
		t.Errorf("the end of the connection does not end it: %v", context.Cause(ctx))
	}
	if err := run.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
}
