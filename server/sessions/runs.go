package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// RunRecord is a run of a host.
type RunRecord struct {
	Host     trust.ID       `json:"host"`
	Run      string         `json:"run"`
	Site     string         `json:"site"`
	Revision string         `json:"revision"`
	Started  time.Time      `json:"started"`
	Ended    *time.Time     `json:"ended,omitempty"` // nil: it goes on
	Failed   bool           `json:"failed"`
	Counts   *states.Counts `json:"counts,omitempty"`
	Error    string         `json:"error,omitempty"`
}

// Outcome says in a word what a run has come to.
type Outcome string

// The outcomes.
const (
	OutcomeRunning   Outcome = "running"
	OutcomeFailed    Outcome = "failed"
	OutcomeChanged   Outcome = "changed" // it has changed something, and nothing failed
	OutcomeUnchanged Outcome = "unchanged"
)

// Outcomes lists them.
func Outcomes() []Outcome {
	return []Outcome{OutcomeRunning, OutcomeFailed, OutcomeChanged, OutcomeUnchanged}
}

// Outcome gives that of the run.
func (r *RunRecord) Outcome() Outcome {
	switch {
	case r.Ended == nil:
		return OutcomeRunning
	case r.Failed:
		return OutcomeFailed
	case r.Counts != nil && r.Counts.Changed > 0:
		return OutcomeChanged
	}
	return OutcomeUnchanged
}

// RunPosition is the place of a run in the list of all: after it come those that began earlier.
type RunPosition struct {
	Started time.Time `json:"started"`
	Host    trust.ID  `json:"host"`
	Run     string    `json:"run"`
}

// compare tells which began earlier: below zero, this one.
func (p *RunPosition) compare(q *RunPosition) int {
	return cmp.Or(p.Started.Compare(q.Started), strings.Compare(string(p.Host), string(q.Host)), strings.Compare(p.Run, q.Run))
}

// RunFilter says which runs are listed: newest first.
type RunFilter struct {
	// Hosts and Sites are those of which runs are looked for, each by itself; nil: any. A few are found at once in whatever there is.
	Hosts []trust.ID
	Sites []string
	// Outcome is that of the runs; empty: any.
	Outcome Outcome
	// Fits tells whether a run is listed of a host for a site; nil: each is.
	Fits   func(host trust.ID, site string) bool
	Before time.Time    // zero: from the newest on
	After  *RunPosition // the last one of the part before; nil: there is none
	Limit  int          // 0: 100
	// Look is how many runs are looked at, whether they fit or not; 0: 20,000.
	Look int
}

// RunsPart is a part of the list of runs.
type RunsPart struct {
	Runs []*RunRecord
	Next *RunPosition // where the list goes on; nil: nowhere
}

// Limits of lists of runs.
const (
	defaultRuns = 100
	mostRuns    = 1000
	defaultLook = 20_000
)

// Runs lists runs, by indexes alone and in bounded time: where few of those that it looks at fit there are fewer than the limit, and a Next.
func (s *Sessions) Runs(ctx context.Context, f RunFilter) (part RunsPart, err error) {
	if f.Limit <= 0 || f.Limit > mostRuns {
		f.Limit = defaultRuns
	}
	if f.Look <= 0 {
		f.Look = defaultLook
	}
	err = s.Store.Read(ctx, func(r store.Reader) (err error) {
		part = RunsPart{}
		part.Runs, part.Next, err = f.find(r)
		return err
	})
	return part, err
}

// RunOf gives one run of a host; nil: none of it is kept.
func (s *Sessions) RunOf(ctx context.Context, host trust.ID, run string) (record *RunRecord, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		record, err = readRun(r, host, run)
		return err
	})
	return record, err
}

// readRun reads a run; nil: there is none.
func readRun(r store.Reader, host trust.ID, run string) (*RunRecord, error) {
	one := &RunRecord{Host: host, Run: run}
	var counts []byte
	found, err := store.One(r, `SELECT site, revision, started, ended, failed, counts, error FROM sessions_runs WHERE host = $1 AND run = $2`, []any{string(host), run},
		&one.Site, &one.Revision, &one.Started, &one.Ended, &one.Failed, &counts, &one.Error)
	if err != nil || !found {
		return nil, err
	}
	if len(counts) > 0 {
		if err := json.Unmarshal(counts, &one.Counts); err != nil {
			return nil, fmt.Errorf("the run %s of the host %s is damaged: %w", run, host.Short(), err)
		}
	}
	return one, nil
}
