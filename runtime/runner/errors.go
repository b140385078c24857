package runner

import (
	"cmp"
	"context"
	"errors"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/planfile"
)

// asError makes any error one that a machine gives, with the code that it has whatever way
// leads to the machine; nil stays nil.
func asError(err error) error {
	if err == nil {
		return nil
	}
	if code := codeOf(err); code != "" && diag.CodeOf(err) == "" {
		err = &diag.HintError{Code: code, Err: err}
	}
	return machine.ErrorOf(err)
}

// wrapError, which is deferred, is asError for what a function returns.
func wrapError(err *error) { *err = asError(*err) }

// codeOf is the code of an error that has none of its own.
func codeOf(err error) string {
	_, broken := errors.AsType[*planfile.DamagedError](err)
	switch {
	case fault.In(err) != nil:
		return machine.CodeFault
	case broken:
		return machine.CodeDamaged
	case errors.Is(err, errCancelled), errors.Is(err, errLost), errors.Is(err, context.Canceled):
		return machine.CodeInterrupted
	}
	return ""
}

// notFound reports whether an error says that there is no such run.
func notFound(err error) bool {
	return diag.CodeOf(err) == machine.CodeNotFound
}

// interruption is the error for a call whose context ended.
func interruption(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return &diag.HintError{Code: machine.CodeInterrupted, Err: err}
}

// refusal adds to why nothing is applied what to do about it.
func refusal(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*journal.LockedError](err); ok {
		return &diag.HintError{Code: machine.CodeLocked, Err: err, Hint: "wait until it has ended, as --lock-timeout 5m does, or end it"}
	}
	if _, ok := errors.AsType[*journal.HeldError](err); ok {
		return &diag.HintError{Code: machine.CodeLocked, Err: err, Hint: endsHold}
	}
	if _, ok := errors.AsType[*journal.MemberError](err); ok {
		return &diag.HintError{Code: machine.CodeMember, Err: err, Hint: endsMembership}
	}
	if _, ok := errors.AsType[*journal.UnreadableHoldError](err); ok {
		return &diag.HintError{Code: machine.CodeLocked, Err: err, Hint: endsHold}
	}
	if _, ok := errors.AsType[*journal.BegunError](err); ok {
		return &diag.HintError{Err: err, Hint: "tenet status tells how it stands"}
	}
	if _, ok := errors.AsType[*journal.WithdrawnError](err); ok {
		return &diag.HintError{Code: machine.CodeInterrupted, Err: err}
	}
	if ctx.Err() != nil { // it has waited
		return interruption(ctx)
	}
	if _, ok := errors.AsType[*journal.NotResumableError](err); ok {
		return err // which has its hint
	}
	return &diag.HintError{Err: err, Hint: cmp.Or(diag.HintOf(err), elsewhere)}
}
