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
	"github.com/tenetcm/tenet/states"
)

// codedError is an error whose code and hint are known where it arises.
type codedError struct {
	code, hint string
	source     string // file:line:column, where that is not the part's place
	err        error
}

// Error gives the text.
func (e *codedError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *codedError) Unwrap() error { return e.err }

// timeoutError is the cause of a context that a part's timeout ended.
type timeoutError struct{ after time.Duration }

// Error gives the time.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("it took longer than its timeout of %s; its processes were ended", e.after)
}

// accountError is an error of who acts as another account, or is led by one.
type accountError interface {
	error
	Code() string
	Hint() string
}

// causeOf prefers the reason why ctx ended to the error that this led to: but for the one
// that who was to end it then did not do so.
func causeOf(ctx context.Context, err error) error {
	if _, ok := errors.AsType[accountError](err); ok {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// failure describes err for events and reports.
func failure(err error, source string) *states.Failure {
	f := &states.Failure{Code: "error", Message: err.Error(), Source: source}
	var coded *codedError
	var attribute *states.AttributeError
	var timeout *timeoutError
	var account accountError
	var panicked *fault.Error
	switch {
	case errors.As(err, &panicked):
		f.Code, f.Message, f.Hint = "fault", panicked.Message(), panicked.Hint()
	case errors.As(err, &coded):
		f.Code, f.Hint = coded.code, coded.hint
		f.Source = cmp.Or(coded.source, source)
	case errors.As(err, &account):
		f.Code, f.Hint = account.Code(), account.Hint()
	case errors.As(err, &timeout):
		f.Code, f.Hint = "timeout", "raise timeout, or find out what it waits for"
	case errors.Is(err, context.Canceled):
		f.Code, f.Message = "interrupted", "the run was interrupted"
	case errors.As(err, &attribute):
		f.Code, f.Hint = "invalid", attribute.Hint
	case diag.HintOf(err) != "":
		f.Hint = diag.HintOf(err)
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.Hint = "permission", "run tenet as a user who may do this, such as root"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Code, f.Hint = "no_space", "make room on the file system, then apply again"
	case errors.Is(err, syscall.EROFS):
		f.Code, f.Hint = "read_only", "the file system is mounted read-only"
	case errors.Is(err, fs.ErrNotExist):
		f.Code = "not_found"
	}
	return f
}

// lackRights names the cure where a right is missing.
func (s *step) lackRights(f *states.Failure) {
	if f.Code != "invalid" && s.needsRoot() {
		f.Code, f.Hint = "permission", "only root may do it: run tenet as root"
	}
	if f.Code == "permission" && s.part.Options.Become == "" && s.engine.options.Become != nil {
		f.Hint += ", or add become = true to the part"
	}
}
