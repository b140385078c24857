package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
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
	case f.Hint != "":
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.Hint = "permission", "run tenet as a user who may do this, such as root"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Code, f.Hint = "no_space", "make room on the file system, then apply again"
	case errors.Is(err, syscall.EROFS):
		f.Code, f.Hint = "read_only", "the file system is mounted read-only"
	case errors.Is(err, fs.ErrNotExist):
		f.Code = "not_found"
	}
	f.Code = cmp.Or(f.Code, "error")
	return f
}

// lackRights names the cure where a right is missing.
func (s *step) lackRights(f *states.Failure) {
	if f.Code != "invalid" && s.needsRoot() {
		f.Code, f.Hint = "permission", "only root may do it: run tenet as root"
	}
	if f.Code == "permission" && errors.Is(s.err, fs.ErrPermission) {
		if hint := s.obstacle(); hint != "" { // which no other account overcomes
			f.Hint = hint
			return
		}
	}
	if f.Code == "permission" && s.part.Options.Become == "" && s.engine.options.Become != nil {
		f.Hint += ", or add become = true to the part"
	}
}
