package reconcile

// Message is what a loop is told: one of the types below.
type Message interface{ message() }

// Start says that a process takes the loop up: after a crash, a reboot, or as the first.
type Start struct{}

// Want says what is wanted from now on.
type Want struct{ Target }

// Look asks to look now, since something has changed that the site may depend on.
type Look struct{}

// Again is a person who wants another try of what has failed.
type Again struct{}

// Tick says that time has passed.
type Tick struct{}

// Found is what a plan has shown.
type Found struct {
	Something bool // a certain row of a resource, or a handler that is owed
	Maybe     bool // acts, and rows that are not certain
	Failure
}

// Checked is what came of validating.
type Checked struct {
	// Kept says that the target can be gone back to.
	Kept bool
	Failure
}

// Ended is how an apply ended: of what is wanted, of what was last converged, or of a removal.
type Ended struct{ Failure }

func (Start) message()   {}
func (Want) message()    {}
func (Look) message()    {}
func (Again) message()   {}
func (Tick) message()    {}
func (Found) message()   {}
func (Checked) message() {}
func (Ended) message()   {}

// Action is what is to be done now; the zero value is nothing. Its end is told by a message.
type Action struct {
	Phase  Phase // Discovering: plan; Validating: check; Applying, Reverting, Removing: apply; empty: nothing
	Target Target
	// Execution names an apply. Again says that it may have begun before: it is then gone on with, and never done twice.
	Execution string
	Again     bool
	Restarts  int // how often it was gone on with
}
