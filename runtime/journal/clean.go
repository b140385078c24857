package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// What is kept of former runs unless Meta says otherwise.
const (
	keepRuns = 30
	keepAge  = 90 * 24 * time.Hour
)

// NeededError says why a run's record cannot be removed: what it has left is not
// done yet.
type NeededError struct {
	Run  string   `json:"run"`
	What []string `json:"what"` // such as "state.reload is owed since file.conf"
}

// Error names what needs the run.
func (e *NeededError) Error() string {
	return fmt.Sprintf("the record of run %s is needed still: %s", e.Run, e.Reason())
}

// Reason is what needs the run, in short.
func (e *NeededError) Reason() string {
	if len(e.What) == 0 { // as another machine told it
		return "it does not say why"
	}
	text := e.What[0]
	if more := len(e.What) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// InProgressError says that a run's record cannot be removed since the run goes on.
type InProgressError struct {
	Run string
	PID int
}

// Error names the run and its process.
func (e *InProgressError) Error() string {
	return fmt.Sprintf("run %s is in progress (process %d)", e.Run, e.PID)
}

// needs lists what a Ledger names of a run.
func (l *Ledger) needs(run string) (what []string) {
	for _, d := range l.Debts {
		if d.Run == run {
			what = append(what, d.Handler+" is owed since "+d.Notifier)
		}
	}
	for _, b := range l.Unknown {
		if b.Run == run {
			what = append(what, b.Address+" was begun and did not end")
		}
	}
	for _, u := range l.Unconfirmed {
		if u.Run == run {
			what = append(what, u.Block+" is not confirmed")
		}
	}
	return what
}

// Clean removes the record of one run. That of the run in progress is refused,
// and by a *NeededError that of a run which has left something undone.
func (f *Folder) Clean(id string) (removed string, err error) {
	if id, err = f.find(id); err != nil {
		return "", err
	}
	if holder := f.Holder(); holder != nil && holder.Run == id {
		return "", &InProgressError{Run: holder.Run, PID: holder.PID}
	}
	l, err := f.settled()
	if err != nil {
		return "", err
	}
	if what := l.needs(id); len(what) > 0 {
		return "", &NeededError{Run: id, What: what}
	}
	if !l.has(id) {
		return "", fmt.Errorf("the end of run %s is not taken note of yet, since another one is in progress", id)
	}
	return id, f.removeRun(id)
}

// CleanOld removes all records of runs but the latest keep ones (all count, if
// keep is negative) and, if olderThan is not 0, of those that stay the ones that
// were started longer ago. What is in progress, and what has left something
// undone, stays: kept says why.
func (f *Folder) CleanOld(keep int, olderThan time.Duration) (removed []string, kept []*NeededError, err error) {
	ids, err := f.ids()
	if err != nil {
		return nil, nil, err
	}
	l, err := f.settled()
	if err != nil {
		return nil, nil, err
	}
	return f.removeRuns(l, f.expired(ids, keep, olderThan, false))
}

// retain is CleanOld for a run that ends, with what runs have left until then.
// The latest run stays, however old. Nothing is younger than the first, unless the
// clock has jumped: as long as that stays, the others are not looked at.
func (f *Folder) retain(l *Ledger, keep int, olderThan time.Duration) error {
	ids, err := f.ids()
	if err != nil {
		return err
	}
	_, _, err = f.removeRuns(l, f.expired(ids, keep, olderThan, true))
	return Join(err, f.forgetWithdrawn())
}

// expired gives the runs that are beyond the latest keep ones or, but for the
// latest, too old. One whose age is not known, or in the future, is not old.
func (f *Folder) expired(ids []string, keep int, olderThan time.Duration, inOrder bool) []string {
	first := 0
	if keep >= 0 {
		first = max(0, len(ids)-keep)
	}
	out := slices.Clone(ids[:first])
	if olderThan <= 0 {
		return out
	}
	limit := time.Now().Add(-olderThan)
	for _, id := range ids[first:max(first, len(ids)-1)] {
		s, err := f.head(id)
		if err == nil && !s.Started.IsZero() && s.Started.Before(limit) {
			out = append(out, id)
		} else if inOrder {
			break
		}
	}
	return out
}

// removeRuns removes those of the runs that nothing needs.
func (f *Folder) removeRuns(l *Ledger, ids []string) (removed []string, kept []*NeededError, err error) {
	for _, id := range ids {
		what := l.needs(id)
		if !l.has(id) {
			what = append(what, "it is in progress, or its end is not taken note of yet")
		}
		if len(what) > 0 {
			kept = append(kept, &NeededError{Run: id, What: what})
			continue
		}
		if err := f.removeRun(id); err != nil {
			return removed, kept, err
		}
		removed = append(removed, id)
	}
	return removed, kept, nil
}

// removeRun removes a run's record: it is gone in one step, whatever happens while
// its files are removed.
func (f *Folder) removeRun(id string) error {
	aside := filepath.Join(f.dir, "runs", tempPrefix+id)
	err := f.disk.rename(f.path(id), aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else has
	}
	if err != nil {
		return err
	}
	// Somebody may have begun to go on with it; who does so now, finds it gone.
	if holder := f.Holder(); holder != nil && holder.Run == id && holder.PID != os.Getpid() {
		return Join(&InProgressError{Run: holder.Run, PID: holder.PID}, f.disk.rename(aside, f.path(id)))
	}
	return f.disk.remove(aside)
}

// settled gives what runs have left, once the ends of all are taken note of, and what
// they have created. While another process applies, those of which that is not so are
// left to it: the Ledger has them as open.
func (f *Folder) settled() (*Ledger, error) {
	l, err := f.cached()
	if err != nil {
		return nil, err
	}
	pending, err := f.unrecorded(l)
	if err != nil || len(pending) == 0 {
		return l, err
	}
	lock, last, err := f.acquire(context.Background(), &Meta{}, nil, nil)
	var locked *LockedError
	if errors.As(err, &locked) {
		l.Open = append(l.Open, pending...)
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	last.LockedError = LockedError{PID: os.Getpid(), Since: time.Now().UTC(), Command: "cleaning up"}
	if l, err = f.prepare(lock, &last); err == nil {
		_, err = f.settleSequence() // before a run is removed
	}
	if err == nil {
		err = f.recordManaged()
	}
	return l, Join(err, last.release(lock))
}

// unrecorded lists the runs whose events are the only place where something stands.
func (f *Folder) unrecorded(l *Ledger) ([]string, error) {
	ids, err := f.ids()
	if err != nil {
		return nil, err
	}
	m := &Managed{folder: f}
	if err := m.readIndex(); err != nil {
		return nil, err
	}
	lacks := m.lacks()
	return slices.DeleteFunc(ids, func(id string) bool { return l.has(id) && !lacks(id) }), nil
}
