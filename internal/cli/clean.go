package cli

import (
	"errors"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
)

type cleanCmd struct {
	ID        string `arg:"" optional:"" help:"ID of a run, or its beginning."`
	Keep      *int   `help:"Without an ID: how many of the latest runs stay (default: 1; with --older-than all)." placeholder:"N"`
	OlderThan *span  `help:"Without an ID: remove those that were started longer ago, but for the latest." placeholder:"30d"`
}

// Run removes records of runs. What is needed still stays, and is named.
func (cmd *cleanCmd) Run(ctx runContext, s *client) error {
	switch {
	case cmd.Keep != nil && *cmd.Keep < 0:
		return usage("", "--keep is a number of runs, not %d", *cmd.Keep)
	case cmd.OlderThan != nil && *cmd.OlderThan == 0:
		return usage("--keep 0 removes all", "--older-than is a time above zero")
	case cmd.ID != "" && (cmd.Keep != nil || cmd.OlderThan != nil):
		return usage("leave one out", "an ID names one run, and --keep and --older-than choose among all")
	}
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	hosts, x, err := s.about(ctx, cmd.ID)
	if err != nil {
		return err
	}
	if hosts != nil {
		return s.cleanHosts(ctx, cmd.ID, cmd.which(), hosts, x)
	}
	if cmd.ID != "" {
		out, err := local.Clean(cmd.ID)
		if err != nil {
			return s.ran(err)
		}
		return s.showCleaned(out)
	}
	out, err := local.CleanOld(cmd.which())
	if out == nil {
		return s.ran(err)
	}
	return errors.Join(s.ran(err), s.showCleaned(out))
}

// which says which records go, where no ID does.
func (cmd *cleanCmd) which() wire.Clean {
	c := wire.Clean{Keep: 1}
	if cmd.OlderThan != nil {
		c.Keep, c.OlderThan = -1, time.Duration(*cmd.OlderThan)
	}
	if cmd.Keep != nil {
		c.Keep = *cmd.Keep
	}
	return c
}

func (s *client) showCleaned(c *runner.Cleaned) error {
	if s.globals.JSON {
		return s.printJSON(c)
	}
	for _, id := range c.Removed {
		if err := s.print("removed", id); err != nil {
			return err
		}
	}
	for _, k := range c.Kept {
		if err := s.tell("kept    %s", k.Run+": "+ui.Clean(k.Reason())); err != nil {
			return err
		}
	}
	return nil
}
