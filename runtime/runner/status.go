package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/source"
	"github.com/tenetcm/tenet/states"
)

// AdHoc is the place of what is declared on a command line.
const AdHoc = "the command line"

func (r *Runner) noRecords() error {
	return &diag.HintError{Code: machine.CodeNotFound, Err: &machine.NothingError{Dir: r.StateDir}}
}

// recordedFolder gives the folder, which has records.
func (r *Runner) recordedFolder() (*journal.Folder, error) {
	folder, err := r.existingFolder()
	if err == nil && folder == nil {
		err = r.noRecords()
	}
	return folder, err
}

// run gives the folder, and the status of the run that is meant.
func (r *Runner) run(id string) (*journal.Folder, journal.Status, error) {
	folder, err := r.recordedFolder()
	if err != nil {
		return nil, journal.Status{}, err
	}
	status, err := folder.Status(id)
	return folder, status, noRun(err)
}

// Find tells how a run stands by itself, as Status finds it.
func (r *Runner) Find(id string) (journal.Status, error) {
	folder, err := r.existingFolder()
	if err == nil && folder == nil {
		err = &diag.HintError{Code: machine.CodeNotFound, Err: fmt.Errorf("%w: %s", journal.ErrNoRun, id)}
	}
	if err != nil {
		return journal.Status{}, err
	}
	status, err := folder.Status(id)
	return status, noRun(err)
}

// FindBegun tells how the run stands that an execution has begun for a host of that name, or
// gone on with; without a name it is Find.
func (r *Runner) FindBegun(execution, host string) (journal.Status, error) {
	if host == "" {
		return r.Find(execution)
	}
	folder, err := r.existingFolder()
	if err != nil {
		return journal.Status{}, err
	}
	run := ""
	if err = fmt.Errorf("%w: %s", journal.ErrNoRun, execution); folder != nil {
		run, err = folder.Begun(execution, host)
	}
	if err != nil {
		return journal.Status{}, noRun(err)
	}
	return r.Find(run)
}

// noRun adds to why a run cannot be told of what to do about it.
func noRun(err error) error {
	if err == nil {
		return nil
	}
	code := ""
	if errors.Is(err, journal.ErrNoRun) {
		code = machine.CodeNotFound
	}
	return &diag.HintError{Code: code, Err: err, Hint: "tenet history lists the runs"}
}

// Status tells how a run stands, by its ID, that of its execution, or the beginning of
// one; empty: the machine. It takes no lock, and what it reads is whole, also while a
// run is in progress. Without any records the error is a *machine.NothingError if a run is
// meant, and the Status is that of NewStatus else.
func (r *Runner) Status(_ context.Context, id string) (_ *machine.Status, err error) {
	defer wrapError(&err)
	now := machine.NewStatus()
	folder, err := r.existingFolder()
	if folder == nil && err == nil && id != "" {
		err = r.noRecords()
	}
	if err != nil || folder == nil {
		return now, err
	}
	run, err := folder.Status(id)
	switch {
	case err == nil:
		now.Status = &run
	case id != "" || !errors.Is(err, journal.ErrNoRun):
		return nil, noRun(err)
	}
	ledger, err := folder.Ledger()
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
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
			return nil, r.mayApply(folder)
		}
		if now.Cluster, err = folder.Membership(); err != nil {
			return nil, &diag.HintError{Err: err, Hint: elsewhere}
		}
		list, err := folder.List()
		if err != nil {
			return nil, err
		}
		now.Failures = failures(list)
		if now.Cluster != nil {
			if now.ClusterParts, err = clusterParts(folder, list, now.Cluster); err != nil {
				return nil, &diag.HintError{Err: err, Hint: elsewhere}
			}
		}
		if now.Loops, err = reconcile.In(r.StateDir).List(); err != nil {
			return nil, err
		}
		if now.Followed, err = source.List(r.StateDir, time.Now()); err != nil { // the rest is told all the same
			now.Damaged = append(now.Damaged, err.Error())
		}
		if folder.Holder() == nil { // asked after what is followed was read, so that one that has just begun is seen
			interruptFollowed(now, time.Now())
		}
	}
	if now.Status != nil && run.Counts == nil {
		progress(now, folder)
	}
	return now, nil
}

// progress tells from its events how far a run has come that has no end: it is in
// progress, or was killed.
func progress(now *machine.Status, folder *journal.Folder) {
	t := tally{}
	for ev, err := range folder.Events(now.Run) {
		if errors.Is(err, fs.ErrNotExist) {
			break // it has only just begun
		}
		if err != nil {
			now.Damaged = append(now.Damaged, err.Error())
			break
		}
		t.add(&ev)
	}
	now.Counts = t.counts()
	if now.State == journal.Running {
		now.Progress = t.progress(now.Parts)
	}
}

