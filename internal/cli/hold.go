package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
)

type holdCmd struct {
	Reason []string `arg:"" help:"Why nobody is to apply here for now."`
	For    span     `help:"For how long (default: until tenet release)." placeholder:"DURATION"`
}

// Run keeps applies from starting.
func (cmd *holdCmd) Run(_ runContext, s *client) error {
	reason := strings.TrimSpace(strings.Join(cmd.Reason, " "))
	if reason == "" {
		return usage("tenet hold REASON tells everybody why", "a hold needs a reason")
	}
	folder, err := s.journal()
	if err != nil {
		return err
	}
	if err := s.mayApply(folder); err != nil { // whoever holds it already may need it longer
		return err
	}
	h := journal.Hold{Reason: reason, Since: time.Now().UTC(), By: s.user()}
	if from := s.from(); from != "" {
		h.By += " from " + from
	}
	if cmd.For > 0 {
		h.Until = h.Since.Add(time.Duration(cmd.For))
	}
	if err := folder.Hold(h); err != nil {
		return &status{code: exitFailed, err: err, hint: elsewhere}
	}
	if s.globals.JSON {
		return s.printJSON(h)
	}
	if err := s.tell("%s", ui.Clean((&journal.HeldError{Hold: h}).Error())); err != nil {
		return err
	}
	if holder := folder.Holder(); holder != nil {
		return s.tell("%s, and goes on", ui.Clean(holder.Error()))
	}
	return nil
}

type releaseCmd struct{}

// Run lets applies start again.
func (cmd *releaseCmd) Run(_ runContext, s *client) error {
	folder, err := s.existing()
	if err != nil {
		return err
	}
	var was *journal.Hold
	if folder != nil {
		if was, err = folder.Release(); err != nil {
			return &status{code: exitFailed, err: err, hint: elsewhere}
		}
	}
	switch {
	case s.globals.JSON:
		return s.printJSON(map[string]any{"released": was})
	case was == nil:
		return s.tell("nothing was on hold")
	}
	return s.tell("released, after it was on hold since %s: %s", when(was.Since), ui.Clean(was.Reason))
}

// mayApply refuses while applies are on hold.
func (s *client) mayApply(folder *journal.Folder) error {
	h, err := folder.Held()
	if err == nil && h != nil {
		err = &journal.HeldError{Hold: *h}
	}
	return refused(err)
}

// refused adds to why nothing may be applied what to do about it.
func refused(err error) error {
	if err == nil {
		return nil
	}
	hint := "tenet release ends the hold"
	if _, ok := errors.AsType[*journal.LockedError](err); ok {
		hint = "wait until it has ended, as --lock-timeout 5m does, or end it"
	}
	return &status{code: exitFailed, err: err, hint: hint}
}

// waiting says for whom it waits.
func (s *client) waiting(holder *journal.LockedError) {
	if !s.globals.Quiet {
		fmt.Fprintf(s.Err, "waiting for at most %s: %s\n", span(s.lockTimeout), ui.Clean(holder.Error()))
	}
}

// noteHold says, where a plan is shown, that it cannot be applied for now.
func (s *client) noteHold() error {
	folder, err := s.existing()
	if errors.Is(err, fs.ErrPermission) {
		return nil // see remember
	}
	if err != nil || folder == nil {
		return err
	}
	if err := s.mayApply(folder); err != nil && !s.globals.Quiet {
		fmt.Fprintln(s.Err, "note: "+ui.Clean(err.Error()))
	}
	return nil
}
