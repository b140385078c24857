package site

import (
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
)

// Hook is a state that is brought about on some hosts before or after each batch of a
// rollout.
type Hook struct {
	Hosts  []string       `json:"hosts"`            // in the order of the inventory
	State  string         `json:"state"`            // its address
	Params map[string]any `json:"params,omitempty"` // plain data, nothing sensitive
	Range  diag.Range     `json:"range,omitzero"`
}

// The params that a hook's state is given by the rollout, if it has them: lists of names.
const (
	ParamBatch  = "batch"  // the hosts of the batch
	ParamFailed = "failed" // those that did not end well, or nobody knows how
)

// String tells the state, the hosts and the params.
func (h Hook) String() string { return fmt.Sprintf("%s %v %v", h.State, h.Hosts, h.Params) }
