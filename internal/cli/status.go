package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

type statusCmd struct {
	runArg
	Managed bool `help:"List what sites have created on this machine."`
}

// standing is how a run stands, for people.
type standing struct{ *runner.Standing }

// Run shows how a run stands. Without an ID it is about the machine: the latest
// run, and what all have left.
func (cmd *statusCmd) Run(ctx runContext, s *client) error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	if cmd.Managed && cmd.ID != "" {
		return usage("leave out the ID", "--managed is about all runs")
	}
	if cmd.ID, err = s.named(cmd.ID); err != nil {
		return err
	}
	switch hosts, x, err := s.about(ctx, cmd.ID); {
	case err != nil:
		return err
	case hosts != nil && cmd.Managed:
		return s.managedOfHosts(ctx, hosts)
	case hosts != nil:
		return s.statusOfHosts(ctx, cmd.ID, hosts, x)
	}
	if cmd.Managed {
		return s.showManaged(local)
	}
	found, err := local.Status(cmd.ID)
	if err != nil {
		return s.ran(err)
	}
	if s.globals.JSON {
		found.Failures = nil // they are for advice
		return s.printJSON(found)
	}
	if found.Status == nil && found.Hold == nil && found.Applying == nil {
		return s.nothingYet()
	}
	var out strings.Builder
	standing{found}.write(&out, cmd.ID == "", s.globals.Verbose)
	_, err = fmt.Fprint(s.Out, out.String())
	return failed(err)
}

// write writes it for people; of the machine, also what to do.
func (now standing) write(out *strings.Builder, machine, verbose bool) {
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(out, "%-11s %s\n", name, ui.Line(text))
		}
	}
	if now.Status == nil {
		line("run", "none yet")
	} else {
		now.writeRun(line, out, verbose)
	}
	if a := now.Applying; a != nil {
		line("applying", "%s", a.Error())
	}
	if now.Hold != nil {
		line("hold", "%s", (&journal.HeldError{Hold: *now.Hold}).Error())
	}
	here := ""
	if now.Status != nil {
		here = journal.Identity(now.Site, now.Origin)
	}
	of := func(site string) string {
		if site == here {
			return ""
		}
		return "  (site " + site + ")"
	}
	for _, d := range now.Owed {
		line("owed", "%s, since run %s (%s): %s%s", d.Handler, d.Run, when(d.Since), d.Cause(), of(d.Site))
	}
	for _, b := range now.Unknown {
		line("unknown", "%s, since run %s (%s): begun, and nobody saw it end%s", b.Address, b.Run, when(b.Time), of(b.Site))
	}
	for _, u := range now.Unconfirmed {
		line("unconfirmed", "%s, since run %s%s", u.Block, u.Run, of(u.Site))
	}
	for _, text := range now.Damaged {
		line("damaged", "%s", text)
	}
	if machine {
		for _, text := range now.next() {
			line("next", "%s", text)
		}
	}
}

// writeRun writes what the run itself says.
func (now standing) writeRun(line func(name, format string, args ...any), out *strings.Builder, verbose bool) {
	line("run", "%s", now.Run)
	line("execution", "%s", now.Execution)
	line("site", "%s", now.what())
	line("state", "%s", now.State)
	line("started", "%s", when(now.Started))
	if !now.Ended.IsZero() {
		line("ended", "%s", when(now.Ended))
	}
	line("revision", "%s", now.Revision)
	if now.Error != "" {
		line("error", "%s", now.Error)
	}
	did := strings.Join(sums(now.Counts), ", ")
	switch {
	case now.Progress != nil:
		line("parts", "%s", strings.TrimSuffix(fmt.Sprintf("%d of %d: %s", now.Progress.Ended, now.Progress.Parts, did), ": "))
		for _, c := range now.Progress.Now {
			line("now", "%s, for %s", c.Address, max(time.Since(c.Since).Truncate(time.Second), 0))
		}
	case now.Counts != nil:
		line("parts", "%s", did)
	}
	if now.Report == nil {
		return
	}
	line("ready", "%t", now.Report.Ready)
	for _, p := range now.Report.Parts {
		// A handler that nobody notified is nothing to look into.
		if p.State == "error" || p.State == "pending" && p.Reason != string(states.Idle) || verbose {
			reason := p.Reason
			if p.Error != nil {
				reason = p.Error.Message
			}
			fmt.Fprintf(out, "  %-8s %s  %s\n", p.State, ui.Clean(p.Address), ui.Clean(reason))
		}
	}
}
