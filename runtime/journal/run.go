package journal

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/states"
)

// Meta is what a run is about.
type Meta struct {
	Run     *states.StateRun
	Sources map[string]Source // address → place, for messages
	Origin  string            // the absolute path where the site lies; see Identity
	Root    string            // the tree that is acted on; empty: the machine
	Modules []Modules         // those of the site's own
	Plan    string            // the saved plan that is carried out, an absolute path; empty: a site
	// Execution is what a controller calls what it does on all its hosts; empty:
	// there is none.
	Execution string
	// Once says that the site is an agent's to apply, and that this run has come in between by a person's word.
	Once bool

	// Who applies, for those that find the folder locked, and for the records:
	// words for people.
	User    string // such as "root"
	From    string // such as "192.0.2.7" or "cron.service"
	Command string // such as "tenet apply"

	LockTimeout time.Duration      // how long to wait for another apply; 0: not at all
	Waiting     func(*LockedError) // is told for whom, if it is not nil

	// How many runs are kept, this one included (0: 30, negative: all), and for how
	// long (0: 90 days, negative: for ever). The latest is kept in any case, and so
	// are those that have left something undone.
	Keep    int
	KeepFor time.Duration
}

// Source is the place of a declaration.
type Source struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text,omitempty"` // the source line
}

// Modules are files of a site that its own modules are made of, as far as one
// directory brings them along, and their digest, by which they are known again.
type Modules struct {
	Dir    string   `json:"dir"`
	Files  []string `json:"files"`
	Digest string   `json:"digest"`
}

// Run is a run in progress, which holds the folder's lock.
type Run struct {
	folder *Folder
	lock   *file
	holder holder
	status Status
	past   *Ledger      // what the runs before it have left, of all sites
	retain func() error // removes what is not kept
	saved  chan error   // how writing run.json and its like ended

	mu      sync.Mutex
	replay  *Replay // with what this run leaves
	backup  *Backup // nil: not asked for
	events  *file
	results *file // nil: nothing is kept yet
	secret  bool  // there are sensitive values among them
	out     *bufio.Writer
	failed  error // after it, nothing is appended
	synced  bool

	managed *Managed // nil until somebody asks

	run       *states.StateRun    // nil: the run goes on
	sensitive SensitiveAttributes // before this run
	settled   []string            // parts that have ended as they wanted to

	resumed *Resumed // nil: the run begins here

	sequence *sequence // of which this process writes the last stretch
	last     int64     // the number of the last event
}

// Start takes the lock, takes note of how runs have ended whose process has died,
// and begins a run's folder. The error is a *LockedError while another process
// applies, a *HeldError while applies are on hold, a *BegunError if there is a run
// already of that execution and host, however it stands, and a *WithdrawnError if it was
// withdrawn there.
func (f *Folder) Start(ctx context.Context, m Meta) (*Run, error) {
	begun := func() error { return f.begun(&m) }
	withdrawn := func() error { return f.withdrawn(m.Execution, m.Run.Host) }
	if err := f.mayStart(&m); err != nil { // before it waits
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
		err = f.join(&m)
	}
	if err == nil {
		var r *Run
		if r, err = f.begin(lock, last, m); err == nil {
			return r.unless(withdrawn)
		}
		err = fmt.Errorf("the run cannot be recorded: %w", err)
	}
	return nil, Join(err, unlock(lock))
}

