package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/server/sessions"
)

// errNoAnswer is the cause of an end by time.
func errNoAnswer(limit time.Duration) error {
	return &diag.HintError{Code: sessions.CodeAway, Message: "the host has not answered within " + limit.String(), Hint: "see whether it is up, and what it does; then try again"}
}

// hostError gives the error of what a host was asked, within a context that was bounded for it. A host may refuse; it does not choose the statuses of this
// API, such as that nobody is logged in.
func hostError(ctx, bounded context.Context, err error) error {
	if cause := context.Cause(bounded); err != nil && cause != nil && ctx.Err() == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if lost, ok := errors.AsType[*machine.ConnectionError](err); ok && diag.CodeOf(err) == "" { // others were told by this server
		return &diag.HintError{Code: sessions.CodeAway, Err: lost, Hint: "see whether the host is up; what it was asked for may have been done"}
	}
	said, ok := errors.AsType[*machine.Error](err)
	if !ok || slices.Contains([]string{machine.CodeUsage, machine.CodeLocked, machine.CodeDeployed, machine.CodeMember, machine.CodeStale, machine.CodeDamaged,
		machine.CodeInterrupted, machine.CodeNeeded, machine.CodeUnsupported}, said.Code) {
		return err
	}
	refused := said.HintError
	refused.Code = codeRefused
	return &refused
}
