package journal

import (
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
	Interrupted State = "interrupted" // it was ended, or its process is gone
	Damaged     State = "damaged"     // its status cannot be read: only List says so
)

// Status is the short story of a run.
type Status struct {
	Format   string         `json:"format"`
	Run      string         `json:"run"`
	State    State          `json:"state"`
	PID      int            `json:"pid"`
	Program  string         `json:"program,omitempty"` // the version that ran it
	Site     string         `json:"site,omitempty"`
	Origin   string         `json:"origin,omitempty"` // see Meta
	Root     string         `json:"root,omitempty"`
	Host     string         `json:"host,omitempty"`
	Revision string         `json:"revision"`
	Started  time.Time      `json:"started"`
	Ended    time.Time      `json:"ended,omitzero"`
	Counts   *states.Counts `json:"counts,omitempty"`
	Error    string         `json:"error,omitempty"`  // why the run itself ended early
	Report   *states.Report `json:"report,omitempty"` // last: see head
}

// now corrects a status that says it is running by who holds the lock.
func (s Status) now(holder *LockedError) Status {
	if s.State == Running && (holder == nil || holder.Run != s.Run) {
		s.State, s.Error = Interrupted, processGone
	}
	return s
}
