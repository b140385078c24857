package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
)

type holdCmd struct {
	Reason []string `arg:"" help:"Why nobody is to apply here for now."`
	For    span     `help:"For how long (default: until tenet release)." placeholder:"DURATION"`
}

// Run keeps applies from starting.
func (cmd *holdCmd) Run(ctx runContext, s *client) error {
	reason := strings.TrimSpace(strings.Join(cmd.Reason, " "))
	if reason == "" {
		return usage("tenet hold REASON tells everybody why", "a hold needs a reason")
	}
	if s.onHosts() {
		return s.holdHosts(ctx, &wire.Hold{Reason: reason, For: time.Duration(cmd.For)})
	}
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	h, applying, err := local.Hold(wire.Hold{Reason: reason, For: time.Duration(cmd.For)})
	if err != nil {
		return s.ran(err)
	}
	if s.globals.JSON {
		return s.printJSON(h)
	}
	if err := s.tell("%s", ui.Clean((&journal.HeldError{Hold: *h}).Error())); err != nil {
		return err
	}
	if applying != nil {
		return s.tell("%s, and goes on", ui.Clean(applying.Error()))
	}
	return nil
}

type releaseCmd struct{}

// Run lets applies start again.
func (cmd *releaseCmd) Run(ctx runContext, s *client) error {
	if s.onHosts() {
		return s.holdHosts(ctx, nil)
	}
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	was, err := local.Release()
	if err != nil {
		return s.ran(err)
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
func (s *client) mayApply() error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	return s.ran(local.MayApply())
}

// applying tells who applies now; nil: nobody.
func (s *client) applying() (*journal.LockedError, error) {
	local, err := s.runner(nil)
	if err != nil {
		return nil, err
	}
	holder, err := local.Holder()
	return holder, s.ran(err)
}

// noteObstacles says, where a plan is shown, that it cannot be applied for now.
func (s *client) noteObstacles() error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	obstacles, err := local.Obstacles()
	if err != nil || s.globals.Quiet {
		return s.ran(err)
	}
	for _, text := range obstacles {
		fmt.Fprintln(s.Err, "note: "+ui.Clean(text))
	}
	return nil
}
