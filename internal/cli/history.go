package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

type historyCmd struct {
	Executions bool `help:"List only what was done from here on hosts."`
}

// hostHistory is what runs there were on a host, as JSON.
type hostHistory struct {
	Host string            `json:"host"`
	Runs []machine.PastRun `json:"runs"`
}

// Run lists the runs, and what was done from here on hosts.
func (cmd *historyCmd) Run(ctx runContext, s *client) error {
	switch {
	case s.selectsHosts() && cmd.Executions:
		return usage("leave one out", "--executions is about this machine, and --limit and --inventory about others")
	case cmd.Executions:
		return s.showExecutions(false)
	}
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	list, err := ask(ctx, s, t, askOne("history", true, func(ctx context.Context, m *fleet.Member) ([]machine.PastRun, error) { return m.History(ctx) }))
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			runs := []journal.Status{}
			for _, past := range list[i].value {
				runs = append(runs, past.Status)
			}
			return runs, hostHistory{list[i].host.Name, append([]machine.PastRun{}, list[i].value...)}
		})
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	count := 0
	for _, a := range list {
		for i := range a.value {
			count++
			fmt.Fprintln(out, strings.Join(historyRow(a.host.Name, t.hasNames, &a.value[i]), "\t"))
		}
	}
	if err := out.Flush(); err != nil {
		return failure(unread(err))
	}
	if err := s.showFailures(t, common(list)); err != nil || t.hasNames {
		return err
	}
	return s.showExecutions(count > 0)
}

// historyRow is a line about a run.
func historyRow(host string, named bool, run *machine.PastRun) []string {
	did := ui.Line(cmp.Or(strings.Join(slices.Concat(sums(run.Counts), run.Undone), ", "), "-"))
	row := []string{ui.Line(run.Run), when(run.Started), ui.Line(string(run.State)), did}
	site := ui.Line(cmp.Or(run.Site, run.Origin))
	if named {
		return slices.Concat([]string{host}, row, []string{cmp.Or(ui.Line(run.Execution), "-"), site})
	}
	if run.Execution != "" {
		site += "  (execution " + run.Execution + ")"
	}
	return append(row, site)
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