func (f *Folder) begin(lock *file, last holder, m Meta) (*Run, error) {
	now, h := time.Now().UTC(), last
	h.LockedError = LockedError{
		PID: os.Getpid(), Since: now, Revision: m.Run.Revision, Boot: BootID(), Execution: m.Execution,
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
	id, err := f.nextID(last.Run, past.Through)
	if err != nil {
		return nil, err
	}
	sensitive, err := f.Sensitive()
	if err != nil {
		return nil, err
	}
	r := &Run{folder: f, lock: lock, holder: h, past: past, run: m.Run, sensitive: sensitive, saved: make(chan error, 1), status: Status{
		Format: StatusFormat, Run: id, State: Running, PID: h.PID, Program: f.options.Program,
		Site: m.Run.Site, Origin: m.Origin, Root: m.Root, Modules: m.Modules, Plan: m.Plan, Execution: m.Execution, Once: m.Once,
		Host: m.Run.Host, Revision: m.Run.Revision, Parts: partsOf(m.Run), Started: now,
	}}
	left := past.Clone()
	left.Damaged = nil // once is enough
	r.replay = NewReplay(left, Identity(m.Run.Site, m.Origin), id)
	keep, keepFor := cmp.Or(m.Keep, keepRuns), cmp.Or(m.KeepFor, keepAge)
	r.retain = func() error { return f.retain(left, keep, keepFor) }
	r.holder.Run = id
	if err := claim(lock, &r.holder); err != nil {
		return nil, err
	}
	err = f.disk.mkdir(f.path(id, "output"))
	if err == nil {
		err = r.writeStatus()
	}
	if err == nil {
		err = r.beginStretch(sequence, 0)
	}
	if err == nil {
		err = r.openEvents(os.O_CREATE | os.O_EXCL)
	}
	if err != nil { // a run that never began is none
		if gone := f.disk.remove(f.path(id)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = Join(err, gone)
		}
		return nil, err
	}
	// Written beside the first reads; Sync waits for it before the first act.
	fault.Go(func() {
		r.saved <- fault.Do(func() error {
			return Join(save(f.disk, f.path(id), m, f.sameRun(last.LockedError, h.LockedError)), r.recordSensitive(m.Run))
		})
	})
	return r, nil
}

// openEvents opens what events are appended to.
func (r *Run) openEvents(flags int) (err error) {
	if r.events, err = r.folder.disk.open(r.folder.path(r.ID(), "events.jsonl"), os.O_WRONLY|os.O_APPEND|flags); err != nil {
		return err
	}
	r.out = bufio.NewWriterSize(r.events, 1<<16)
	return nil
}

// partsOf counts the parts of a run.
func partsOf(run *states.StateRun) (n int) {
	for i := range run.Invocations {
		n += len(run.Invocations[i].Parts)
	}
	return n
}

// Ledger gives what the runs before this one have left, of all sites.
func (r *Run) Ledger() *Ledger { return r.past.Clone() }

// ID names the run.
func (r *Run) ID() string { return r.status.Run }

// Append writes an event, without making it durable. After an error nothing
// more is appended, and every call fails.
func (r *Run) Append(e states.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == states.EventRun {
		e.Origin = r.status.Origin
	}
	if r.failed == nil {
		var line []byte
		if line, r.failed = seal(&e); r.failed == nil {
			_, r.failed = r.out.Write(line)
		}
		if r.failed == nil {
			r.last = e.Seq
			r.replay.Add(&e)
			r.managed.Add(&e)
			r.settles(&e)
		}
	}
	return r.failed
}

// Flush hands all that was appended to the kernel: it outlives this process,
// but not a loss of power.
func (r *Run) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = r.out.Flush()
	}
	if r.failed != nil {
		return fmt.Errorf("the journal cannot be written: %w", r.failed)
	}
	return nil
}

// Sync makes durable all that was appended, and the run itself. It must have
// succeeded before what the events announce is done.
func (r *Run) Sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sync()
}

func (r *Run) sync() error {
	if !r.synced { // after an error, too: nothing is written beside what follows
		saved := <-r.saved
		if r.synced = true; r.failed == nil {
			r.failed = Join(saved, r.syncFiles())
		}
	}
	if r.failed == nil && r.results != nil { // before the events that say they are there
		r.failed = r.results.Sync()
	}
	if r.failed == nil {
		r.failed = r.out.Flush()
	}
	if r.failed == nil {
		r.failed = r.events.Sync()
	}
	if r.failed != nil {
		return fmt.Errorf("the journal cannot be written: %w", r.failed)
	}
	return nil
}

