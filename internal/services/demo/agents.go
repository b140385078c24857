package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/server/api/client"
)

// retryAfter is about how long it is until an agent tries again what has failed.
const retryAfter = 300 * time.Millisecond

// poll is how often agents look at their machines: where there are many, less often, so that they leave the computer to others.
func (d *Demo) poll() time.Duration {
	return max(20*time.Second, time.Duration(d.Count)*250*time.Millisecond)
}

// atOnce is how many machines join at a time.
const atOnce = 8

// agent is that of one machine. Of its fields but machine and host those are touched by one goroutine at a time.
type agent struct {
	machine
	host   *host.Memory
	state  string
	cancel context.CancelFunc // nil: it does not run
	ended  chan struct{}
}

// addMachines makes the machines, has them join, and starts their agents.
func (d *Demo) addMachines(ctx context.Context) error {
	for _, m := range d.machines {
		d.agents[m.name] = &agent{machine: m, state: filepath.Join(d.Dir, "machines", m.name)}
	}
	if some := d.leavers(); len(some) > 0 { // it was switched off when nobody looked
		d.away = some[:1]
	}
	places := make(chan struct{}, atOnce)
	errs := make(chan error, len(d.machines))
	var wait fault.Group
	for _, m := range d.machines {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			if err := d.addMachine(ctx, d.agents[m.name]); err != nil {
				errs <- fmt.Errorf("%s: %w", m.name, err)
			}
		})
	}
	wait.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	return await(ctx, "the machines are connected", func() (bool, error) {
		st, err := d.as(d.Admin).Status(ctx, "", "")
		return st.Reachability["connected"] >= len(d.machines)-len(d.away), err
	})
}

// addMachine has a machine join by a token that is for it alone.
func (d *Demo) addMachine(ctx context.Context, a *agent) error {
	t, err := d.as(d.Admin).AddToken(ctx, client.TokenRequest{Note: "made with the machine", Auto: true, Names: a.name, Labels: a.labels, Reason: "the machine was set up"})
	if err != nil {
		return err
	}
	if a.host, err = newMachine(ctx, a.name); err != nil {
		return err
	}
	i, err := join(ctx, a.state, t.Secret, identity.Joining{Name: a.name, Labels: a.labels})
	if err != nil {
		return err
	}
	if err := i.Close(); err != nil {
		return err
	}
	if slices.Contains(d.away, a) {
		return renew(ctx, a.state)
	}
	d.start(ctx, a)
	return nil
}

// join asks the server to take a machine in.
func join(ctx context.Context, state, token string, j identity.Joining) (*identity.Identity, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	return daemon.Join(ctx, state, token, j)
}

// start starts the agent of a machine, unless it runs.
func (d *Demo) start(ctx context.Context, a *agent) {
	if a.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	a.cancel, a.ended = cancel, make(chan struct{})
	d.group.Go(func() {
		defer close(a.ended)
		err := daemon.Run(ctx, daemon.Options{StateDir: a.state, Host: a.host, Registry: modules.Standard(), Version: d.Version, Name: "tenet", Volatile: true, Poll: d.poll(), Retry: retryAfter,
			Log: func(text string) { d.Log(a.name + ": " + text) }})
		if err != nil && ctx.Err() == nil {
			d.Log(a.name + ": " + err.Error())
		}
	})
}

// stop ends the agent of a machine, as when the machine is switched off.
func (a *agent) stop() {
	if a.cancel != nil {
		a.cancel()
		<-a.ended
		a.cancel = nil
	}
}

// leavers are machines that are away now and then: of kinds of which there are several, the last one.
func (d *Demo) leavers() (all []*agent) {
	for _, kind := range []string{"mon", "web", "db"} {
		if names := named(d.machines, kind); len(names) > 1 && names[len(names)-1] != d.pinned() {
			all = append(all, d.agents[names[len(names)-1]])
		}
	}
	return all
}

// comeAndGo has a machine leave, and the one return that has been away for longest, if there are two. A server takes a machine for lost after three minutes.
func (d *Demo) comeAndGo(ctx context.Context) error {
	some := d.leavers()
	if len(some) < 3 {
		return nil
	}
	if len(d.away) > 1 {
		d.start(ctx, d.away[0])
		d.away = d.away[1:]
	}
	next := some[d.count("away")%len(some)]
	next.stop()
	d.away = append(d.away, next)
	return nil
}
