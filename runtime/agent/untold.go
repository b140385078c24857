package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// resume takes up what a former process was in the midst of: it tells what that has not told. Runs of the agent's own are gone on with by their loops.
func (k *keeper) resume(ctx context.Context) error {
	a := k.agent
	status, err := a.Machine.Status(ctx, "")
	if err != nil {
		if _, nothing := errors.AsType[*machine.NothingError](err); nothing {
			return nil
		}
		return err
	}
	if status.Status == nil {
		return nil
	}
	if !strings.HasPrefix(status.Execution, executionPrefix) {
		return k.resumeOther(ctx, status.Status)
	}
	digest, _, _ := strings.Cut(strings.TrimPrefix(status.Execution, executionPrefix), "-")
	if err := k.tellRest(ctx, status.Status, a.assigned(digest), k.goesOn(status.Execution)); err != nil {
		return fmt.Errorf("what the run %s has done cannot be told: %w", status.Run, err)
	}
	return nil
}

// goesOn tells whether a loop is in the midst of an execution.
func (k *keeper) goesOn(execution string) bool {
	return slices.ContainsFunc(k.all(), func(s *siteLoop) bool {
		if s.loop == nil {
			return false
		}
		state := s.loop.State()
		return state.Execution == execution && !state.Phase.IsRest()
	})
}

// resumeOther goes on with a run that somebody else has begun by this agent, and that has had the host start anew.
func (k *keeper) resumeOther(ctx context.Context, was *journal.Status) error {
	if was.State != journal.Rebooting {
		return nil
	}
	if _, err := k.agent.Machine.Resume(ctx, machine.Resumption{Run: machine.RunRef{ID: was.Run}, Keeper: true}, machine.Observer{}); err != nil {
		return fmt.Errorf("the run %s that has had this host start anew: %w", was.Run, err)
	}
	return nil
}

// tellRest tells what a former process has recorded of the agent's newest run, and was killed before it had told: events come into the stream
// a moment after they are recorded. Where nobody goes on with the run, that was its end.
func (k *keeper) tellRest(ctx context.Context, run *journal.Status, want *control.Assigned, goesOn bool) error {
	a := k.agent
	told, err := a.toldOf(run.Run)
	if err != nil || !told.any && want == nil {
		return err
	}
	item := control.Run{Site: run.Site, Run: run.Run, Started: run.Started}
	if want != nil {
		item.Position, item.Revision = want.Position, want.Revision
	}
	if begun := item; !told.any {
		a.teller.tell(control.Item{Run: &begun})
	}
	request := machine.LogRequest{Run: machine.RunRef{ID: run.Run, After: told.seq}}
	if _, err := a.Machine.Logs(ctx, request, machine.Observer{Event: func(ev states.Event) {
		if ev.Seq > told.seq {
			a.teller.event(run.Site, run.Run, ev)
		}
	}}); err != nil {
		return err
	}
	hasEnded := run.State == journal.Done || run.State == journal.Failed
	if !hasEnded && goesOn || told.ended {
		return nil
	}
	item.Ended, item.Counts, item.Report, item.Error = run.Ended, run.Counts, run.Report, run.Error
	if !hasEnded {
		item.Ended, item.Error = a.Clock().UTC(), "the agent was ended, and something else is wanted since"
	}
	item.Failed = item.Error != "" || run.Counts != nil && run.Counts.Failed > 0
	a.teller.tell(control.Item{Run: &item})
	return nil
}

// toldRun is what the stream has of a run.
type toldRun struct {
	any, ended bool
	seq        int64 // of the last event
}

// toldOf looks from the end of the stream on for what it has of the newest run.
func (a *Agent) toldOf(run string) (told toldRun, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.stream.queue
	for n := q.Last(); n >= q.First() && n > 0; n-- {
		items, err := a.stream.read(n, n)
		if err != nil {
			return told, err
		}
		item, err := control.ParseItem(items[0])
		if err != nil {
			continue // of another version of the program
		}
		switch {
		case item.Run != nil && item.Run.Run == run:
			told.any = true
			if item.Run.Ended.IsZero() {
				return told, nil
			}
			told.ended = true
		case item.Event != nil && item.Event.Run == run:
			var ev struct{ Seq int64 }
			told.any, err = true, json.Unmarshal(item.Event.Event, &ev)
			told.seq = ev.Seq
			return told, err
		case item.Run != nil, item.Event != nil: // of an earlier one
			return told, nil
		}
	}
	return told, nil
}
