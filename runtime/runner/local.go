package runner

import (
	"context"
	"io"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Local gives what dials a runner in this process: a machine of a fleet that the fleet
// runs on. What it does ends with the connection, since it would not outlive the process.
func Local(r *Runner) func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	return func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		toRunner, fromController := io.Pipe()
		toController, fromRunner := io.Pipe()
		run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		done := make(chan error, 1)
		hangUp := func(err error) {
			for _, p := range []*io.PipeReader{toRunner, toController} {
				p.CloseWithError(err)
			}
		}
		fault.Go(func() {
			err := fault.Do(func() error { return Serve(run, wire.New(toRunner, fromRunner, nil), o, r) })
			fromRunner.CloseWithError(err)
			toRunner.CloseWithError(io.ErrClosedPipe)
			done <- err
		})
		end := sync.OnceValue(func() error {
			cancel(errLost)
			fromController.Close()
			hangUp(io.ErrClosedPipe)
			<-done // whose error has been told, or is about a connection that nobody needs
			return nil
		})
		c := wire.New(toController, fromController, end)
		stop := context.AfterFunc(ctx, func() { hangUp(context.Cause(ctx)) })
		defer stop()
		var hello wire.Hello
		if err := c.Expect(wire.KindHello, &hello); err != nil {
			return nil, nil, journal.Join(err, end())
		}
		return c, &hello, nil
	}
}
