package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
)

// Try is what a program does beside the agent of its host, before it follows that: it reads the agent's records, plans what is held, and says Hello to
// the server. It changes nothing. It waits for the server for as long as it takes, until the context ends.
func Try(ctx context.Context, o Options) error {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.open == nil {
		o.open = openShadow
	}
	a := &Agent{Options: o, start: time.Now(), isTrial: true, telling: make(chan struct{}, 1), turns: map[string]awaitedTurn{}}
	if err := a.openRecords(); err != nil {
		return fmt.Errorf("the records of the agent: %w", errors.Join(err, a.close()))
	}
	err := a.planHeld(ctx)
	if err == nil {
		err = a.greet(ctx)
	}
	return errors.Join(err, a.close())
}

// planHeld plans what is held and at hand.
func (a *Agent) planHeld(ctx context.Context) error {
	for _, site := range slices.Sorted(maps.Keys(a.core.Held)) {
		want := a.core.Held[site]
		if want.Absent {
			continue
		}
		sealed, err := os.ReadFile(filepath.Join(a.Dir, sealedDir, want.Bundle.SHA256.String()))
		if errors.Is(err, fs.ErrNotExist) { // it was never fetched, or is fetched now
			continue
		}
		if err != nil {
			return err
		}
		b, err := a.store().Look(sealed, a.Unsealing()...)
		if damaged, ok := errors.AsType[*bundle.DamagedError](err); ok && damaged.Gone {
			continue
		}
		if err != nil {
			return fmt.Errorf("what is wanted of the site %s cannot be opened: %w", site, err)
		}
		job := b.Job()
		if job.Keeper = true; len(job.Modules) > 0 {
			if job.Registry, err = runner.Modules(a.Registry, job.Files, job.Modules); err != nil {
				return fmt.Errorf("the modules of the site %s: %w", site, err)
			}
		}
		if _, err := a.Machine.Plan(ctx, job, machine.Observer{}); err != nil {
			return fmt.Errorf("the site %s cannot be planned: %w", site, err)
		}
	}
	return nil
}

// greet says Hello, and waits for the answer.
func (a *Agent) greet(ctx context.Context) error {
	done := make(chan error, 1)
	end := func(err error) {
		select {
		case done <- err:
		default:
		}
	}
	say := func(f func() control.Output) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, m := range f().Send {
			if hello, ok := m.(*control.Hello); ok {
				_ = a.send(hello) // it is said again
			}
		}
	}
	l, err := a.Connect(link.Handler{
		Connected: func() { say(func() control.Output { return a.core.Connect(a.now()) }) },
		Disconnected: func(error) {
			a.mu.Lock()
			a.core.Disconnect()
			a.mu.Unlock()
		},
		Receive: func(p link.Packet) {
			if p.Session != "" {
				return
			}
			m, err := control.Decode(p.Data)
			if err != nil {
				end(err)
				return
			}
			a.mu.Lock()
			out := a.core.Receive(a.now(), m)
			isAnswered, session := a.core.Answered(), a.core.Session()
			a.mu.Unlock()
			refusal, isRefusal := m.(*control.Refusal)
			switch {
			case isRefusal && refusal.Session == session:
				end(fmt.Errorf("the server refuses it: %.500s", refusal.Why))
			case len(out.Refused) > 0:
				end(out.Refused[0])
			case isAnswered:
				end(nil)
			}
		},
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.link = l
	early := a.core.Session() != ""
	a.mu.Unlock()
	if early {
		say(func() control.Output { return a.core.Connect(a.now()) })
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), l.Close())
		case err := <-done:
			return errors.Join(err, l.Close())
		case <-ticker.C:
			say(func() control.Output { return a.core.Tick(a.now()) })
		}
	}
}
