package become

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// failure is an error on its way.
type failure struct {
	Message string   `json:"message"`
	Op      string   `json:"op,omitempty"` // of a *fs.PathError
	Path    text     `json:"path,omitempty"`
	Errno   int      `json:"errno,omitempty"`
	Is      []string `json:"is,omitempty"`
	Code    string   `json:"code,omitempty"` // of a *diag.HintError
	Hint    string   `json:"hint,omitempty"`

	Service *text  `json:"service,omitempty"` // of a *host.ServiceError
	Said    []byte `json:"said,omitempty"`
}

// knownErrors are errors that the other side asks for.
func knownErrors() []struct {
	name string
	err  error
} {
	return []struct {
		name string
		err  error
	}{
		{"not_exist", fs.ErrNotExist}, {"exist", fs.ErrExist}, {"permission", fs.ErrPermission}, {"invalid", fs.ErrInvalid},
		{"unsupported", host.ErrUnsupported}, {"unanswerable", host.ErrUnanswerable}, {"unforeseeable", host.ErrUnforeseeable},
		{"lost", host.ErrLost}, {"canceled", context.Canceled}, {"deadline", context.DeadlineExceeded},
	}
}

// failureOf takes an error along: its message, what path it is about, and what
// errors.Is says of it.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{}
	if service, ok := errors.AsType[*host.ServiceError](err); ok {
		name := text(service.Name)
		f.Service, f.Said, err = &name, service.Log, service.Err
	}
	if at, ok := err.(*fs.PathError); ok {
		f.Op, f.Path, err = at.Op, text(at.Path), at.Err
	}
	f.Message, f.Code, f.Hint = err.Error(), diag.CodeOf(err), diag.HintOf(err)
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		f.Errno = int(errno)
	}
	for _, k := range knownErrors() {
		if errors.Is(err, k.err) {
			f.Is = append(f.Is, k.name)
		}
	}
	return f
}

// error makes the error anew.
func (f *failure) error() error {
	if f == nil {
		return nil
	}
	var err error
	if errno := syscall.Errno(f.Errno); f.Errno != 0 && errno.Error() == f.Message {
		err = errno
	} else {
		told := &remoteError{message: f.Message}
		if f.Errno != 0 {
			told.causes = append(told.causes, errno)
		}
		for _, name := range f.Is {
			for _, k := range knownErrors() {
				if k.name == name {
					told.causes = append(told.causes, k.err)
				}
			}
		}
		err = told
	}
	if f.Code != "" || f.Hint != "" {
		err = &diag.HintError{Code: f.Code, Hint: f.Hint, Err: err}
	}
	if f.Op != "" {
		err = &fs.PathError{Op: f.Op, Path: string(f.Path), Err: err}
	}
	if f.Service != nil {
		err = &host.ServiceError{Name: string(*f.Service), Err: err, Log: f.Said}
	}
	return err
}

// remoteError is an error that the other process had.
type remoteError struct {
	message string
	causes  []error
}

// Error is the message.
func (e *remoteError) Error() string { return e.message }

// Unwrap gives what errors.Is knows it by.
func (e *remoteError) Unwrap() []error { return e.causes }
