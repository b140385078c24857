package states

import "time"

// Debt is what a handler is owed: it has to run, since its notifier changed,
// failed or may have done either, and it has not run well since.
type Debt struct {
	Site     string    `json:"site"`     // whose handler: see journal.Identity
	Handler  string    `json:"handler"`  // without wave
	Notifier string    `json:"notifier"` // the part or block, without wave
	Run      string    `json:"run"`      // in which it came to be
	Since    time.Time `json:"since"`
	Why      Outcome   `json:"why"` // how the notifier ended: changed, failed or unknown
}

// Cause says in words what it is owed for: that its notifier has changed, say.
func (d Debt) Cause() string {
	switch d.Why {
	case Changed, Failed:
		return d.Notifier + " " + string(d.Why)
	}
	return d.Notifier + " was begun, and nobody saw it end"
}

// Begun is a part that a run began and did not end: nobody knows what came of it.
type Begun struct {
	Site    string    `json:"site"`
	Address string    `json:"address"` // without wave
	ID      string    `json:"id,omitempty"`
	Type    string    `json:"type"`
	Key     string    `json:"key,omitempty"`
	Action  Action    `json:"action,omitempty"`
	Run     string    `json:"run"`
	Time    time.Time `json:"time"`           // of its beginning
	Boot    string    `json:"boot,omitempty"` // the kernel's boot id then
}

// Resource names one resource on a host, and who declares it.
type Resource struct {
	Type string `json:"type,omitempty"`
	Key  string `json:"key,omitempty"` // empty: only the host knows it
	// Address is that of the part, without wave. Without a Type it is that of a
	// declaration of whose parts nothing is known, and stands for all below it.
	Address string `json:"address"`
}
