package cli

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/tenetcm/tenet/runtime/machine"
)

// interrupts is what signals do while hosts are at work.
type interrupts struct {
	handler   atomic.Pointer[func(os.Signal)] // nil: they end what runs here
	signals   atomic.Int32                    // so many came
	onlyLooks atomic.Bool                     // nothing runs here that would have to end
}

// endsQuietly lets a signal end what only looks at things, without a word about what runs, until the result is called.
func (s *client) endsQuietly() (stop func()) {
	s.interrupts.onlyLooks.Store(true)
	return func() { s.interrupts.onlyLooks.Store(false) }
}

// interruptible lets the first Ctrl-C end what the hosts do, and the second leave them to
// it. Any other signal leaves them at once: they go on.
func (v *fleetRun) interruptible(ctx context.Context) (_ context.Context, cancelled <-chan struct{}, done func()) {
	ctx, leave := context.WithCancelCause(ctx)
	cancel := make(chan struct{})
	handle := func(sig os.Signal) {
		n := v.interrupts.signals.Add(1)
		switch {
		case n == 1 && sig == syscall.SIGINT:
			close(cancel)
			const text = "interrupted: ending what runs on the hosts; once more leaves them to it"
			if v.view == nil { // nothing is shown yet
				v.noteHost("", text)
				return
			}
			v.view.Note("", machine.Note{Text: text})
		case n <= 2:
			leave(errInterrupted)
		default:
			os.Exit(exitInterrupted)
		}
	}
	v.interrupts.handler.Store(&handle)
	return ctx, cancel, func() {
		v.interrupts.handler.Store(nil)
		leave(nil)
	}
}

// wasInterrupted reports whether a signal has ended it.
func (v *fleetRun) wasInterrupted() bool { return v.interrupts.signals.Load() > 0 }
