package cli

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

type cleanCmd struct {
	ID        string `arg:"" optional:"" help:"ID of a run, or its beginning."`
	Keep      *int   `help:"Without an ID: how many of the latest runs stay (default: 1; with --older-than all)." placeholder:"N"`
	OlderThan *span  `help:"Without an ID: remove those that were started longer ago, but for the latest." placeholder:"30d"`
}

// unusedRunners is how long a runner that nobody uses stays on a host.
const unusedRunners = 30 * day

// hostRemovals is what was removed from a host, as JSON.
type hostRemovals struct {
	Host string `json:"host"`
	*machine.CleanResult
}

// Run removes records of runs: of one, of an execution, or of all that are not to be kept.
// What is needed still stays, and is named. From hosts go runners that nobody uses, too, and
// from here the record of an execution that is gone from all its hosts.
func (cmd *cleanCmd) Run(ctx runContext, s *client) error {
	switch {
	case cmd.Keep != nil && *cmd.Keep < 0:
		return usage("", "--keep is a number of runs, not %d", *cmd.Keep)
	case cmd.OlderThan != nil && *cmd.OlderThan == 0:
		return usage("--keep 0 removes all", "--older-than is a time above zero")
	case cmd.ID != "" && (cmd.Keep != nil || cmd.OlderThan != nil):
		return usage("leave one out", "an ID names one run, and --keep and --older-than choose among all")
	}
	t, x, err := s.recordTargets(ctx, cmd.ID)
	if err != nil {
		return err
	}
	which := cmd.request()
	if t.hasNames {
		which.Runners = unusedRunners
	}
	list, err := ask(ctx, s, t, askOne("clean", false, func(ctx context.Context, m *fleet.Member) (*machine.CleanResult, error) {
		return m.Clean(ctx, which)
	}))
	if err != nil {
		return err
	}
	if x != nil {
		for _, a := range list { // where there is nothing of it, it is clean
			if f := a.failure(); f != nil && f.Code == machine.CodeNotFound {
				a.outcome = fleet.Outcome{Machine: a.host.Name, Status: fleet.Done}
				a.value = &machine.CleanResult{Removed: []string{}, Kept: []*journal.NeededError{}}
			}
		}
	}
	if err := s.forgetExecution(x, t, common(list)); err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			return list[i].value, hostRemovals{list[i].host.Name, list[i].value}
		})
	}
	for _, a := range list {
		if a.value != nil {
			err = errors.Join(err, s.showRemovals(t, a))
		}
	}
	return errors.Join(unread(err), s.showFailures(t, common(list)))
}

// request says which records go.
func (cmd *cleanCmd) request() machine.CleanRequest {
	c := machine.CleanRequest{ID: cmd.ID, Keep: 1}
	if cmd.OlderThan != nil {
		c.Keep, c.OlderThan = -1, time.Duration(*cmd.OlderThan)
	}
	if cmd.Keep != nil {
		c.Keep = *cmd.Keep
	}
	return c
}

func (s *client) showRemovals(t *targets, a *answer[*machine.CleanResult]) (err error) {
	if !t.hasNames {
		for _, id := range a.value.Removed {
			err = errors.Join(err, s.print("removed", id))
		}
		for _, k := range a.value.Kept {
			err = errors.Join(err, s.tell("kept    %s", k.Run+": "+ui.Clean(k.Reason())))
		}
		return err
	}
	for _, run := range a.value.Removed {
		err = errors.Join(err, s.print(a.host.Name+": removed", ui.Line(run)))
	}
	for _, k := range a.value.Kept {
		err = errors.Join(err, s.tell("%s: kept    %s", a.host.Name, ui.Line(k.Error())))
	}
	for _, r := range a.value.Runners {
		err = errors.Join(err, s.tell("%s: removed the runner %s", a.host.Name, ui.Line(r)))
	}
	return err
}

// forgetExecution removes the record of an execution that is gone from all its hosts.
func (s *client) forgetExecution(x *fleet.Record, t *targets, list []*reply) error {
	if x == nil || len(list)+len(t.absent) != len(x.Hosts) {
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
	return failure(executions.Remove(x.ID))
}
