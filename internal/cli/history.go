package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

type historyCmd struct {
	Executions bool `help:"List only what was done from here on hosts."`
}

// Run lists the runs, and what was done from here on hosts.
func (cmd *historyCmd) Run(ctx runContext, s *client) error {
	switch {
	case s.onHosts() && cmd.Executions:
		return usage("leave one out", "--executions is about this machine, and --limit and --inventory about others")
	case s.onHosts():
		return s.historyOfHosts(ctx)
	case cmd.Executions:
		return s.showExecutions(false)
	}
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
		of := cmp.Or(run.Site, run.Origin)
		if run.Execution != "" {
			of += "  (execution " + run.Execution + ")"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", run.Run, when(run.Started), run.State,
			cmp.Or(strings.Join(slices.Concat(sums(run.Counts), run.Undone), ", "), "-"), ui.Line(of))
	}
	if err := out.Flush(); err != nil {
		return failed(err)
	}
	return s.showExecutions(len(list) > 0)
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

type logsCmd struct {
	runArg
	Follow bool `short:"f" help:"Go on until the run ends."`
}

// Run shows the events of a run, and what its programs printed.
func (cmd *logsCmd) Run(ctx runContext, s *client) error {
	var err error
	if cmd.ID, err = s.named(cmd.ID); err != nil {
		return err
	}
	switch hosts, _, err := s.about(ctx, cmd.ID); {
	case err != nil:
		return err
	case hosts != nil:
		return s.logsOfHosts(ctx, cmd, hosts)
	}
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
	for ev, err := range local.Events(ctx, cmd.ID, 0, cmd.Follow) {
		if ctx.Err() != nil { // the run goes on
			return errors.Join(r.Close(), &status{code: exitInterrupted})
		}
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
		if err := s.print(printed(o)); err != nil {
			return err
		}
	}
	return nil
}

// printed is what a part's program has printed, below its name.
func printed(o runner.Output) string {
	return "\n" + ui.Clean(o.Name) + ":\n" + strings.TrimSuffix(ui.Clean(o.Text), "\n")
}
