package cli

import (
	"errors"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
)

type cleanCmd struct {
	ID        string `arg:"" optional:"" help:"ID of a run, or its beginning."`
	Keep      *int   `help:"Without an ID: how many of the latest runs stay (default: 1; with --older-than all)." placeholder:"N"`
	OlderThan *span  `help:"Without an ID: remove those that were started longer ago, but for the latest." placeholder:"30d"`
}

// cleaned is what was removed, as JSON.
type cleaned struct {
	Removed []string               `json:"removed"`
	Kept    []*journal.NeededError `json:"kept"` // though it was to go
}

// Run removes records of runs. What is needed still stays, and is named.
func (cmd *cleanCmd) Run(_ runContext, s *client) error {
	switch {
	case cmd.Keep != nil && *cmd.Keep < 0:
		return usage("", "--keep is a number of runs, not %d", *cmd.Keep)
	case cmd.OlderThan != nil && *cmd.OlderThan == 0:
		return usage("--keep 0 removes all", "--older-than is a time above zero")
	case cmd.ID != "" && (cmd.Keep != nil || cmd.OlderThan != nil):
		return usage("leave one out", "an ID names one run, and --keep and --older-than choose among all")
	}
	folder, err := s.existing()
	if err != nil || folder == nil {
		return err
	}
	if cmd.ID != "" {
		return s.cleanOne(folder, cmd.ID)
	}
	keep, olderThan := 1, time.Duration(0)
	if cmd.OlderThan != nil {
		keep, olderThan = -1, time.Duration(*cmd.OlderThan)
	}
	if cmd.Keep != nil {
		keep = *cmd.Keep
	}
	out := cleaned{Removed: []string{}, Kept: []*journal.NeededError{}}
	removed, kept, err := folder.CleanOld(keep, olderThan)
	out.Removed, out.Kept = append(out.Removed, removed...), append(out.Kept, kept...)
	return errors.Join(failed(err), s.showCleaned(out))
}

// cleanOne removes the record of one run.
func (s *client) cleanOne(folder *journal.Folder, id string) error {
	id, err := folder.Clean(id)
	if err == nil {
		return s.showCleaned(cleaned{Removed: []string{id}, Kept: []*journal.NeededError{}})
	}
	st := &status{code: exitFailed, err: err}
	if _, ok := errors.AsType[*journal.NeededError](err); ok {
		st.hint = "the next apply of its site deals with it; tenet status lists what is left"
	} else if errors.Is(err, journal.ErrNoRun) {
		st.hint = "tenet history lists the runs"
	}
	return st
}

func (s *client) showCleaned(c cleaned) error {
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