// failures gives, by site, the latest runs of sites that did not end well.
func failures(list []journal.Status) map[string]*machine.Failure {
	latest := map[string]*machine.Failure{}
	for i := range list {
		run := &list[i]
		site := journal.Identity(run.Site, run.Origin)
		if run.Revision == "" { // it let go of something, or never began: what was before stands
			if latest[site] != nil {
				latest[site].GoesOn = false
			}
			continue
		}
		if delete(latest, site); run.State == journal.Failed || run.State == journal.Interrupted {
			latest[site] = &machine.Failure{Status: run, GoesOn: !run.Forgotten}
		}
	}
	if f := latest[AdHoc]; f != nil && f.Status != &list[len(list)-1] { // what came after it was for that, maybe
		delete(latest, AdHoc)
	}
	return latest
}

// History lists the runs, oldest first, and what each has left undone.
func (r *Runner) History(context.Context) (_ []machine.PastRun, err error) {
	defer wrapError(&err)
	list := []machine.PastRun{}
	folder, err := r.existingFolder()
	if err != nil || folder == nil {
		return list, err
	}
	all, err := folder.List()
	if err != nil {
		return nil, err
	}
	left, err := folder.Ledger()
	if err != nil {
		return nil, &diag.HintError{Err: err, Hint: elsewhere}
	}
	undone := undoneOf(left)
	for _, run := range all {
		list = append(list, machine.PastRun{Status: run, Undone: undone[run.Run]})
	}
	return list, nil
}

// undoneOf tells in short, by run, what runs have left undone.
func undoneOf(left *journal.Ledger) map[string][]string {
	undone := map[string][]string{}
	count := func(word string, runs []string) {
		slices.Sort(runs)
		for len(runs) > 0 {
			n := slices.IndexFunc(runs, func(r string) bool { return r != runs[0] })
			if n < 0 {
				n = len(runs)
			}
			undone[runs[0]] = append(undone[runs[0]], fmt.Sprint(n, " ", word))
			runs = runs[n:]
		}
	}
	count("owed", field(left.Debts, func(d states.Debt) string { return d.Run }))
	count("unknown", field(left.Unknown, func(b states.Begun) string { return b.Run }))
	count("unconfirmed", field(left.Unconfirmed, func(u journal.Unconfirmed) string { return u.Run }))
	return undone
}

func field[T any](list []T, of func(T) string) (out []string) {
	for _, e := range list {
		out = append(out, of(e))
	}
	return out
}

// Outputs gives what a run's programs have printed.
func (r *Runner) Outputs(id string) ([]machine.Output, error) {
	folder, run, err := r.run(id)
	if err != nil {
		return nil, err
	}
	names, err := folder.Outputs(run.Run)
	if err != nil {
		return nil, err
	}
	list := []machine.Output{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		title, err := url.PathUnescape(filepath.Base(name))
		if err != nil {
			title = filepath.Base(name)
		}
		list = append(list, machine.Output{Name: title, Text: string(data)})
	}
	return list, nil
}

// Managed lists what sites have created here; nil: there are no records.
func (r *Runner) Managed(context.Context) (_ []machine.ManagedSite, err error) {
	defer wrapError(&err)
	folder, err := r.existingFolder()
	if err != nil || folder == nil {
		return nil, err
	}
	list := []machine.ManagedSite{}
	managed, err := folder.Managed()
	if err != nil {
		return nil, err
	}
	for _, name := range managed.Sites() {
		holding := managed.Holding(name)
		if holding == nil {
			return nil, managed.Err()
		}
		if entries := holding.Entries(); len(entries) > 0 {
			list = append(list, machine.ManagedSite{Site: name, Resources: entries})
		}
	}
	return list, nil
}

// tellTime is how long a watch may take, after the end of an apply, to tell what became of it.
const tellTime = 10 * time.Second

// interruptFollowed notes of what is followed that its apply was interrupted, where nobody applies, and no run goes on or has just ended.
func interruptFollowed(now *machine.Status, at time.Time) {
	if now.Status != nil && (now.State == journal.Rebooting || !now.Ended.IsZero() && at.Sub(now.Ended) < tellTime) {
		return
	}
	for i := range now.Followed {
		now.Followed[i].Interrupt()
	}
}