// Output keeps what a part's program printed on a stream ("stdout" or
// "stderr"). Secrets must have been masked.
func (r *Run) Output(address, stream string, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return r.folder.disk.write(r.folder.path(r.ID(), "output", OutputName(address, stream)), data, os.O_TRUNC)
}

// End is how a run ended.
type End struct {
	State  State
	Counts states.Counts
	Report *states.Report
	// Changed says that something acted, so that the journal's end must
	// survive a lost power.
	Changed bool
	Err     error // why the run itself ended early
}

// Finish writes the end and what is left for the runs to come, forgets the secrets,
// gives up the lock, and removes the oldest runs. The Run cannot be used afterwards.
func (r *Run) Finish(e End) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	if e.Changed {
		errs = append(errs, r.sync())
	} else {
		if !r.synced {
			errs = append(errs, <-r.saved)
		}
		errs = append(errs, r.failed, r.out.Flush())
	}
	if Join(errs...) == nil {
		errs = append(errs, r.endStretch(e.Changed))
	}
	s := &r.status
	s.State, s.Counts, s.Report, s.Ended = e.State, &e.Counts, e.Report, time.Now().UTC()
	if err := Join(e.Err, Join(errs...)); err != nil {
		s.Error = Line(err.Error())
	}
	if s.State == Done && Join(errs...) != nil {
		s.State = Failed // what cannot be recorded is not done
	}
	errs = append(errs, r.forget(r.isOver(&e)), r.writeStatus(), r.close())
	err := Join(r.leave(), r.leaveManaged(), r.leaveSensitive())
	if err == nil {
		err = r.retain()
	}
	errs = append(errs, err)
	return Join(append(errs, r.holder.release(r.lock))...)
}

// leave writes down what runs have left until now. If that is what it was before,
// the lock says so, which costs less than another owed.json. That is durable if
// there is something, or was: without it, all runs that are kept are read again.
func (r *Run) leave() error {
	r.replay.End()
	l := r.replay.Ledger
	if l.equal(r.past) && r.resumed == nil {
		r.holder.Settled, r.holder.Base = r.ID(), r.past.base
		return claim(r.lock, &r.holder)
	}
	return r.folder.writeLedger(l, !l.Empty() || !r.past.Empty() || len(l.Nodes)+len(r.past.Nodes) > 0)
}

// Abandon gives up the run's files and the lock, and writes nothing more, as
// the kernel does for a process that has died. The Run cannot be used afterwards.
func (r *Run) Abandon() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.synced {
		<-r.saved // whose error is that of a dead process
	}
	r.synced, r.failed = true, errAbandoned
	return Join(r.close(), r.lock.Close())
}

var errAbandoned = errors.New("the run was abandoned")

func (r *Run) writeStatus() error {
	return r.folder.writeStatus(&r.status, r.folder.path(r.ID()))
}

// writeStatus writes the status of a run, by way of a temporary file in a directory.
func (f *Folder) writeStatus(s *Status, dir string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return f.disk.replaceFrom(dir, f.path(s.Run, "status.json"), append(data, '\n'), false)
}

// close closes what the run writes to.
func (r *Run) close() error {
	err := r.events.Close()
	if r.results != nil {
		err = Join(err, r.results.Close())
	}
	return err
}

// syncFiles makes durable what the run is made of, and its place.
func (r *Run) syncFiles() error {
	var errs []error
	for _, path := range []string{
		r.folder.path(r.ID(), "run.json"), r.folder.path(r.ID(), "sources.json"),
		r.folder.path(r.ID(), secretsFile), r.folder.path(r.ID(), "status.json"),
		r.folder.path(r.ID()), filepath.Join(r.folder.dir, "runs"), r.folder.dir,
	} {
		err := r.folder.disk.sync(path)
		if errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == secretsFile {
			continue // a run without secrets
		}
		errs = append(errs, err)
	}
	return Join(errs...)
}
