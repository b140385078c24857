package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/internal/atomicfile"
)

// RecordHook is what ran around one batch of an execution, or is due.
type RecordHook struct {
	Kind   HookKind       `json:"kind"`
	Stage  string         `json:"stage,omitempty"` // empty: none
	State  string         `json:"state"`           // its address
	Params map[string]any `json:"params,omitempty"`
	Hosts  []string       `json:"hosts"`                  // where it runs, without those of the batch
	Batch  []string       `json:"batch"`                  // around which
	Failed []string       `json:"failed_hosts,omitempty"` // of the batch, as it was told
	// Execution is what its last run is called on its hosts; empty: it has not begun.
	Execution string     `json:"execution,omitempty"`
	Status    HookStatus `json:"status"`
}

// HookKind tells hooks before a batch from those behind it.
type HookKind string

// The kinds of hooks.
const (
	BeforeEach HookKind = "before_each"
	AfterEach  HookKind = "after_each"
)

// HookStatus is how a hook stands.
type HookStatus string

// The ways it stands.
const (
	HookPlanned HookStatus = "planned" // an apply would run it; it stands in no record
	HookDue     HookStatus = "due"     // it has not begun
	HookRunning HookStatus = "running"
	HookDone    HookStatus = "done"
	HookFailed  HookStatus = "failed" // it is due, then, if it is an after_each
)

// RecordHooks gives what runs around the batch, in its order: on none of its own machines.
func (b *Batch) RecordHooks(status HookStatus) (list []RecordHook) {
	for _, kind := range []HookKind{BeforeEach, AfterEach} {
		hooks := b.Before
		if kind == AfterEach {
			hooks = b.After
		}
		for _, one := range hooks {
			hosts := slices.DeleteFunc(slices.Clone(one.Hosts), func(name string) bool { return slices.Contains(b.Machines, name) })
			list = append(list, RecordHook{
				Kind: kind, Stage: b.Stage, State: one.State, Params: one.Params, Hosts: hosts, Batch: b.Machines, Status: status,
			})
		}
	}
	return list
}

// Name tells of the hook in messages.
func (h *RecordHook) Name() string {
	text := fmt.Sprintf("%s %s", h.Kind, h.State)
	if len(h.Hosts) > 0 {
		text += " on " + strings.Join(h.Hosts, ", ")
	}
	return text
}

// IsDue reports whether it has to run yet.
func (h *RecordHook) IsDue() bool { return h.Kind == AfterEach && h.Status != HookDone }

// DueHooks gives the hooks that have to run yet.
func (r *Record) DueHooks() (due []RecordHook) {
	for _, h := range r.Hooks {
		if h.IsDue() {
			due = append(due, h)
		}
	}
	return due
}

// dueMark is behind the ID of an execution in the name of a file that says that it may have hooks
// which are due: they are found without reading all records, which stay as long.
const dueMark = ".due"

func (x *Execution) markName() string { return filepath.Join(x.dir, x.record.ID+dueMark) }

// mark marks an execution before it has hooks that are due.
func (x *Execution) mark() error {
	if len(x.record.DueHooks()) == 0 {
		return nil
	}
	if _, err := os.Lstat(x.markName()); err == nil {
		return nil
	}
	return atomicfile.Replace(x.markName(), atomicfile.Options{Durable: true}, func(*os.File) error { return nil })
}

// unmark takes the mark away once nothing is due.
func (x *Execution) unmark() error {
	if len(x.record.DueHooks()) > 0 {
		return nil
	}
	if err := os.Remove(x.markName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (e *Executions) isMarked(id string) bool {
	_, err := os.Lstat(filepath.Join(e.Dir, id+dueMark))
	return err == nil
}

// Due gives the records of executions that have hooks which are due, oldest first.
func (e *Executions) Due() (list []Record, err error) {
	ids, err := e.ids()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !e.isMarked(id) {
			continue
		}
		r, broken := e.read(id)
		if broken != nil {
			err = errors.Join(err, broken)
			continue
		}
		if len(r.DueHooks()) > 0 {
			list = append(list, *r)
		}
	}
	return list, err
}

// Open gives the record of an execution whose controller is gone, to be gone on with.
func (e *Executions) Open(id string) (*Execution, error) {
	r, err := e.Load(id)
	if err != nil {
		return nil, err
	}
	return &Execution{dir: e.Dir, record: *r}, nil
}

// HookHosts gives the machines that the hooks of the execution run on, and those of the batches around which
// they do.
func (x *Execution) HookHosts() (hosts, batches []string) {
	for _, h := range x.record.Hooks {
		hosts, batches = append(hosts, h.Hosts...), append(batches, h.Batch...)
	}
	return hosts, batches
}

// FailedHosts gives those of the machines that the last after_each of those executions that are
// meant was told had failed.
func (e *Executions) FailedHosts(machines []string, isMeant func(*Record) bool) (map[string]bool, error) {
	ids, err := e.ids()
	if err != nil {
		return nil, err
	}
	failed, open := map[string]bool{}, map[string]bool{}
	for _, name := range machines {
		open[name] = true
	}
	for len(ids) > 0 && len(open) > 0 {
		var latest []*Record // those of one second: their IDs do not tell which is later
		second := ids[len(ids)-1][:len("99999999-999999")]
		for ; len(ids) > 0 && strings.HasPrefix(ids[len(ids)-1], second); ids = ids[:len(ids)-1] {
			if r, err := e.read(ids[len(ids)-1]); err == nil && isMeant(r) { // what cannot be read is told where it is listed
				latest = append(latest, r)
			}
		}
		slices.SortFunc(latest, func(a, b *Record) int { return b.Started.Compare(a.Started) })
		for _, r := range latest {
			r.takeFailed(open, failed)
		}
	}
	return failed, nil
}

// takeFailed adds to failed what the record has of machines of which it is open.
func (r *Record) takeFailed(open, failed map[string]bool) {
	for _, h := range slices.Backward(r.Hooks) {
		if h.Kind != AfterEach || h.Status != HookDone {
			continue
		}
		for _, name := range h.Batch {
			if open[name] {
				failed[name] = slices.Contains(h.Failed, name)
				delete(open, name)
			}
		}
	}
}

// ErrHooksLocked says that another process runs hooks of the same site.
var ErrHooksLocked = errors.New("another rollout with hooks is under way")

// LockHooks keeps other processes from running hooks of a site until release is called. It does not
// wait: the error is then ErrHooksLocked.
func (e *Executions) LockHooks(site string) (release func(), err error) {
	if err := os.MkdirAll(e.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(e.Dir, lockName(site)), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrHooksLocked
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

func lockName(site string) string {
	sum := sha256.Sum256([]byte(site))
	return "hooks-" + hex.EncodeToString(sum[:8]) + ".lock"
}
