// Package sandbox runs Starlark within limits. Source that it compiled cannot
// run forever, exhaust memory or the stack, or reach anything that it was not
// given: there are no files, no clock, no network and no chance in Starlark
// itself.
//
// The limits hold between steps, and so no single step may be large. Compile
// therefore puts the operators and functions that can make much of little
// (repetition, concatenation, joining, formatting, ranges) behind checks of
// their size before they work. What they make counts against the thread's
// memory, whether it is still in use or not: the same source ends in the same
// way on every machine.
package sandbox

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
)

// Limits bound what one thread may do. Zero fields mean the defaults.
type Limits struct {
	// Steps is how many steps of the interpreter may be made, some tens of
	// millions a second.
	Steps uint64
	// Memory is how many bytes may be made in all, used or no longer used.
	Memory int64
}

// The default limits.
const (
	DefaultSteps  = 20_000_000
	DefaultMemory = 512 << 20
)

// MaxValue is the size of the largest value that one operation may make or
// look through, in bytes; an element of a list or a dict counts 16.
const MaxValue = 16 << 20

// meter counts what a thread has made.
type meter struct {
	used, limit int64
	err         error // why the thread was cancelled
}

const meterKey = "sandbox.meter"

// NewThread makes a thread within limits, that ends when ctx does. The caller
// calls stop when it needs the thread no more, and asks Cause why it failed.
func NewThread(ctx context.Context, name string, l Limits) (thread *starlark.Thread, stop func()) {
	m := &meter{limit: l.Memory}
	if m.limit == 0 {
		m.limit = DefaultMemory
	}
	steps := l.Steps
	if steps == 0 {
		steps = DefaultSteps
	}
	thread = &starlark.Thread{
		Name:  name,
		Print: func(*starlark.Thread, string) {},
		Load: func(*starlark.Thread, string) (starlark.StringDict, error) {
			return nil, fmt.Errorf("nothing can be loaded here")
		},
		OnMaxSteps: func(t *starlark.Thread) {
			m.err = &diag.HintError{
				Message: fmt.Sprintf("it was stopped after %d steps", steps),
				Hint:    "look for a loop that goes on for too long",
			}
			t.Cancel(m.err.Error())
		},
	}
	thread.SetLocal(meterKey, m)
	thread.SetMaxExecutionSteps(steps)
	end := context.AfterFunc(ctx, func() { thread.Cancel("cancelled") })
	return thread, func() { end() }
}

// Cause gives the reason why a thread of NewThread failed with err: the cause
// of the context's end, or the limit, or err itself.
func Cause(ctx context.Context, thread *starlark.Thread, err error) error {
	if err == nil {
		return nil
	}
	if m, ok := thread.Local(meterKey).(*meter); ok && m.err != nil {
		return &stopError{at: err, why: m.err}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}

// stopError keeps the place of what was stopped, and tells why it was.
type stopError struct{ at, why error }

func (e *stopError) Error() string   { return e.why.Error() }
func (e *stopError) Unwrap() []error { return []error{e.why, e.at} }

// charge counts size bytes that the thread has made.
func charge(thread *starlark.Thread, size int64) error {
	m, ok := thread.Local(meterKey).(*meter)
	if !ok {
		return nil
	}
	if m.used += size; m.used <= m.limit {
		return nil
	}
	m.err = &diag.HintError{
		Message: fmt.Sprintf("it was stopped after it had made %d MiB of values", m.limit>>20),
		Hint:    "look for what is built up again and again; collect pieces in a list, and join them once",
	}
	return m.err
}

// tooLarge refuses a value.
func tooLarge(what string) error {
	return &diag.HintError{
		Message: fmt.Sprintf("%s would be larger than %d MiB", what, MaxValue>>20),
		Hint:    "a value of this size is hardly meant; handle less at a time",
	}
}
