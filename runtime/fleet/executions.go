package fleet

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// RecordFormat is the version of the records of executions that are written.
const RecordFormat = "tenet.execution/3"

// The versions before: in the first one three statuses had other names, and the second knew no
// hooks.
const (
	formatOne = "tenet.execution/1"
	formatTwo = "tenet.execution/2"
)

// statusOfOne gives a status that format one has written its name of today.
func statusOfOne(s Status) Status {
	switch s {
	case "left":
		return Detached
	case "wrong":
		return Invalid
	case "spared":
		return Skipped
	}
	return s
}

// How long records are kept, and how many.
const (
	keepRecords    = 1000
	keepRecordsFor = 90 * 24 * time.Hour
)

// maxRecord is how many bytes a record may have: a larger one is none.
const maxRecord = 64 << 20

// Executions are the records of what a controller has done on machines: with an
// execution's ID it finds them again, though it was killed in the middle.
type Executions struct {
	Dir string // for their owner alone
}

// Record is what was done at once, and where. It holds no secrets.
type Record struct {
	Format  string    `json:"format"`
	ID      string    `json:"id"`
	Command string    `json:"command"`          // without its arguments
	Site    string    `json:"site,omitempty"`   // its name
	Origin  string    `json:"origin,omitempty"` // where the site lies
	User    string    `json:"user,omitempty"`   // who did it
	Started time.Time `json:"started"`
	// Ended is zero while it goes on, and where the controller did not see the end.
	Ended time.Time    `json:"ended,omitzero"`
	Hosts []RecordHost `json:"hosts"`
	// Hooks are what ran around its batches, or is due: those of a batch stand here before
	// the first of them begins.
	Hooks []RecordHook `json:"hooks,omitempty"`
}

// RecordHost is one machine of an execution, and how it is reached.
type RecordHost struct {
	Name         string   `json:"name"`
	Executor     string   `json:"executor,omitempty"` // "ssh" or "local"
	Address      string   `json:"address,omitempty"`
	Port         int      `json:"port,omitempty"`
	User         string   `json:"user,omitempty"`
	Become       string   `json:"become,omitempty"` // the account that acts there
	BecomeMethod string   `json:"become_method,omitempty"`
	Options      []string `json:"options,omitempty"`      // of the SSH client
	RunnerCache  string   `json:"runner_cache,omitempty"` // where its runners are
	Run          string   `json:"run,omitempty"`          // that was begun there
	// Becomes says that parts of the run act as other accounts, so that a password for sudo
	// or doas may be needed. It is known where Run is.
	Becomes bool `json:"becomes,omitempty"`
	// Status is how it ended; empty: it is not known.
	Status Status `json:"status,omitempty"`
}

// NotFoundError says that there is no such execution.
type NotFoundError struct{ ID string }

// Error says so.
func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no execution %s", e.ID) }

// New begins an execution, and writes its record: what it is called, and when it
// started, is filled in. Old records go.
func (e *Executions) New(r Record) (*Execution, error) {
	if err := os.MkdirAll(e.Dir, 0o700); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	r.Format, r.Started, r.Ended = RecordFormat, now, time.Time{}
	r.ID = newID(now)
	r.Hosts = slices.Clone(r.Hosts)
	x := &Execution{dir: e.Dir, record: r}
	if err := x.write(); err != nil {
		return nil, err
	}
	e.prune(now)
	return x, nil
}

// newID names what is begun now.
func newID(now time.Time) string {
	var random [3]byte
	rand.Read(random[:])
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

// IsExecution tells whether a name is one of an execution, or the beginning of one,
// and not that of a run on some machine.
func IsExecution(id string) bool {
	const form = "99999999-999999-xxxxxx"
	if len(id) < len("99999999-") || len(id) > len(form) {
		return false
	}
	for i, c := range []byte(id) {
		switch form[i] {
		case '-':
			if c != '-' {
				return false
			}
		case '9':
			if c < '0' || c > '9' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdef", rune(c)) {
				return false
			}
		}
	}
	return true
}

// ids gives those that there are, oldest first.
func (e *Executions) ids() ([]string, error) {
	entries, err := os.ReadDir(e.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []string
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if ok && IsExecution(id) && entry.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	return ids, nil // sorted, since ReadDir does
}

// List gives all records, oldest first. The error is for those that cannot be read, and
// comes beside the others.
func (e *Executions) List() ([]Record, error) {
	ids, err := e.ids()
	var list []Record
	for _, id := range ids {
		r, broken := e.read(id)
		if broken != nil {
			err = errors.Join(err, broken)
			continue
		}
		list = append(list, *r)
	}
	// The IDs of those that were begun within one second do not tell.
	slices.SortStableFunc(list, func(a, b Record) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

// Load gives the record of an execution, by its ID or the beginning of one. The error is
// a *NotFoundError if there is none.
func (e *Executions) Load(id string) (*Record, error) {
	ids, err := e.ids()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, other := range ids {
		switch {
		case other == id:
			return e.read(id)
		case id != "" && strings.HasPrefix(other, id):
			found = append(found, other)
		}
	}
	switch len(found) {
	case 0:
		return nil, &NotFoundError{id}
	case 1:
		return e.read(found[0])
	}
	return nil, fmt.Errorf("%s is the beginning of %d executions: %s", id, len(found), strings.Join(found, ", "))
}

// Remove forgets an execution. That there is none is no error.
func (e *Executions) Remove(id string) error {
	if !IsExecution(id) {
		return &NotFoundError{id}
	}
	for _, name := range []string{id + ".json", id + dueMark} {
		if err := os.Remove(filepath.Join(e.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (e *Executions) read(id string) (*Record, error) {
	name := filepath.Join(e.Dir, id+".json")
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, fmt.Errorf("%s is no record of an execution", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r Record
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // params of hooks keep all their digits
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("the record of execution %s is damaged: %w", id, err)
	}
	if r.Format == formatTwo {
		r.Format = RecordFormat
	}
	if r.Format == formatOne {
		r.Format = RecordFormat
		for i := range r.Hosts {
			r.Hosts[i].Status = statusOfOne(r.Hosts[i].Status)
		}
	}
	if r.Format != RecordFormat || r.ID != id {
		return nil, fmt.Errorf("%s is not the record of execution %s that this version of tenet writes (%s)", name, id, RecordFormat)
	}
	return &r, nil
}

// prune removes the records that are too old, or too many, and what a controller that
// was killed left half written. What cannot be removed stays until the next time.
func (e *Executions) prune(now time.Time) {
	ids, err := e.ids()
	if err != nil {
		return
	}
	oldest := now.Add(-keepRecordsFor).Format("20060102-150405-")
	for i, id := range ids {
		if (id < oldest || len(ids)-i > keepRecords) && !e.isMarked(id) {
			os.Remove(filepath.Join(e.Dir, id+".json"))
		}
	}
	halves, _ := filepath.Glob(filepath.Join(e.Dir, ".*.tmp"))
	for _, name := range halves {
		if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > time.Hour {
			os.Remove(name)
		}
	}
}
