package agent

import (
	"context"
	"encoding/json"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// tellRest tells what a former process has recorded of the agent's newest run, and was killed before it had told: events come into the stream
// a moment after they are recorded. Of an assignment that is not held any more the run is not gone on with: then that was its end.
func (k *keeper) tellRest(ctx context.Context, run *journal.Status, want *control.Assigned) error {
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
	if run.State != journal.Done && want != nil || told.ended {
		return nil
	}
	item.Ended, item.Counts, item.Report, item.Error = run.Ended, run.Counts, run.Report, run.Error
	if run.State != journal.Done {
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
