package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

type statusCmd struct {
	runArg
	Managed bool `help:"List what sites have created on this machine."`
}

// standing is how a run stands, and what runs have left to do.
type standing struct {
	*journal.Status                       // nil: nothing has been applied yet
	Progress        *progress             `json:"progress,omitempty"`
	Applying        *journal.LockedError  `json:"applying,omitempty"`
	Hold            *journal.Hold         `json:"hold,omitempty"`
	Owed            []states.Debt         `json:"owed"`
	Unknown         []states.Begun        `json:"unknown"`
	Unconfirmed     []journal.Unconfirmed `json:"unconfirmed"`
	Damaged         []string              `json:"damaged,omitempty"`

	failed map[string]*failure // see failures; of the machine alone
}

// progress is how far a run is that has no end, as its events say.
type progress struct {
	Ended int       `json:"ended"` // parts
	Parts int       `json:"parts"`
	Now   []current `json:"now"`
}

// current is what runs now.
type current struct {
	Address string    `json:"address"`
	Since   time.Time `json:"since"`
}

// Run shows how a run stands. Without an ID it is about the machine: the latest
// run, and what all have left.
func (cmd *statusCmd) Run(_ runContext, s *client) error {
	folder, err := s.existing()
	if err != nil {
		return err
	}
	if cmd.Managed && cmd.ID != "" {
		return usage("leave out the ID", "--managed is about all runs")
	}
	if folder == nil && s.globals.JSON && cmd.ID == "" {
		if cmd.Managed {
			return s.printJSON([]managedSite{})
		}
		return s.printJSON(noRecords())
	}
	if folder == nil {
		return s.nothingYet()
	}
	if cmd.Managed {
		return s.showManaged(folder)
	}
	now, err := s.standing(folder, cmd.ID)
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printJSON(now)
	}
	var out strings.Builder
	now.write(&out, cmd.ID == "", s.globals.Verbose)
	_, err = fmt.Fprint(s.Out, out.String())
	return failed(err)
}

// standing reads the records. It takes no lock, and what it reads is whole, also
// while a run is in progress.
func (s *client) standing(folder *journal.Folder, id string) (*standing, error) {
	now := noRecords()
	run, err := folder.Status(id)
	switch {
	case err == nil:
		now.Status = &run
	case id != "" || !errors.Is(err, journal.ErrNoRun):
		return nil, &status{code: exitFailed, err: err, hint: "tenet history lists the runs"}
	}
	ledger, err := folder.Ledger()
	if err != nil {
		return nil, &status{code: exitFailed, err: err, hint: elsewhere}
	}
	// What was asked for is one run: then what others have left is of no account.
	other := func(of string) bool { return id != "" && of != run.Run }
	now.Owed = append(now.Owed, slices.DeleteFunc(ledger.Debts, func(d states.Debt) bool { return other(d.Run) })...)
	now.Unknown = append(now.Unknown, slices.DeleteFunc(ledger.Unknown, func(b states.Begun) bool { return other(b.Run) })...)
	now.Unconfirmed = append(now.Unconfirmed, slices.DeleteFunc(ledger.Unconfirmed, func(u journal.Unconfirmed) bool { return other(u.Run) })...)
	now.Damaged = ledger.Damaged
	if id == "" {
		now.Applying = folder.Holder()
		if now.Hold, err = folder.Held(); err != nil {
			return nil, refused(err)
		}
		list, err := folder.List()
		if err != nil {
			return nil, failed(err)
		}
		now.failed = failures(list)
	}
	if now.Status == nil && now.Hold == nil && now.Applying == nil && !s.globals.JSON {
		return nil, s.nothingYet()
	}
	if now.Status != nil && run.Counts == nil {
		if err := now.follow(folder); err != nil {
			return nil, failed(err)
		}
	}
	return now, nil
}

// follow tells from its events how far a run has come that has no end: it is in
// progress, or was killed.
func (now *standing) follow(folder *journal.Folder) error {
	ended := map[string]states.Outcome{} // by address: one that was resumed may have ended before
	begun := map[string]time.Time{}
	for ev, err := range folder.Events(now.Run) {
		if errors.Is(err, fs.ErrNotExist) {
			break // it has only just begun
		}
		if err != nil {
			now.Damaged = append(now.Damaged, err.Error())
			break
		}
		switch ev.Type {
		case states.EventResume:
			clear(begun)
		case states.EventBegin:
			begun[ev.Address] = ev.Time
		case states.EventConfirm:
			if begun[ev.Address] = ev.Time; ev.Outcome != "" {
				delete(begun, ev.Address)
			}
		case states.EventPart:
			delete(begun, ev.Address)
			ended[ev.Address] = ev.Outcome
		}
	}
	now.Counts = &states.Counts{}
	for _, outcome := range ended {
		tally(now.Counts, outcome)
	}
	if now.State != journal.Running {
		return nil
	}
	now.Progress = &progress{Ended: len(ended), Parts: now.Parts, Now: []current{}}
	for address, since := range begun {
		now.Progress.Now = append(now.Progress.Now, current{address, since})
	}
	slices.SortFunc(now.Progress.Now, func(a, b current) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Address, b.Address))
	})
	return nil
}

// tally adds a part to the sums.
func tally(c *states.Counts, outcome states.Outcome) {
	n := map[states.Outcome]*int{
		states.Changed: &c.Changed, states.Unchanged: &c.Unchanged, states.Failed: &c.Failed, states.Blocked: &c.Blocked,
		states.Skipped: &c.Skipped, states.Idle: &c.Idle, states.Unknown: &c.Unknown,
	}[outcome]
	if n != nil {
		*n++
	}
}

// write writes it for people; of the machine, also what to do.
func (now *standing) write(out *strings.Builder, machine, verbose bool) {
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
func (now *standing) writeRun(line func(name, format string, args ...any), out *strings.Builder, verbose bool) {
	line("run", "%s", now.Run)
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
