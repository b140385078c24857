package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
)

// answersOf gives what hosts answered, read as one type; nil where one gave no answer.
func answersOf[T any](list []*answer) []*T {
	found := make([]*T, len(list))
	for i, a := range list {
		if a.failure() != nil || a.spared {
			continue
		}
		var v T
		if err := a.decode(&v); err != nil {
			a.outcome.End, a.outcome.Err, a.outcome.Status = nil, err, fleet.Failed
			continue
		}
		tidy(&v)
		found[i] = &v
	}
	return found
}

// tidy leaves out what no runner of ours says: a host may say anything.
func tidy(answer any) {
	switch a := answer.(type) {
	case *runner.Standing:
		maps.DeleteFunc(a.Failures, func(_ string, f *runner.Failure) bool { return f == nil || f.Status == nil })
	case *runner.Cleaned:
		a.Kept = slices.DeleteFunc(a.Kept, func(k *journal.NeededError) bool { return k == nil })
	case *[]runner.ManagedSite:
		for i := range *a {
			site := &(*a)[i]
			site.Resources = slices.DeleteFunc(site.Resources, func(c *journal.Created) bool { return c == nil })
		}
	}
}

// hostStanding is how a host stands, as JSON.
type hostStanding struct {
	Host string `json:"host"` // as the site names it
	*runner.Standing
}

// hostSpared is a host on which nothing of an execution was begun, as JSON.
type hostSpared struct {
	Host      string       `json:"host"`
	Execution string       `json:"execution"`
	Spared    fleet.Status `json:"not_begun"` // why, as far as it is known
}

// statusOfHosts shows how hosts stand, or how a run or an execution does on them.
func (s *client) statusOfHosts(ctx context.Context, id string, m *meant, x *fleet.Record) error {
	list, err := s.askHosts(ctx, m, question{request: &wire.Request{Op: wire.OpStatus, ID: id}})
	if err != nil {
		return err
	}
	for _, name := range m.untouched {
		list = append(list, &answer{host: &lang.Host{Name: name}, outcome: fleet.Outcome{Machine: name, Status: fleet.Done}, spared: true})
	}
	found := answersOf[runner.Standing](list)
	for i, a := range list {
		if notBegun(a, x) { // it is no failure of the question
			a.outcome.End, a.outcome.Status = nil, fleet.Done
			found[i] = nil
		}
	}
	x = s.learnEnds(x, list, found)
	if s.globals.JSON {
		return s.printAnswers(list, func(i int) (any, error) {
			if found[i] == nil {
				return hostSpared{list[i].host.Name, x.ID, thenOf(x, list[i].host.Name).Status}, nil
			}
			found[i].Failures = nil // they are for advice
			return hostStanding{list[i].host.Name, found[i]}, nil
		})
	}
	if x != nil {
		if err := s.printExecution(x); err != nil {
			return err
		}
	}
	if err := s.printStandings(list, found, x, id == ""); err != nil {
		return err
	}
	return s.concluded(list)
}

// notBegun reports whether a host does not know of an execution, since nothing of it was
// begun there.
func notBegun(a *answer, x *fleet.Record) bool {
	f := a.failure()
	then := thenOf(x, a.host.Name)
	return f != nil && f.Code == wire.CodeNotFound && then != nil && then.Run == ""
}

// printExecution prints what was done, and when.
func (s *client) printExecution(x *fleet.Record) error {
	ended := "no end on record: it goes on, or nobody here saw it"
	left := slices.ContainsFunc(x.Hosts, func(h fleet.RecordHost) bool { return h.Status == fleet.Left })
	switch {
	case left && !x.Ended.IsZero():
		ended = "left to its hosts " + when(x.Ended)
	case !x.Ended.IsZero():
		ended = "ended " + when(x.Ended)
	}
	site := x.Site
	if site == "" {
		site = x.Origin
	}
	return s.tell("execution %s: %s  (%s)\nstarted %s, %s", x.ID, ui.Line(x.Command), ui.Line(site), when(x.Started), ended)
}

// printStandings prints a line a host, or all about the only one; with --verbose of all.
func (s *client) printStandings(list []*answer, found []*runner.Standing, x *fleet.Record, machine bool) error {
	if len(list) == 1 || s.globals.Verbose {
		return s.printWholeStandings(list, found, x, machine)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "HOST\tSTATE\tRUN\tSTARTED\tPARTS\tLEFT\tSITE")
	for i, a := range list {
		now := found[i]
		if now == nil {
			fmt.Fprintf(out, "%s\t%s\t-\t-\t-\t-\t-\n", a.host.Name, ui.Line(noStanding(a, x)))
			continue
		}
		state, run, started, parts, site := "nothing applied yet", "-", "-", "-", "-"
		if now.Status != nil {
			state, run, started, site = string(now.State), now.Run, when(now.Started), cmp.Or(now.Site, now.Origin, "-")
			did := strings.Join(sums(now.Counts), ", ")
			if parts = cmp.Or(did, "-"); now.Progress != nil {
				parts = strings.TrimSuffix(fmt.Sprintf("%d of %d: %s", now.Progress.Ended, now.Progress.Parts, did), ": ")
			}
		}
		if now.Hold != nil {
			state += ", on hold"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.host.Name, ui.Line(state), ui.Line(run), started, ui.Line(parts), leftBy(now), ui.Line(site))
	}
	return failed(unread(out.Flush()))
}

