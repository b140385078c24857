package machine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// Error is why a machine did not do what it was asked. Its code is one of those below,
// another word for programs, or empty.
type Error struct {
	diag.HintError
	Machine string // its name; empty: it has none
	// Differences from what was consented to, where Code is CodeStale.
	Differences []Difference
}

// Codes of errors.
const (
	CodeUsage       = "usage"       // what was asked for means nothing
	CodeLocked      = "locked"      // another apply runs, or applies are on hold
	CodeDeployed    = "deployed"    // an agent keeps the machine as the site says
	CodeMember      = "member"      // the machine is a member of another cluster
	CodeStale       = "stale"       // the machine is not as it was when the plan was shown
	CodeDamaged     = "damaged"     // what came is not what was sent
	CodeInterrupted = "interrupted" // it was cancelled
	CodeNotFound    = "not_found"   // there is no such run
	CodeNeeded      = "needed"      // clean: what is asked to go is needed still
	CodeUnsupported = "unsupported" // the machine cannot do that
	CodeFault       = "fault"       // of the program itself
)

// ErrorOf makes any error a machine's, with the code and the hint that it has.
func ErrorOf(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if ok && err == error(e) {
		return e
	}
	out := &Error{HintError: diag.HintError{Code: diag.CodeOf(err), Err: err, Hint: diag.HintOf(err)}}
	if ok {
		out.Machine, out.Differences = e.Machine, e.Differences
	}
	return out
}

// Unwrap gives the message with the hint and the code.
func (e *Error) Unwrap() error { return &e.HintError }

// Difference is a row that is not what was planned.
type Difference struct {
	Planned *states.Event // nil: there was none
	Now     *states.Event // nil: there is none
}

// NothingError says that there are no records at all.
type NothingError struct{ Dir string }

// Error says where they have been sought.
func (e *NothingError) Error() string {
	return fmt.Sprintf("nothing has been applied yet: no run is recorded in %s", e.Dir)
}

// SeveralError says that several sites have what is named.
type SeveralError struct{ Sites []string }

// Error names the sites.
func (e *SeveralError) Error() string {
	return "that is of several sites: " + strings.Join(e.Sites, ", ")
}

// JobError says that a job cannot be carried out anywhere: what is wrong is on this side,
// such as a file that cannot be read.
type JobError struct{ Err error }

// Error gives the message.
func (e *JobError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *JobError) Unwrap() error { return e.Err }

// ConnectionError says that the way to a machine broke before the answer was whole.
type ConnectionError struct {
	Err error
	// Asked says that the machine has the whole request: it may do what it was asked.
	Asked bool
	// Answered says that something of the answer has come.
	Answered bool
	Why      Break
	Duration time.Duration // how long the connection stood
}

// Break is why a connection ended early.
type Break int

// The reasons.
const (
	Cut    Break = iota // the line
	Silent              // nothing came for too long
	Absurd              // the machine says what makes no sense
)

// Error gives the message.
func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Address is that of the row.
func (d Difference) Address() string { return d.row().Address }

// Invocation is the address of the row's invocation, if it is that of a part.
func (d Difference) Invocation() string { return d.row().Invocation }

// Type is the type of the row's event.
func (d Difference) Type() string { return d.row().Type }

func (d Difference) row() *states.Event {
	if d.Planned != nil {
		return d.Planned
	}
	return d.Now
}
