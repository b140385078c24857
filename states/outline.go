package states

// Outline is a StateRun without its values: what there is, and what comes before what. It is for drawing.
type Outline struct {
	Revision string         `json:"revision"` // of the StateRun
	Nodes    []OutlineNode  `json:"nodes"`    // in the order of the run
	Arrows   []OutlineArrow `json:"arrows"`
}

// The kinds of nodes.
const (
	OutlineInvocation = "invocation"
	OutlineHandler    = "handler" // a wave of one
	OutlineIdle       = "idle"    // a handler that nothing invokes now
	OutlineBlock      = "block"
	OutlineJoin       = "join" // it has no parts, and stands for "all of these have ended"
)

// OutlineNode is an invocation, a block or a join.
type OutlineNode struct {
	Address  string        `json:"address"`
	Kind     string        `json:"kind"`
	State    string        `json:"state,omitempty"`    // the state that an invocation executes
	Wave     int           `json:"wave,omitempty"`     // of a handler that has several, from 1
	Confirms string        `json:"confirms,omitempty"` // the block that an invocation checks
	Parts    []OutlinePart `json:"parts,omitempty"`
}

// OutlinePart is a part of an invocation.
type OutlinePart struct {
	Address string `json:"address"`
	Type    string `json:"type"`
	Key     string `json:"key,omitempty"`
	Ensure  Ensure `json:"ensure,omitempty"`
}

// OutlineArrow leads from what comes before to what comes after.
type OutlineArrow struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"` // requires, notifies, failure (a notification of one), after, or member (of a block)
}
