package states

// Condition is the field of a module for an expression over the result of the
// part's own act. Not nil: there is one, and the engine decides it after Act. A
// module that offers ChangedIf or FailedIf by that name leaves the judgement of
// an act that has a result to the engine.
type Condition struct{}

// The attributes of kind condition that the engine knows.
const (
	ChangedIf = "changed_if" // whether the act has changed something
	FailedIf  = "failed_if"  // whether it has failed
)
