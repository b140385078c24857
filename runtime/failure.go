package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// placedError is an error of another place than the part's.
type placedError struct {
	source string // file:line:column; empty: it is the part's place after all
	err    error
}

// Error gives the text.
func (e *placedError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *placedError) Unwrap() error { return e.err }

// readError says that a resource cannot be looked at, which may go well another time.
type readError struct{ err error }

// Error gives the text.
func (e *readError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *readError) Unwrap() error { return e.err }

// codeTimeout is that of the cause of a context that a part's timeout ended.
const codeTimeout = "timeout"

// timeoutError says that a part took longer than it may.
func timeoutError(after time.Duration) error {
	return &diag.HintError{Code: codeTimeout, Hint: "raise timeout, or find out what it waits for",
		Message: fmt.Sprintf("it took longer than its timeout of %s; its processes were ended", after)}
}

// codeBecome is that of errors of who acts as another account.
const codeBecome = "become"

// causeOf prefers the reason why ctx ended to the error that this led to: but for the one
// that who acts as another account did not end then, or was led elsewhere.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if code := diag.CodeOf(err); cause == nil || (code == codeBecome || code == host.CodeLink) && !errors.Is(err, cause) {
		return err
	}
	return cause
}

// failure describes err for events and reports.
func failure(err error, source string) *states.Failure {
	f := states.FailureOf(err)
	f.Source = source
	if placed, ok := errors.AsType[*placedError](err); ok {
		f.Source = cmp.Or(placed.source, source)
	}
	var attribute *states.AttributeError
	var panicked *fault.Error
	switch {
	case errors.As(err, &panicked):
		f.Code, f.Message, f.Hint = "fault", panicked.Message(), panicked.Hint()
	case f.Code != "": // it was known where it arose
	case errors.Is(err, context.Canceled):
		f.Code, f.Message, f.Hint = "interrupted", "the run was interrupted", ""
	case errors.As(err, &attribute):
		f.Code = "invalid"
	case f.Hint == "":
		explainSystem(f, err)
	}
	f.Code = cmp.Or(f.Code, "error")
	return f
}

// lackRights names the cure where a right is missing.
func (s *step) lackRights(f *states.Failure) {
	if f.Code != "invalid" && s.needsRoot() {
		f.Code, f.Hint = codePermission, "only root may do it: run tenet as root"
	}
	if f.Code == codePermission && errors.Is(s.err, fs.ErrPermission) {
		if r := s.obstacle(); r != nil { // which no other account overcomes
			f.Code, f.Hint = cmp.Or(r.Code, f.Code), r.Cure
			if r.Obstacle != "" {
				f.Message += ": " + r.Obstacle
			}
			return
		}
	}
	if f.Code == codePermission && s.part.Options.Become == "" && s.engine.options.Become != nil {
		f.Hint += ", or add become = true to the part"
	}
}
