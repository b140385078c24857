package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// turn is one look at the host for a site, and what comes of it.
type turn struct {
	keeper  *keeper
	agent   *Agent
	want    *control.Assigned
	applied bool
	attempt int
	help    bool
	gone    bool
	outputs map[string]json.RawMessage // that the host gives to others
}

// take looks, and applies what is to be done. It gives how long to wait until the next turn.
func (t *turn) take(ctx context.Context) time.Duration {
	if t.want.Absent {
		return t.remove(ctx)
	}
	job, err := t.agent.job(ctx, t.want)
	if err != nil {
		return t.later(err)
	}
	for range maxRounds {
		t.say(control.PhaseDiscovering, control.ConditionUnknown, "", 0)
		todo, err := t.discover(ctx, job)
		if err != nil {
			return t.later(err)
		}
		if !todo && t.applied {
			return t.converged()
		}
		if t.help {
			return t.wait(control.PhaseHelp, control.ConditionFailed, "it has failed too often with what is wanted now")
		}
		if err := t.keeper.count(t.want, t.attempt+1); err != nil {
			return t.later(err)
		}
		if err := t.apply(ctx, job); err != nil {
			return t.failed(err)
		}
		t.applied = true
	}
	return t.failed(fmt.Errorf("after %d rounds the host still differs from what is wanted", maxRounds))
}

// converged ends a turn after which the host is as wanted.
func (t *turn) converged() time.Duration {
	t.attempt, t.help = 0, false
	t.keeper.tellOutputs(t.want.Site, t.outputs)
	return t.wait(control.PhaseWaiting, control.ConditionConverged, "")
}

// wait ends a turn until the host is looked at again.
func (t *turn) wait(p control.Phase, c control.Condition, reason string) time.Duration {
	next := t.keeper.poll()
	t.say(p, c, reason, next)
	return next
}

// later ends a turn in which nothing could be tried: it does not count as an attempt, since a server or a disk that is away says nothing of
// what is wanted.
func (t *turn) later(err error) time.Duration {
	if diag.CodeOf(err) == machine.CodeLocked {
		t.say(control.PhaseBlocked, control.ConditionUnknown, err.Error(), blockedFor)
		return blockedFor
	}
	next := t.keeper.backoff(laterBackoff)
	t.say(control.PhaseRetrying, control.ConditionUnknown, err.Error(), next)
	return next
}

// failed ends a turn whose apply came to nothing.
func (t *turn) failed(err error) time.Duration {
	if diag.CodeOf(err) == machine.CodeLocked {
		return t.later(err)
	}
	t.attempt++
	if t.attempt >= maxAttempts {
		t.help = true
		return t.wait(control.PhaseHelp, control.ConditionFailed, err.Error())
	}
	next := t.keeper.backoff(t.attempt)
	t.say(control.PhaseRetrying, control.ConditionFailed, err.Error(), next)
	return next
}

// say tells where the loop stands.
func (t *turn) say(p control.Phase, c control.Condition, reason string, next time.Duration) {
	l := control.Loop{Site: t.want.Site, Position: t.want.Position, Revision: t.want.Revision, Phase: p, Condition: c, Reason: diag.Clean(reason, "\n", '�'), Attempt: t.attempt}
	if t.attempt > 0 {
		l.Attempts = maxAttempts
	}
	if next > 0 {
		l.Next = t.agent.Clock().Add(next).UTC().Truncate(time.Second)
	}
	t.keeper.say(t.want, l)
}

// discover plans, and tells whether there is something to do: a certain row of a resource, or an owed handler.
func (t *turn) discover(ctx context.Context, job *machine.Job) (todo bool, err error) {
	planned := *job
	planned.Keeper = true
	result, err := t.agent.Machine.Plan(ctx, &planned, machine.Observer{Event: func(ev states.Event) {
		certain := ev.Certain == nil || *ev.Certain
		if ev.Type == states.EventPart && certain && (ev.Action == states.Create || ev.Action == states.Update || ev.Action == states.Remove) {
			todo = true
		}
	}})
	if err == nil {
		err = t.give(result)
	}
	if err != nil {
		return false, err
	}
	status, err := t.agent.Machine.Status(ctx, "")
	if err != nil {
		return false, err
	}
	return todo || len(status.Owed) > 0, nil
}

