package journal

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Resumed is what a run has done in processes before this one, which goes on with
// it.
type Resumed struct {
	Run     *states.StateRun
	Sources map[string]Source
	Status  Status
	// Parts are the last ends of parts, and Begun the beginnings that came after
	// them: their ends are not known. Both by address.
	Parts, Begun map[string]*states.Event
	// Ended are how invocations and blocks have ended, by address.
	Ended   map[string]states.Outcome
	Results map[string]Result // what parts have left, by address
	Retried int               // attempts after the first
	Last    int64             // the number of the last event
}

// NotResumableError says why a run cannot go on.
type NotResumableError struct {
	diag.HintError
	Run  string
	Done bool // there is nothing to go on with
}

func notResumable(run, reason, hint string) *NotResumableError {
	return &NotResumableError{Run: run, HintError: diag.HintError{Message: fmt.Sprintf("run %s cannot go on: %s", run, reason), Hint: hint}}
}

// Unwrap gives the reason with the hint.
func (e *NotResumableError) Unwrap() error { return &e.HintError }

// Resume goes on with a run that did not end, or that failed: it takes the lock, as
// Start does, and the run's record is written on. Of m it takes who applies, in which
// execution, and how long to wait. The error is a *NotResumableError if the run has
// nothing to go on with, or if its site was applied since, a *BegunError if that
// execution has gone on with it already, and a *WithdrawnError if it was withdrawn.
func (f *Folder) Resume(ctx context.Context, id string, m Meta) (*Run, error) {
	id, err := f.find(id)
	if err != nil {
		return nil, err
	}
	begun := func() error { return f.wentOn(id, &m) }
	was, _ := f.head(id) // what cannot be read cannot be gone on with
	withdrawn := func() error { return f.withdrawn(m.Execution, was.Host) }
	if err := f.mayStart(&m); err != nil {
		return nil, cmp.Or(begun(), err)
	}
	lock, last, err := f.acquire(ctx, &m, begun, withdrawn)
	if err != nil {
		return nil, err
	}
	if err = cmp.Or(begun(), withdrawn()); err == nil {
		err = f.mayStart(&m)
	}
	if err == nil {
		var r *Run
		if r, err = f.goOn(lock, last, id, m); err == nil {
			return r.unless(withdrawn)
		}
	}
	return nil, Join(err, unlock(lock))
}

// goOn opens the record of a run once more. The lock is held.
func (f *Folder) goOn(lock *file, last holder, id string, m Meta) (*Run, error) {
	h := last
	h.LockedError = LockedError{
		PID: os.Getpid(), Run: id, Since: time.Now().UTC(), Boot: BootID(), Execution: m.Execution,
		User: m.User, From: m.From, Command: m.Command,
	}
	past, err := f.prepare(lock, &h)
	if err != nil {
		return nil, err
	}
	sequence, err := f.settleSequence()
	if err != nil {
		return nil, err
	}
	status, err := f.resumable(id)
	if err != nil {
		return nil, err
	}
	resumed, err := f.resumed(status)
	if err != nil {
		return nil, err
	}
	sensitive, err := f.Sensitive()
	if err != nil {
		return nil, err
	}
	r := &Run{folder: f, lock: lock, holder: h, past: past, sensitive: sensitive, saved: make(chan error, 1), status: status, resumed: resumed}
	r.saved <- nil // nothing is written anew
	for _, result := range resumed.Results {
		r.secret = r.secret || len(result.Sensitive) > 0
	}
	left := past.Clone()
	left.Damaged = nil
	r.replay = NewReplay(left, Identity(status.Site, status.Origin), id)
	r.retain = func() error { return f.retain(left, cmp.Or(m.Keep, keepRuns), cmp.Or(m.KeepFor, keepAge)) }
	// From here on the Ledger does not hold all of the run.
	open := past.Clone()
	open.Open = []string{id}
	if err := f.writeLedger(open, true); err != nil {
		return nil, err
	}
	for _, name := range []string{"events.jsonl", resultsFile} {
		if err := f.cutTorn(f.path(id, name)); err != nil {
			return nil, err
		}
	}
	s := &r.status
	s.State, s.PID, s.Program, s.Ended, s.Counts, s.Report, s.Error = Running, h.PID, f.options.Program, time.Time{}, nil, nil, ""
	if m.Execution != "" {
		s.Resumptions = append(s.Resumptions, Resumption{m.Execution, resumed.Last})
	}
	if err := r.writeStatus(); err != nil {
		return nil, err
	}
	if err := r.beginStretch(sequence, resumed.Last); err != nil {
		return nil, err
	}
	return r, r.openEvents(0)
}

// resumable gives the status of a run that can go on.
func (f *Folder) resumable(id string) (Status, error) {
	refuse := func(reason, hint string) (Status, error) {
		return Status{}, notResumable(id, reason, hint)
	}
	const again = "apply the site again: what is done already is not done twice"
	s, err := f.whole(id)
	switch {
	case err != nil:
		return Status{}, fmt.Errorf("the status of run %s cannot be read: %w", id, err)
	case s.Revision == "":
		return refuse("its status was lost with its process", "apply the site again")
	case s.State == Done:
		e := notResumable(id, "it has ended, and nothing failed", "")
		e.Done = true
		return Status{}, e
	case s.State != Interrupted && s.State != Failed && s.State != Rebooting:
		return refuse("it is "+string(s.State), again)
	}
	ids, err := f.ids()
	if err != nil {
		return Status{}, err
	}
	for _, later := range ids[slices.Index(ids, id)+1:] {
		l, err := f.head(later)
		if err != nil {
			l.Site, l.Origin = s.Site, s.Origin // nobody knows
		}
		if Identity(l.Site, l.Origin) == Identity(s.Site, s.Origin) {
			return refuse("run "+later+" has applied the site since", again)
		}
	}
	if s.Forgotten { // also by a later run of the site, which is the reason then
		return refuse("what its parts need of each other, or of the site's secrets, was removed when it ended", again)
	}
	return s, nil
}