// noStanding is a word for a host that cannot be told of.
func noStanding(a *answer, x *fleet.Record) string {
	if f := a.failure(); f != nil {
		return f.Code
	}
	if then := thenOf(x, a.host.Name); then != nil && then.Status != "" {
		return "not begun (" + string(then.Status) + ")"
	}
	return "not begun"
}

// leftBy tells in short what runs have left to do.
func leftBy(now *runner.Standing) string {
	var words []string
	for _, e := range []struct {
		n    int
		word string
	}{{len(now.Owed), "owed"}, {len(now.Unknown), "unknown"}, {len(now.Unconfirmed), "unconfirmed"}, {len(now.Damaged), "damaged"}} {
		if e.n > 0 {
			words = append(words, fmt.Sprint(e.n, " ", e.word))
		}
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

func (s *client) printWholeStandings(list []*answer, found []*runner.Standing, x *fleet.Record, machine bool) error {
	var out strings.Builder
	for i, a := range list {
		if a.failure() != nil {
			continue
		}
		if out.Len() > 0 {
			fmt.Fprintln(&out)
		}
		fmt.Fprintf(&out, "%-11s %s\n", "host", a.host.Name)
		now := found[i]
		switch {
		case now == nil:
			fmt.Fprintf(&out, "%-11s %s\n", "state", ui.Line(noStanding(a, x)))
		case now.Status == nil && now.Hold == nil && now.Applying == nil:
			fmt.Fprintf(&out, "%-11s %s\n", "run", "none yet")
		default:
			for _, f := range now.Failures {
				f.GoesOn = false // that is for the host itself
			}
			standing{now}.write(&out, machine, s.globals.Verbose && len(list) == 1)
		}
	}
	return failed(unread(s.printText(out.String())))
}

// printText prints text that ends with its own newline.
func (s *client) printText(text string) error {
	_, err := fmt.Fprint(s.Out, text)
	return err
}

// hostManaged is what sites have created on a host, as JSON.
type hostManaged struct {
	Host  string               `json:"host"`
	Sites []runner.ManagedSite `json:"sites"`
}

// managedOfHosts lists what sites have created on hosts.
func (s *client) managedOfHosts(ctx context.Context, m *meant) error {
	list, err := s.askHosts(ctx, m, question{request: &wire.Request{Op: wire.OpManaged}})
	if err != nil {
		return err
	}
	found := answersOf[[]runner.ManagedSite](list)
	if s.globals.JSON {
		return s.printAnswers(list, func(i int) (any, error) {
			return hostManaged{list[i].host.Name, append([]runner.ManagedSite{}, *found[i]...)}, nil
		})
	}
	for i, a := range list {
		if found[i] == nil || len(*found[i]) == 0 {
			continue
		}
		if err := errors.Join(s.print(a.host.Name+":"), s.printManaged(*found[i])); err != nil {
			return err
		}
	}
	return s.concluded(list)
}

// hostHistory is what runs there were on a host, as JSON.
type hostHistory struct {
	Host string        `json:"host"`
	Runs []runner.Past `json:"runs"`
}

// historyOfHosts lists the runs on hosts.
func (s *client) historyOfHosts(ctx context.Context) error {
	m, err := s.fleetOf(ctx)
	if err != nil {
		return err
	}
	list, err := s.askHosts(ctx, m, question{request: &wire.Request{Op: wire.OpHistory}})
	if err != nil {
		return err
	}
	found := answersOf[[]runner.Past](list)
	if s.globals.JSON {
		return s.printAnswers(list, func(i int) (any, error) {
			return hostHistory{list[i].host.Name, append([]runner.Past{}, *found[i]...)}, nil
		})
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for i, a := range list {
		if found[i] == nil {
			continue
		}
		for _, run := range *found[i] {
			did := cmp.Or(strings.Join(slices.Concat(sums(run.Counts), run.Undone), ", "), "-")
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.host.Name, ui.Line(run.Run), when(run.Started), ui.Line(string(run.State)),
				ui.Line(did), cmp.Or(ui.Line(run.Execution), "-"), ui.Line(cmp.Or(run.Site, run.Origin)))
		}
	}
	if err := out.Flush(); err != nil {
		return failed(unread(err))
	}
	return s.concluded(list)
}