// executionPrefix begins the names of what agents carry out by themselves.
const executionPrefix = "agent-"

// executionOf names one attempt at an assignment.
func executionOf(want *control.Assigned) string {
	return executionPrefix + trust.DigestOf(want.Signed.Content).String()[:16] + "-" + strings.ToLower(rand.Text()[:8])
}

// apply carries the job out.
func (t *turn) apply(ctx context.Context, job *machine.Job) error {
	t.say(control.PhaseApplying, control.ConditionUnknown, "", 0)
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("it has taken longer than %v", deadline))
	defer cancel()
	started := t.agent.Clock().UTC()
	event, begun := t.agent.teller.observe(t.want.Site, t.want, started)
	doing := *job
	doing.Execution, doing.Keeper = executionOf(t.want), true
	var run string
	result, err := t.agent.Machine.Apply(ctx, &doing, machine.Observer{Event: event, Started: func(s machine.Started) {
		run = s.Run
		begun(run)
	}})
	return errors.Join(t.ended(run, started, result, err), t.give(result))
}

// ended tells how a run ended, and why it counts as a failure if it does.
func (t *turn) ended(run string, started time.Time, result *machine.Result, err error) error {
	if result != nil && run == "" {
		run = result.Run
	}
	if run != "" {
		told := control.Run{Site: t.want.Site, Run: run, Position: t.want.Position, Revision: t.want.Revision, Started: started, Ended: t.agent.Clock().UTC(), Failed: err != nil}
		if result != nil {
			told.Failed, told.Counts, told.Report = told.Failed || result.Failed, &result.Counts, result.Report
		}
		if err != nil {
			told.Error = err.Error()
		}
		t.keeper.ended(&told)
		t.agent.teller.tell(control.Item{Run: &told})
	}
	switch {
	case err != nil:
		return err
	case result.Rebooting:
		return errors.New("the host starts anew, and goes on after that")
	case result.Interrupted:
		return errors.New("the run was interrupted")
	case result.Failed:
		return failedParts(result.Report, result.Counts.Failed)
	}
	return nil
}

// failedParts names the first part that has failed, and says how many others have.
func failedParts(r *states.Report, count int) error {
	for i := 0; r != nil && i < len(r.Parts); i++ {
		p := &r.Parts[i]
		if p.Error == nil {
			continue
		}
		message, _, _ := strings.Cut(p.Error.Message, "\n")
		if count > 1 {
			message += fmt.Sprintf(" (and %d more)", count-1)
		}
		return fmt.Errorf("%s: %s", p.Address, message)
	}
	return fmt.Errorf("%d parts have failed", count)
}

// remove removes what the site has created: a signed absence says so.
func (t *turn) remove(ctx context.Context) time.Duration {
	t.say(control.PhaseRemoving, control.ConditionUnknown, "", 0)
	job := &machine.Job{Run: &states.StateRun{Format: states.Format, Site: t.want.Site, Host: t.agent.Identity.Name(), Prune: true}, Files: noFiles{}}
	if err := t.keeper.count(t.want, t.attempt+1); err != nil {
		return t.later(err)
	}
	if err := t.apply(ctx, job); err != nil {
		return t.failed(err)
	}
	// The absence stays held: nothing that was signed before it counts again.
	t.say(control.PhaseGone, control.ConditionUnknown, "", 0)
	t.gone, t.attempt = true, 0
	return 0
}

// noFiles holds no file.
type noFiles struct{}

// Open finds nothing.
func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
