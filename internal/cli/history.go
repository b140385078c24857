package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

type historyCmd struct{}

// Run lists the runs.
func (cmd *historyCmd) Run(_ runContext, s *client) error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	list, err := local.History()
	if err != nil {
		return s.ran(err)
	}
	if s.globals.JSON {
		runs := []journal.Status{}
		for _, past := range list {
			runs = append(runs, past.Status)
		}
		return s.printJSON(runs)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, run := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", run.Run, when(run.Started), run.State,
			cmp.Or(strings.Join(slices.Concat(sums(run.Counts), run.Undone), ", "), "-"), ui.Line(cmp.Or(run.Site, run.Origin)))
	}
	return failed(out.Flush())
}

func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// sums tells in short what a run did.
func sums(c *states.Counts) []string {
	if c == nil {
		return nil
	}
	var words []string
	for _, e := range []struct {
		n    int
		word string
	}{{c.Changed, "changed"}, {c.Failed, "failed"}, {c.Unknown, "unknown"}, {c.Blocked, "blocked"}, {c.Unchanged, "unchanged"}} {
		if e.n > 0 {
			words = append(words, fmt.Sprint(e.n, " ", e.word))
		}
	}
	return words
}

type runArg struct {
	ID string `arg:"" optional:"" help:"ID of a run, or its beginning (default: the latest)."`
}

type logsCmd struct{ runArg }

// Run shows the events of a run, and what its programs printed.
func (cmd *logsCmd) Run(ctx runContext, s *client) error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	var r ui.Renderer
	if s.globals.JSON {
		r = ui.JSON(s.Out)
	} else {
		r = ui.Text(s.Out, ui.TextOptions{Color: s.color(s.Out), Verbose: s.globals.Verbose, Quiet: s.globals.Quiet})
	}
	for ev, err := range local.Events(ctx, cmd.ID, 0, false) {
		if err != nil {
			return s.ran(err)
		}
		r.Event(ev)
	}
	if err := r.Close(); err != nil || s.globals.JSON || s.globals.Quiet {
		return failed(err)
	}
	list, err := local.Outputs(cmd.ID)
	if err != nil {
		return s.ran(err)
	}
	for _, o := range list {
		if err := s.print("\n" + ui.Clean(o.Name) + ":\n" + strings.TrimSuffix(ui.Clean(o.Text), "\n")); err != nil {
			return err
		}
	}
	return nil
}
