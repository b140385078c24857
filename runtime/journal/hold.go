package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// Hold is why nothing is to be applied for now. Plans, and looking at records, go
// on.
type Hold struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since,omitzero"` // zero: it could not be read
	Until  time.Time `json:"until,omitzero"` // zero: until it is released
	By     string    `json:"by,omitempty"`   // who asked for it
}

// HeldError is why an apply may not start.
type HeldError struct{ Hold }

// OnHold is how the text of a HeldError begins, also where nothing but the text has come from another machine.
const OnHold = "applies are on hold"

// Error gives the reason, and who gave it.
func (e *HeldError) Error() string {
	text := OnHold + " since " + moment(e.Since)
	if !e.Until.IsZero() {
		text += " until " + moment(e.Until)
	}
	if e.By != "" {
		text += " by " + e.By
	}
	return text + ": " + e.Reason
}

// moment is a time as it is where the program runs. It names the zone, since messages are read on
// other machines too.
func moment(t time.Time) string { return t.Local().Format(time.DateTime + " MST") }

func (f *Folder) holdPath() string { return filepath.Join(f.dir, "hold") }

// Hold keeps applies from starting, until it is over or released. A run in
// progress goes on. A Hold that there is already is replaced.
func (f *Folder) Hold(h Hold) error {
	if h.Reason == "" {
		return errors.New("a hold needs a reason")
	}
	if h.Since.IsZero() {
		h.Since = time.Now().UTC()
	}
	data, err := seal(h)
	if err != nil {
		return err
	}
	if err := f.disk.replace(f.holdPath(), data, true); err != nil {
		return fmt.Errorf("the hold cannot be recorded: %w", err)
	}
	return nil
}

// Release ends a hold, and gives it; nil: there was none, or it was over.
func (f *Folder) Release() (*Hold, error) {
	was, err := f.Held()
	if err != nil && !errors.As(err, new(*damagedError)) {
		return nil, err
	}
	if err != nil {
		was = &Hold{Reason: "nobody knows what for, since it could not be read"}
	}
	if err := f.disk.remove(f.holdPath()); err != nil {
		return nil, fmt.Errorf("the hold cannot be ended: %w", err)
	}
	return was, nil
}

// Held gives the hold that is in force; nil: there is none, or it is over. One that cannot be
// read is in force, since nobody knows what it says: the error.
func (f *Folder) Held() (*Hold, error) {
	data, err := f.disk.readFile(f.holdPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("whether applies are on hold cannot be read: %w", err)
	}
	var h Hold
	if err := unseal(data, &h); err != nil {
		return nil, &damagedError{fmt.Errorf("applies are on hold, but %s cannot be read: %w", f.holdPath(), err)}
	}
	if !h.Until.IsZero() && !time.Now().Before(h.Until) {
		return nil, nil
	}
	return &h, nil
}

// isFree refuses a run while applies are on hold.
func (f *Folder) isFree() error {
	h, err := f.Held()
	if err == nil && h != nil {
		return &HeldError{*h}
	}
	if err != nil {
		return &UnreadableHoldError{err}
	}
	return nil
}

// UnreadableHoldError says that it cannot be read whether applies are on hold: then they are.
type UnreadableHoldError struct{ Err error }

// Error says why.
func (e *UnreadableHoldError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnreadableHoldError) Unwrap() error { return e.Err }
