package states

import "time"

// The states of a part in a report.
const (
	PartPresent  = string(Present)
	PartAbsent   = string(Absent)
	PartCreating = "creating" // it is being made, or changed
	PartRemoving = "removing"
	PartPending  = "pending" // not reached, skipped, blocked, or a handler that nobody notified
	PartError    = "error"
	PartDone     = "done" // an act that was carried out, or proved needless, or a part of a rule whose node is as it should be
)

// Report is what is, part by part: the end of a run.
type Report struct {
	Host     string       `json:"host"`
	Run      string       `json:"run,omitempty"`
	Revision string       `json:"revision"`
	Ready    bool         `json:"ready"` // every resource is in its target
	Parts    []PartReport `json:"parts"`
}

// PartReport is the condition of one part. State is never Present without a
// Read that said so.
type PartReport struct {
	ID      string   `json:"id"`
	Address string   `json:"address"`
	Type    string   `json:"type"`
	Key     string   `json:"key,omitempty"`
	Target  Ensure   `json:"target"`
	State   string   `json:"state"` // one of those above
	Reason  string   `json:"reason,omitempty"`
	Error   *Failure `json:"error,omitempty"`
	Changed bool     `json:"changed"`
	// Cluster is the cluster by which alone the host has the part; empty: it has it by other means.
	Cluster   string    `json:"cluster,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}
