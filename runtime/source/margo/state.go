package margo

import (
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Format is the form of a State, for later programs.
const Format = "tenet-margo/v1"

// State is all that a device keeps.
type State struct {
	Format string `json:"format"`
	Client string `json:"client"` // the identity whose manifests these are
	// Accepted is the highest version whose documents were all verified: nothing below it is ever applied again.
	Accepted Mark `json:"accepted"`
	// Synced is the version that came to a good end, and what the manager is told that the device has.
	Synced      Synced              `json:"synced"`
	Applying    bool                `json:"applying,omitempty"` // what is accepted is being applied
	Deployments map[string]Workload `json:"deployments,omitempty"`
	Outbox      map[string]Report   `json:"outbox,omitempty"` // by deployment: the newest that the manager has not taken
	Serial      uint64              `json:"serial,omitempty"` // of the last report
	// Described is the digest of the capabilities that the manager has.
	Described rc2.Digest `json:"described,omitempty"`
	Retired   bool       `json:"retired,omitempty"` // the manager wants no more of this device

	// When things are due is begun anew with each program: so a question each minute writes nothing.
	Description Turn `json:"-"` // of the capabilities, where they were not taken
	Poll        Turn `json:"-"`
	Retry       Turn `json:"-"` // of what is accepted and has failed
	// What people were told last of the manager: the same again is no news.
	Trouble string `json:"-"`
	Offence Mark   `json:"-"`
}

// Mark is a version of a manifest and the digest of its bytes.
type Mark struct {
	Version uint64     `json:"version"`
	Digest  rc2.Digest `json:"digest,omitempty"`
}

// Synced is a version and its ETag.
type Synced struct {
	Version uint64 `json:"version"`
	ETag    string `json:"etag,omitempty"`
}

// Workload is a deployment on this device.
type Workload struct {
	Digest  rc2.Digest `json:"digest"`
	Version uint64     `json:"version"` // of the newest manifest that was adopted for it
	Name    string     `json:"name"`
	Device  string     `json:"device,omitempty"` // on behalf of which reports are made, where it is not this one
	Absent  bool       `json:"absent,omitempty"` // it is to go
	Refused bool       `json:"refused,omitempty"`
	// Present is the document that is, or may be, on the host: of a refused one the former, which stays.
	Present rc2.Digest `json:"present,omitempty"`
	// Host are the components that may be there, also those that are to go.
	Host       []string              `json:"host,omitempty"`
	Components []rc2.ComponentStatus `json:"components"`
}

// Report is a status on its way.
type Report struct {
	Status rc2.Status `json:"status"`
	Serial uint64     `json:"serial"`
	Turn   Turn       `json:"-"`
}

// Turn is when something is due, and how often it has failed in a row.
type Turn struct {
	Since    time.Time
	Wait     time.Duration
	Failures int
}

// isDue tells whether the time has come. Where the clock was put back before the turn began, nobody knows how long that is ago: then
// it has.
func (t Turn) isDue(now time.Time) bool {
	return now.Before(t.Since) || !now.Before(t.Since.Add(t.Wait))
}

// next is the time at which it is due.
func (t Turn) next() time.Time { return t.Since.Add(t.Wait) }

// clone gives a State of which nothing is shared.
func (s State) clone() State {
	s.Deployments, s.Outbox = maps.Clone(s.Deployments), maps.Clone(s.Outbox)
	if s.Deployments == nil {
		s.Deployments = map[string]Workload{}
	}
	if s.Outbox == nil {
		s.Outbox = map[string]Report{}
	}
	for id, w := range s.Deployments {
		w.Host, w.Components = slices.Clone(w.Host), slices.Clone(w.Components)
		s.Deployments[id] = w
	}
	return s
}

// settled tells whether there is nothing to do for a deployment until its document is another.
func (w Workload) settled() bool {
	if w.Absent {
		return false
	}
	if w.Refused {
		return true
	}
	for _, c := range w.Components {
		if c.State != rc2.Installed {
			return false
		}
	}
	return len(w.extra()) == 0
}

// extra are the components on the host that its document has no more.
func (w Workload) extra() (out []string) {
	for _, name := range w.Host {
		if w.index(name) < 0 {
			out = append(out, name)
		}
	}
	return out
}

func (w Workload) index(component string) int {
	return slices.IndexFunc(w.Components, func(c rc2.ComponentStatus) bool { return c.Name == component })
}

// overall is the state of a deployment; the error is that of the first component that has one.
func (w Workload) overall() rc2.Overall {
	o := rc2.Overall{State: rc2.Gravest(w.Components)}
	if o.State != rc2.Failed {
		return o
	}
	for _, c := range w.Components {
		if c.State == rc2.Failed && c.Error != nil {
			e := *c.Error
			if e.Source == c.Name {
				e.Source, e.Message = w.Name, c.Name+": "+e.Message
			}
			o.Error = &e
			break
		}
	}
	return o
}
