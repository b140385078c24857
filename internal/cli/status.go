package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

type statusCmd struct {
	ID      string   `arg:"" optional:"" help:"ID of a run, or its beginning (default: the latest), or cluster.NAME of a site."`
	Wait    patience `help:"Of a cluster: wait until it is as it is wanted, for 5m or --wait=DURATION."`
	Managed bool     `help:"List what sites have created on this machine."`
}

// shownStatus is how a run stands, for people.
type shownStatus struct{ *machine.Status }

// statusAnswer is how a machine stands.
type statusAnswer = answer[*machine.Status]

// Run shows how a run, or an execution, stands. Without an ID it is about machines: the
// latest run, and what all have left.
func (cmd *statusCmd) Run(ctx runContext, s *client) error {
	if _, err := s.stateDir(); err != nil {
		return err
	}
	if cmd.Managed && cmd.ID != "" {
		return usage("leave out the ID", "--managed is about all runs")
	}
	if name, ok := clusterName(cmd.ID); ok {
		return s.clusterStatus(ctx, name, time.Duration(cmd.Wait.span))
	}
	if cmd.Wait.span > 0 {
		return usage("tenet status cluster.NAME --wait", "--wait is for clusters")
	}
	var err error
	if cmd.ID, err = s.runID(cmd.ID); err != nil {
		return err
	}
	t, x, err := s.recordTargets(ctx, cmd.ID)
	if err != nil {
		return err
	}
	if cmd.Managed {
		return s.showManaged(ctx, t)
	}
	list, err := ask(ctx, s, t, askOne("status", true, func(ctx context.Context, m *fleet.Member) (*machine.Status, error) { return m.Status(ctx, cmd.ID) }))
	if err != nil {
		return err
	}
	for _, name := range t.absent {
		list = append(list, &statusAnswer{reply: reply{host: &lang.Host{Name: name}, outcome: fleet.Outcome{Machine: name, Status: fleet.Done}, skipped: true}})
	}
	for _, a := range list {
		if notBegun(&a.reply, x) { // it is no failure of the question
			a.outcome.Err, a.outcome.Status, a.value = nil, fleet.Done, nil
		}
		if a.failure() != nil {
			a.value = nil
		}
	}
	return s.showStatuses(t, list, s.learnEnds(x, list), cmd.ID == "")
}

// showStatuses shows how machines stand; whole: all of it, and not only a run or an execution.
func (s *client) showStatuses(t *targets, list []*statusAnswer, x *fleet.Record, whole bool) (err error) {
	var due []fleet.Record
	if x == nil && whole {
		if due, err = s.dueOn(t); err != nil {
			return err
		}
	}
	if s.globals.JSON {
		if err := s.printDueJSON(x, due); err != nil {
			return err
		}
		if whole {
			if err := s.showRecorded(t); err != nil {
				return err
			}
		}
		return s.printStatusJSON(t, list, x)
	}
	if !t.hasNames {
		return s.showStatus(list[0], whole)
	}
	if x != nil {
		if err := s.printExecution(x); err != nil {
			return err
		}
	}
	for i := range due {
		for _, line := range s.dueLines(&due[i]) {
			if err := s.tell("%s", line); err != nil {
				return err
			}
		}
	}
	if err := s.printStatuses(list, x, whole); err != nil {
		return err
	}
	if whole {
		if err := s.showRecorded(t); err != nil {
			return err
		}
	}
	return s.showFailures(t, common(list))
}

// showStatus shows how this machine stands, or a run of it.
func (s *client) showStatus(a *statusAnswer, whole bool) error {
	if a.value == nil {
		return s.failureHere(&a.reply)
	}
	if a.value.Status == nil && a.value.Hold == nil && a.value.Applying == nil && len(a.value.Loops)+len(a.value.Followed) == 0 {
		return s.nothingYet()
	}
	var out strings.Builder
	shownStatus{a.value}.write(&out, whole, s.globals.Verbose)
	return s.printText(out.String())
}

// hostStatus is how a host stands, as JSON.
type hostStatus struct {
	Host string `json:"host"` // as the site names it
	*machine.Status
}

// skippedHost is a host on which nothing of an execution was begun, as JSON.
type skippedHost struct {
	Host      string       `json:"host"`
	Execution string       `json:"execution"`
	NotBegun  fleet.Status `json:"not_begun"` // why, as far as it is known
}

// dueHook is a hook of an execution that is due, as JSON.
type dueHook struct {
	Execution string           `json:"execution"`
	Due       fleet.RecordHook `json:"due"`
}

// printDueJSON prints what an execution has left due, or others of a site have.
func (s *client) printDueJSON(x *fleet.Record, others []fleet.Record) error {
	if x != nil {
		others = append(others, *x)
	}
	for i := range others {
		for _, h := range others[i].DueHooks() {
			if err := s.printLine(dueHook{others[i].ID, h}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *client) printStatusJSON(t *targets, list []*statusAnswer, x *fleet.Record) error {
	return s.printAnswers(t, common(list), func(i int) (any, any) {
		now, name := list[i].value, list[i].host.Name
		if now == nil {
			return nil, skippedHost{name, x.ID, recordHost(x, name).Status}
		}
		now.Failures = nil // they are for advice
		return now, hostStatus{name, now}
	})
}

// write writes it for people; of the machine, also what to do.
func (now shownStatus) write(out *strings.Builder, machine, verbose bool) {
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(out, "%-11s %s\n", name, ui.Line(text))
		}
	}
	if now.Status.Status == nil {
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
	if now.Status.Status != nil {
		here = journal.Identity(now.Site, now.Origin)
	}
	of := func(site string) string {
		if site == here {
			return ""
		}
		return "  (site " + site + ")"
	}
	for i := range now.Loops {
		l := &now.Loops[i]
		line("loop", "%s: %s", l.Site, loopText(l))
		if late(l, time.Now()) {
			line("", "nobody has looked since: tenet watch or the agent does not run")
		}
	}
	now.writeFollowed(line)
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
func (now shownStatus) writeRun(line func(name, format string, args ...any), out *strings.Builder, verbose bool) {
	line("run", "%s", now.Run)
	line("execution", "%s", now.Execution)
	line("site", "%s", now.siteLabel())
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
