package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// unusedRunners is how long a runner that nobody uses stays on a host.
const unusedRunners = 30 * day

// hostCleaned is what was removed from a host, as JSON.
type hostCleaned struct {
	Host string `json:"host"`
	*runner.Cleaned
}

// cleanHosts removes records of runs on hosts: of one, of an execution, or of all that
// are not to be kept. With it go runners that nobody uses. The record of an execution
// goes from here once it is gone from all its hosts.
func (s *client) cleanHosts(ctx context.Context, id string, c wire.Clean, m *meant, x *fleet.Record) error {
	c.Runners = unusedRunners
	list, err := s.askHosts(ctx, m, question{request: &wire.Request{Op: wire.OpClean, ID: id, Clean: &c}})
	if err != nil {
		return err
	}
	if x != nil {
		for _, a := range list { // where there is nothing of it, it is clean
			if f := a.failure(); f != nil && f.Code == wire.CodeNotFound {
				a.outcome = fleet.Outcome{Machine: a.host.Name, Status: fleet.Done}
				a.data = append(a.data, []byte(`{"removed":[],"kept":[]}`))
			}
		}
	}
	found := answersOf[runner.Cleaned](list)
	if err := s.forgetExecution(x, m, list); err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(list, func(i int) (any, error) { return hostCleaned{list[i].host.Name, found[i]}, nil })
	}
	for i, a := range list {
		if found[i] == nil {
			continue
		}
		for _, run := range found[i].Removed {
			err = errors.Join(err, s.print(a.host.Name+": removed", ui.Line(run)))
		}
		for _, k := range found[i].Kept {
			err = errors.Join(err, s.tell("%s: kept    %s", a.host.Name, ui.Line(k.Error())))
		}
		for _, r := range found[i].Runners {
			err = errors.Join(err, s.tell("%s: removed the runner %s", a.host.Name, ui.Line(r)))
		}
	}
	return errors.Join(unread(err), s.concluded(list))
}

// forgetExecution removes the record of an execution that is gone from all its hosts.
func (s *client) forgetExecution(x *fleet.Record, m *meant, list []*answer) error {
	if x == nil || len(list)+len(m.untouched) != len(x.Hosts) {
		return nil
	}
	for _, a := range list {
		if a.failure() != nil {
			return nil
		}
	}
	executions, err := s.executions()
	if err != nil {
		return err
	}
	return failed(executions.Remove(x.ID))
}

// hostHold is a hold on a host, as JSON.
type hostHold struct {
	Host string        `json:"host"`
	Hold *journal.Hold `json:"hold"`
}

// hostReleased is a hold that was ended, as JSON.
type hostReleased struct {
	Host     string        `json:"host"`
	Released *journal.Hold `json:"released"` // nil: there was none
}

// holdHosts lets nobody apply on hosts, or, with nil, lets applies start again.
func (s *client) holdHosts(ctx context.Context, hold *wire.Hold) error {
	m, err := s.fleetOf(ctx)
	if err != nil {
		return err
	}
	request := &wire.Request{Op: wire.OpHold, Hold: hold}
	if hold == nil {
		request.Op = wire.OpRelease
	}
	list, err := s.askHosts(ctx, m, question{request: request})
	if err != nil {
		return err
	}
	found := answersOf[*journal.Hold](list)
	if s.globals.JSON {
		return s.printAnswers(list, func(i int) (any, error) {
			if hold == nil {
				return hostReleased{list[i].host.Name, *found[i]}, nil
			}
			return hostHold{list[i].host.Name, *found[i]}, nil
		})
	}
	var said alike
	for i, a := range list {
		if found[i] == nil {
			continue
		}
		was := cmp.Or(*found[i], &journal.Hold{})
		switch {
		case hold != nil:
			said.add(a.host.Name, "on hold: "+was.Reason+untilWhen(was.Until))
		case *found[i] == nil:
			said.add(a.host.Name, "nothing was on hold")
		default:
			said.add(a.host.Name, fmt.Sprintf("released, after it was on hold since %s: %s", when(was.Since), was.Reason))
		}
	}
	for _, text := range said.order {
		err = errors.Join(err, s.tell("%s %s", s.title(said.hosts[text]), ui.Line(text)))
	}
	return errors.Join(err, s.concluded(list))
}

func untilWhen(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", until " + when(t)
}

// forgetHosts lets go of what a site has created on hosts, and of what handlers are owed.
func (s *client) forgetHosts(ctx context.Context, cmd *forgetCmd) error {
	m, err := s.fleetOf(ctx)
	if err != nil {
		return err
	}
	list, err := s.askHosts(ctx, m, question{
		request: &wire.Request{Op: wire.OpForget, Names: cmd.Addresses, Site: cmd.Site, LockTimeout: time.Duration(cmd.LockTimeout)},
	})
	if err != nil {
		return err
	}
	found := answersOf[[]states.Event](list)
	for i, a := range list {
		if found[i] == nil {
			if s.globals.JSON {
				err = errors.Join(err, s.printLine(hostError{a.host.Name, a.failure()}))
			}
			continue
		}
		for _, ev := range *found[i] {
			if ev.Host = a.host.Name; s.globals.JSON {
				err = errors.Join(err, s.printLine(ev))
			} else {
				err = errors.Join(err, s.tell("%s: %s", a.host.Name, ui.Line(ev.Reason)))
			}
		}
	}
	return errors.Join(err, s.concluded(list))
}
