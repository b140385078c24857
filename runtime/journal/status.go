package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/states"
)

// StatusFormat is the version of status.json.
const StatusFormat = "tenet.status/1"

// State is how a run stands.
type State string

// The states of a run.
const (
	Running     State = "running"
	Done        State = "done"
	Failed      State = "failed"      // it ended, and something failed
	Rebooting   State = "rebooting"   // it goes on once the machine has started anew
	Interrupted State = "interrupted" // it was ended, or its process is gone
	Damaged     State = "damaged"     // its status cannot be read: only List says so
)

// Status is the short story of a run.
type Status struct {
	Format      string         `json:"format"`
	Run         string         `json:"run"`
	State       State          `json:"state"`
	PID         int            `json:"pid"`
	Program     string         `json:"program,omitempty"` // the version that ran it
	Site        string         `json:"site,omitempty"`
	Origin      string         `json:"origin,omitempty"` // see Meta
	Root        string         `json:"root,omitempty"`
	Modules     []Modules      `json:"modules,omitempty"`
	Plan        string         `json:"plan,omitempty"`        // likewise
	Execution   string         `json:"execution,omitempty"`   // likewise
	Once        bool           `json:"once,omitempty"`        // likewise
	Resumptions []Resumption   `json:"resumptions,omitempty"` // by controllers, oldest first
	Host        string         `json:"host,omitempty"`
	Revision    string         `json:"revision"`
	Parts       int            `json:"parts,omitempty"` // how many there are
	Started     time.Time      `json:"started"`
	Paused      time.Time      `json:"paused,omitzero"` // when the machine was about to start anew
	Ended       time.Time      `json:"ended,omitzero"`
	Counts      *states.Counts `json:"counts,omitempty"`
	// Forgotten says that what is needed to go on with it was secret, and removed.
	Forgotten bool           `json:"forgotten,omitempty"`
	Error     string         `json:"error,omitempty"`  // why the run itself ended early
	Report    *states.Report `json:"report,omitempty"` // last: see head
}

// Resumption is an execution in which a controller has gone on with a run.
type Resumption struct {
	Execution string `json:"execution"`
	After     int64  `json:"after"` // the number of the last event before
}

// resumedBy gives the event after which an execution went on with the run.
func (s *Status) resumedBy(execution string) (after int64, ok bool) {
	for _, r := range s.Resumptions {
		if execution != "" && r.Execution == execution {
			return r.After, true
		}
	}
	return 0, false
}

// List gives the status of every run, oldest first, without their reports.
func (f *Folder) List() ([]Status, error) {
	ids, err := f.ids()
	if err != nil {
		return nil, err
	}
	holder := f.Holder() // before their status is read: see Status
	var list []Status
	for _, id := range ids {
		s, err := f.head(id)
		if s, err = s.now(id, holder, err); err != nil { // one that is damaged does not hide the others
			s = Status{Run: id, State: Damaged, Error: err.Error()}
		}
		list = append(list, s)
	}
	return list, nil
}

// Status tells how a run stands; "" is the latest run, and the beginning of an
// ID will do. A run that says it is running, but whose process is gone, is
// Interrupted.
func (f *Folder) Status(id string) (Status, error) {
	id, err := f.find(id)
	if err != nil {
		return Status{}, err
	}
	// A run that is there and does not hold the lock has written its last status.
	holder := f.Holder()
	var s Status
	data, err := f.disk.readFile(f.path(id, "status.json"))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s.now(id, holder, err)
}

// now completes what was read of a run's status, with the error of doing so, by
// who held the lock before.
func (s Status) now(id string, holder *LockedError, err error) (Status, error) {
	running := holder != nil && holder.Run == id
	switch {
	case errors.Is(err, fs.ErrNotExist) && running: // it has just begun
		return Status{Format: StatusFormat, Run: id, State: Running, PID: holder.PID, Revision: holder.Revision, Started: holder.Since}, nil
	case errors.Is(err, fs.ErrNotExist): // it died before its first word
		return Status{Run: id, State: Interrupted, Error: processGone}, nil
	case errors.Is(err, fs.ErrPermission): // of another user, maybe
		return Status{}, fmt.Errorf("the status of run %s cannot be read: %w", id, err)
	case err != nil:
		return Status{}, fmt.Errorf("the status of run %s is damaged: %w", id, err)
	case s.State == Running && !running:
		s.State, s.Error = Interrupted, processGone
	}
	return s, nil
}
