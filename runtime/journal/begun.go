package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// BegunError says that an execution has begun its run on a host already, or gone on with
// it: neither is done twice.
type BegunError struct {
	Run   string
	After int64 // the number of the last event before
}

// Error names the run.
func (e *BegunError) Error() string { return "run " + e.Run + " was begun for that execution" }

// begins is how long another process may take to begin the run that this one is to begin.
const begins = 15 * time.Second

// Begun gives the run that an execution has begun for a host of that name, or gone on with:
// one machine may be several hosts. The error is an ErrNoRun if there is none. The clocks of controllers
// and hosts differ, so that no run that is kept is too old to be looked at; but only what
// stands before its report is.
func (f *Folder) Begun(execution, host string) (string, error) {
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	for _, id := range slices.Backward(ids) {
		s, err := f.head(id) // what cannot be read is not what is meant
		if err != nil || execution == "" || s.Host != host {
			continue
		}
		if _, wentOn := s.resumedBy(execution); wentOn || s.Execution == execution {
			return id, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNoRun, execution)
}

// begun gives a *BegunError if there is a run already of what m is about. Without an
// execution there is none.
func (f *Folder) begun(m *Meta) error {
	if m.Execution == "" {
		return nil
	}
	id, err := f.Begun(m.Execution, m.Run.Host)
	if errors.Is(err, ErrNoRun) {
		return nil
	}
	if err != nil {
		return err
	}
	return &BegunError{Run: id}
}

// wentOn gives a *BegunError if the execution of m has gone on with a run already.
func (f *Folder) wentOn(id string, m *Meta) error {
	s, err := f.head(id) // what cannot be read cannot be gone on with
	if err != nil {
		return nil
	}
	if after, ok := s.resumedBy(m.Execution); ok {
		return &BegunError{Run: id, After: after}
	}
	return nil
}
