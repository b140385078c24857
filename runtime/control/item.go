package control

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// Item is one thing that an agent tells by its stream: one of its fields is there besides At.
type Item struct {
	At    time.Time `json:"at"` // by the host's clock
	Facts *Facts    `json:"facts,omitempty"`
	Loop  *Loop     `json:"loop,omitempty"`
	Run   *Run      `json:"run,omitempty"`
	Event *Event    `json:"event,omitempty"`
	// Outputs is what the host gives to others.
	Outputs *Outputs `json:"outputs,omitempty"`
	Update  *Update  `json:"update,omitempty"`
}

// Facts are those of a host, whenever they have changed. Signed is a FactsReport of kind trust.KindReport, so that whoever evaluates elsewhere
// than on the server need not believe it.
type Facts struct {
	Signed *trust.Signed `json:"signed"`
}

// FactsReport is what a host signs of its facts.
type FactsReport struct {
	Host   trust.ID                   `json:"host"`
	Number uint64                     `json:"number"` // grows with each report
	At     time.Time                  `json:"at"`
	Facts  map[string]json.RawMessage `json:"facts"`
	Errors map[string]string          `json:"errors,omitempty"` // why a fact cannot be told
}

// Phase is what the loop of a site does on a host.
type Phase string

// The phases.
const (
	PhaseWaiting     Phase = "waiting"     // for something new, or until it looks again: State says how things are
	PhaseDiscovering Phase = "discovering" // it plans
	PhaseValidating  Phase = "validating"  // a plan has found nothing to do, and it checks the rest
	PhaseApplying    Phase = "applying"
	PhaseRetrying    Phase = "retrying"  // it waits until Next
	PhaseReverting   Phase = "reverting" // to what was last converged
	PhaseBlocked     Phase = "blocked"   // by a hold, a window or a lock: Reason says which
	PhaseHelp        Phase = "help"      // nothing is applied until something new is wanted, or a person says so
	PhaseRemoving    Phase = "removing"  // the site says nothing of the host any more
	PhaseGone        Phase = "gone"
)

// Condition is how a host is, as far as a site goes, as its loop saw it last.
type Condition string

// The conditions.
const (
	ConditionUnknown   Condition = ""
	ConditionConverged Condition = "converged"
	ConditionDrifted   Condition = "drifted"
	ConditionFailed    Condition = "failed"
	ConditionReverted  Condition = "reverted"
)

// Loop is where the loop of a site stands, whenever that changes.
type Loop struct {
	Site      string         `json:"site"`
	Position  trust.Position `json:"position"` // of the assignment that it has taken up
	Revision  string         `json:"revision"`
	Phase     Phase          `json:"phase"`
	Condition Condition      `json:"condition,omitempty"`
	Cause     string         `json:"cause,omitempty"`   // what has come to nothing: see reconcile.Cause
	Reason    string         `json:"reason,omitempty"`  // why this phase
	Attempt   int            `json:"attempt,omitempty"` // of Attempts, by one cause
	Attempts  int            `json:"attempts,omitempty"`
	Next      time.Time      `json:"next,omitzero"` // when it looks or tries again
}

// Run is the end of a run, or its begin where Ended is zero.
type Run struct {
	Site     string         `json:"site"`
	Run      string         `json:"run"`
	Position trust.Position `json:"position"`
	Revision string         `json:"revision"`
	Started  time.Time      `json:"started"`
	Ended    time.Time      `json:"ended,omitzero"`
	Failed   bool           `json:"failed,omitempty"`
	Counts   *states.Counts `json:"counts,omitempty"`
	Report   *states.Report `json:"report,omitempty"`
	Error    string         `json:"error,omitempty"`
}

// Outputs are what a host gives to other hosts of a site, whenever that has changed: what it knows of them, and nothing that is sensitive.
// What is not among them is as it was.
type Outputs struct {
	Site   string                     `json:"site"`
	Values map[string]json.RawMessage `json:"values"`
	// Signed is an OutputsReport of kind trust.KindOutputs, for whoever evaluates elsewhere than on the server.
	Signed *trust.Signed `json:"signed,omitempty"`
}

// OutputsReport is what a host signs of what it gives to others: all that it has given since its agent has started.
type OutputsReport struct {
	Host   trust.ID                   `json:"host"`
	Site   string                     `json:"site"`
	Number uint64                     `json:"number"` // grows with each report
	At     time.Time                  `json:"at"`
	Values map[string]json.RawMessage `json:"values"`
}

// UpdatePhase is how far a host is with a release.
type UpdatePhase string

// The phases.
const (
	UpdateFetching UpdatePhase = "fetching" // the program
	UpdateWaiting  UpdatePhase = "waiting"  // until nothing is applied: Reason says what it waits for
	UpdateTrying   UpdatePhase = "trying"   // the program runs beside the present one, and changes nothing
	UpdateSwitched UpdatePhase = "switched" // it runs from now on
	UpdateRefused  UpdatePhase = "refused"  // the release is none for this host
	UpdateFailed   UpdatePhase = "failed"   // the former program goes on
)

// Update is how far a host is with a release, whenever that changes.
type Update struct {
	Number  int64        `json:"number"`  // of the Offer
	Release trust.Digest `json:"release"` // of what was signed
	Version string       `json:"version,omitempty"`
	Phase   UpdatePhase  `json:"phase"`
	Reason  string       `json:"reason,omitempty"`
	Next    time.Time    `json:"next,omitzero"` // when it is tried again
}

// Event is one of a run, as its events.jsonl has it.
type Event struct {
	Site  string          `json:"site"`
	Run   string          `json:"run"`
	Event json.RawMessage `json:"event"`
}

// ParseItem reads an item of a stream.
func ParseItem(data []byte) (*Item, error) {
	i := &Item{}
	if err := json.Unmarshal(data, i); err != nil {
		return nil, fmt.Errorf("an item of the stream cannot be read: %w", err)
	}
	n := 0
	for _, is := range []bool{i.Facts != nil, i.Loop != nil, i.Run != nil, i.Event != nil, i.Outputs != nil, i.Update != nil} {
		if is {
			n++
		}
	}
	if n != 1 {
		return nil, fmt.Errorf("an item of the stream tells %d things that are known here", n)
	}
	return i, nil
}
