package remote_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/machine/machinetest"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
)

// A machine behind a connection is one like any other: where what it does ends with the
// connection, and where it goes on without it.
func TestMachine(t *testing.T) {
	for name, dial := range map[string]func(*testing.T, *runner.Runner) remote.Dial{
		"in this process": func(_ *testing.T, r *runner.Runner) remote.Dial { return runner.Local(r) },
		"by itself":       independent,
	} {
		t.Run(name, func(t *testing.T) {
			machinetest.Run(t, func(t *testing.T) machinetest.Subject {
				h, err := host.NewLocal(host.LocalOptions{})
				if err != nil {
					t.Fatal(err)
				}
				r := &runner.Runner{Host: h, StateDir: t.TempDir() + "/state", Registry: modules.Standard(), Program: "test"}
				way := dial(t, r)
				another := func() machine.Machine {
					return &remote.Machine{Name: "subject", Dial: way, Caller: machine.Caller{User: "alice"}, Registry: modules.Standard()}
				}
				return machinetest.Subject{
					Machine: another(), Another: another, Dir: t.TempDir(), Files: machinetest.LocalFiles{}, Outlives: name == "by itself",
				}
			})
		})
	}
}

// independent dials a runner that goes on when its connection breaks, as one does that is a
// process of its own. The test waits for its end.
func independent(t *testing.T, r *runner.Runner) remote.Dial {
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	return func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
		toRunner, fromController := io.Pipe()
		toController, fromRunner := io.Pipe()
		serving.Go(func() {
			// Its error is of the connection, whose other end has it as well.
			_ = runner.Serve(context.WithoutCancel(ctx), wire.New(toRunner, fromRunner, nil), o, r)
			fromRunner.Close()
		})
		c := wire.New(toController, fromController, func() error {
			return errors.Join(fromController.Close(), toController.Close())
		})
		t.Cleanup(func() { c.Close() })
		var hello wire.Hello
		if err := c.Expect(wire.KindHello, &hello); err != nil {
			return nil, nil, err
		}
		return c, &hello, nil
	}
}

// A connection that is being made for a request ends when that is cancelled, and nothing is
// asked.
func TestCancelWhileConnecting(t *testing.T) {
	dialing := make(chan struct{})
	m := &remote.Machine{Name: "subject", Dial: func(ctx context.Context, _ wire.Opening) (*wire.Conn, *wire.Hello, error) {
		close(dialing)
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}}
	failed := make(chan error, 1)
	go func() {
		_, err := m.Status(t.Context(), "")
		failed <- err
	}()
	<-dialing
	if err := m.Cancel(t.Context(), machine.RunRef{}); err != nil {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*machine.Error](<-failed); !ok || e.Code != machine.CodeInterrupted || e.Machine != "subject" {
		t.Errorf("it ends with %+v", e)
	}
}

// Who follows a run wants it to end: the wish waits for the connection that it is sent over.
func TestCancelWhileConnectingToFollow(t *testing.T) {
	dialing, goOn := make(chan struct{}), make(chan struct{})
	m := &remote.Machine{Name: "subject", Dial: func(ctx context.Context, _ wire.Opening) (*wire.Conn, *wire.Hello, error) {
		close(dialing)
		<-goOn
		return nil, nil, cmp.Or(ctx.Err(), errors.New("refused"))
	}}
	failed := make(chan error, 1)
	go func() {
		_, err := m.Follow(t.Context(), machine.RunRef{ID: "00000001-abcdef"}, machine.Observer{})
		failed <- err
	}()
	<-dialing
	if err := m.Cancel(t.Context(), machine.RunRef{}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-failed; err == nil || err.Error() != "refused" {
		t.Errorf("the connection was given up: %v", err)
	}
}