// resumed reads what a run is about, and what it has done.
func (f *Folder) resumed(s Status) (*Resumed, error) {
	lost := func(err error) error {
		return notResumable(s.Run, "its record is not whole: "+err.Error(), "apply the site again")
	}
	run, err := f.StateRun(s.Run)
	if err != nil {
		return nil, lost(err)
	}
	r := &Resumed{
		Run: run, Status: s, Parts: map[string]*states.Event{}, Begun: map[string]*states.Event{}, Ended: map[string]states.Outcome{},
	}
	var p private
	if err := f.disk.readJSON(f.path(s.Run, secretsFile), &p); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, lost(err)
	}
	if err := p.restore(run); err != nil {
		return nil, lost(err)
	}
	if err := f.disk.readJSON(f.path(s.Run, "sources.json"), &r.Sources); err != nil {
		return nil, lost(err)
	}
	if r.Results, err = f.disk.readResults(f.path(s.Run, resultsFile)); err != nil {
		return nil, lost(err)
	}
	for ev, err := range f.Events(s.Run) {
		if err != nil {
			return nil, lost(err)
		}
		if ev.Type == states.EventRun && ev.Format != states.EventFormat {
			return nil, lost(fmt.Errorf("its events have the format %q", ev.Format))
		}
		r.add(&ev)
	}
	return r, nil
}

func (r *Resumed) add(ev *states.Event) {
	r.Last = ev.Seq
	switch ev.Type {
	case states.EventBegin:
		begun := *ev
		r.Begun[ev.Address] = &begun
	case states.EventPart:
		end := *ev
		end.Changes, end.Output = nil, "" // which may be large, and are told
		r.Parts[ev.Address] = &end
		delete(r.Begun, ev.Address)
	case states.EventInvocation:
		r.Ended[ev.Address] = ev.Outcome
	case states.EventStart:
		delete(r.Ended, ev.Address)
	case states.EventRetry:
		r.Retried++
	case states.EventRestored:
		r.PutBack(ev)
	}
}

// PutBack takes note that what a part has changed is undone (states.EventRestored):
// the part is carried out anew, and so are the handlers that had picked it up.
func (r *Resumed) PutBack(ev *states.Event) {
	undone := func(_ string, part *states.Event) bool {
		return part.ID == ev.ID || slices.Contains(ev.Owes, states.WithoutWave(part.Invocation))
	}
	maps.DeleteFunc(r.Parts, undone)
	maps.DeleteFunc(r.Begun, undone)
	maps.DeleteFunc(r.Ended, func(address string, _ states.Outcome) bool {
		return address == ev.Address || slices.Contains(ev.Owes, states.WithoutWave(address))
	})
}

// Pause notes durably that the machine is about to start anew, and that the run goes
// on after that. The lock is kept: the end of this process gives it up, and Finish
// does if the machine stays up after all.
func (r *Run) Pause(e End) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.status
	s.State, s.Counts, s.Paused = Rebooting, &e.Counts, time.Now().UTC()
	if err := r.sync(); err != nil {
		return err
	}
	if err := r.endStretch(true); err != nil {
		return err
	}
	if err := r.writeStatus(); err != nil {
		return err
	}
	return Join(r.folder.disk.sync(r.folder.path(r.ID(), "status.json")), r.folder.disk.sync(r.folder.path(r.ID())))
}

// Resumed tells what was done before; nil: the run begins with this process.
func (r *Run) Resumed() *Resumed { return r.resumed }

// whole reads a run's status, report included.
func (f *Folder) whole(id string) (Status, error) {
	data, err := f.disk.readFile(f.path(id, "status.json"))
	if err != nil {
		return Status{}, err
	}
	var s Status
	err = json.Unmarshal(data, &s)
	return s, err
}

// StateRun reads what a run was to do; sensitive values are Masked.
func (f *Folder) StateRun(id string) (*states.StateRun, error) {
	id, err := f.find(id)
	if err != nil {
		return nil, err
	}
	var run states.StateRun
	if err := f.disk.readJSON(f.path(id, "run.json"), &run); err != nil {
		return nil, fmt.Errorf("what run %s was to do cannot be read: %w", id, err)
	}
	if run.Format != states.Format {
		return nil, fmt.Errorf("run %s has the format %q, and this program knows %q: use the version of tenet that wrote it", id, run.Format, states.Format)
	}
	return &run, nil
}

// readJSON reads a file of one JSON object, as writeJSON writes it; numbers stay as they
// are written.
func (d disk) readJSON(path string, v any) error {
	file, err := d.read(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = checkFile(file, info.Size())
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	in := json.NewDecoder(bufio.NewReader(file))
	in.UseNumber()
	return in.Decode(v)
}
