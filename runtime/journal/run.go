package journal

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/states"
)

// Meta is what a run is about.
type Meta struct {
	Run     *states.StateRun
	Sources map[string]Source // address → place, for messages
	Keep    int               // how many former runs are kept; 0: 30
}

// Source is the place of a declaration.
type Source struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text,omitempty"` // the source line
}

// Run is a run in progress, which holds the folder's lock.
type Run struct {
	folder *Folder
	lock   *file
	status Status
	keep   int
	saved  chan error // how writing run.json and its like ended

	mu      sync.Mutex
	events  *file
	out     *bufio.Writer
	encoder *json.Encoder
	failed  error // after it, nothing is appended
	synced  bool
}

// Start takes the lock and begins a run's folder. The error is a *LockedError
// while another process applies.
func (f *Folder) Start(ctx context.Context, m Meta) (*Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	lock, last, err := f.acquire()
	if err != nil {
		return nil, err
	}
	r, err := f.begin(lock, last, m)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the run cannot be recorded: %w", err), lock.Close())
	}
	return r, nil
}

func (f *Folder) begin(lock *file, last LockedError, m Meta) (*Run, error) {
	id, err := f.nextID(last.Run)
	if err != nil {
		return nil, err
	}
	r := &Run{folder: f, lock: lock, keep: m.Keep, saved: make(chan error, 1), status: Status{
		Format: StatusFormat, Run: id, State: Running, PID: os.Getpid(), Program: f.options.Program,
		Site: m.Run.Site, Host: m.Run.Host, Revision: m.Run.Revision, Started: time.Now().UTC(),
	}}
	if r.keep == 0 {
		r.keep = 30
	}
	holder := LockedError{PID: os.Getpid(), Run: id, Since: r.status.Started, Revision: m.Run.Revision, Boot: BootID()}
	if err := claim(lock, holder); err != nil {
		return nil, err
	}
	if err := f.disk.mkdir(f.path(id, "output")); err != nil {
		return nil, err
	}
	if err := r.writeStatus(); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND | os.O_EXCL
	if r.events, err = f.disk.open(f.path(id, "events.jsonl"), flags); err != nil {
		return nil, err
	}
	r.out = bufio.NewWriterSize(r.events, 1<<16)
	r.encoder = json.NewEncoder(r.out)
	r.encoder.SetEscapeHTML(false)
	// Written beside the first reads; Sync waits for it before the first act.
	go func() { r.saved <- save(f.disk, f.path(id), m, f.sameRun(last, holder)) }()
	return r, nil
}

// nextID counts on from the latest run there is or was.
func (f *Folder) nextID(last string) (string, error) {
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	n, _ := counter(last)
	for _, id := range ids {
		if c, _ := counter(id); c > n {
			n = c
		}
	}
	random := make([]byte, 3)
	rand.Read(random)
	return fmt.Sprintf("%08d-%s", n+1, hex.EncodeToString(random)), nil
}

// counter gives the counter in an ID.
func counter(id string) (int, bool) {
	number, random, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && len(number) == 8 && len(random) == 6
}

// ID names the run.
func (r *Run) ID() string { return r.status.Run }

// Append writes an event, without making it durable. After an error nothing
// more is appended, and every call fails.
func (r *Run) Append(e states.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = r.encoder.Encode(e)
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
	if !r.synced && r.failed == nil {
		r.failed = errors.Join(<-r.saved, r.syncFiles())
		r.synced = true
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

// Finish writes the end, forgets the secrets, gives up the lock, and removes
// the oldest runs. The Run cannot be used afterwards.
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
	s := &r.status
	s.State, s.Counts, s.Report, s.Ended = e.State, &e.Counts, e.Report, time.Now().UTC()
	if e.Err != nil {
		s.Error = e.Err.Error()
	}
	errs = append(errs, r.writeStatus(), r.events.Close())
	if e.State == Done || e.State == Failed { // nobody goes on with it
		errs = append(errs, r.folder.disk.remove(r.folder.path(r.ID(), "secrets.json")))
	}
	_, err := r.folder.CleanOld(r.keep)
	return errors.Join(append(errs, err, r.lock.Close())...)
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
	return errors.Join(r.events.Close(), r.lock.Close())
}

var errAbandoned = errors.New("the run was abandoned")

func (r *Run) writeStatus() error {
	data, err := json.Marshal(r.status)
	if err != nil {
		return err
	}
	return r.folder.disk.replace(r.folder.path(r.ID(), "status.json"), append(data, '\n'), false)
}

// syncFiles makes durable what the run is made of, and its place.
func (r *Run) syncFiles() error {
	var errs []error
	for _, path := range []string{
		r.folder.path(r.ID(), "run.json"), r.folder.path(r.ID(), "sources.json"),
		r.folder.path(r.ID(), "secrets.json"), r.folder.path(r.ID()), filepath.Join(r.folder.dir, "runs"),
	} {
		err := r.folder.disk.sync(path)
		if errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == "secrets.json" {
			continue // a run without secrets
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
