package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

type holdCmd struct {
	Reason []string `arg:"" help:"Why nobody is to apply here for now."`
	For    span     `help:"For how long (default: until tenet unhold)." placeholder:"DURATION"`
}

// hostHold is a hold on a host, as JSON.
type hostHold struct {
	Host string        `json:"host"`
	Hold *journal.Hold `json:"hold"`
}

// Run keeps applies from starting.
func (cmd *holdCmd) Run(ctx runContext, s *client) error {
	reason := strings.TrimSpace(strings.Join(cmd.Reason, " "))
	if reason == "" {
		return usage("tenet hold REASON tells everybody why", "a hold needs a reason")
	}
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	list, err := ask(ctx, s, t, askOne("hold", false, func(ctx context.Context, m *fleet.Member) (*machine.HoldResult, error) {
		return m.Hold(ctx, machine.HoldRequest{Reason: reason, For: time.Duration(cmd.For)})
	}))
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			return list[i].value.Hold, hostHold{list[i].host.Name, list[i].value.Hold}
		})
	}
	return errors.Join(s.showHolds(t, list), s.showFailures(t, common(list)))
}

func (s *client) showHolds(t *targets, list []*answer[*machine.HoldResult]) (err error) {
	var same hostGroups
	for _, a := range list {
		if !a.replied() {
			continue
		}
		if applying := a.value.Applying; applying != nil && t.hasNames {
			s.noteHost(a.host.Name, applying.Error()+", and goes on")
		}
		if !t.hasNames {
			err = s.tell("%s", ui.Clean((&journal.HeldError{Hold: *a.value.Hold}).Error()))
			if applying := a.value.Applying; applying != nil {
				err = errors.Join(err, s.tell("%s, and goes on", ui.Clean(applying.Error())))
			}
			return err
		}
		same.add(a.host.Name, "on hold: "+a.value.Reason+deadline(a.value.Until))
	}
	return s.tellGroups(&same)
}

// tellGroups tells what hosts have in common.
func (s *client) tellGroups(same *hostGroups) (err error) {
	for _, text := range same.order {
		err = errors.Join(err, s.tell("%s %s", s.title(same.hosts[text]), ui.Line(text)))
	}
	return err
}

func deadline(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", until " + when(t)
}

type unholdCmd struct{}

// unheld is a hold that was ended, as JSON.
type unheld struct {
	Released *journal.Hold `json:"released"` // nil: there was none
}

// hostUnheld is one on a host.
type hostUnheld struct {
	Host string `json:"host"`
	unheld
}

// Run lets applies start again.
func (cmd *unholdCmd) Run(ctx runContext, s *client) error {
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	list, err := ask(ctx, s, t, askOne("unhold", false, func(ctx context.Context, m *fleet.Member) (*journal.Hold, error) { return m.Unhold(ctx) }))
	if err != nil {
		return err
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) {
			return unheld{list[i].value}, hostUnheld{list[i].host.Name, unheld{list[i].value}}
		})
	}
	var same hostGroups
	for _, a := range list {
		if !a.replied() {
			continue
		}
		text := "nothing was on hold"
		if was := a.value; was != nil {
			text = fmt.Sprintf("released, after it was on hold since %s: %s", when(was.Since), was.Reason)
		}
		same.add(a.host.Name, text)
	}
	if !t.hasNames && len(same.order) > 0 {
		err = s.tell("%s", ui.Clean(same.order[0]))
	} else {
		err = s.tellGroups(&same)
	}
	return errors.Join(err, s.showFailures(t, common(list)))
}

// mayApply refuses while applies are on hold.
func (s *client) mayApply() error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	return s.ran(local.MayApply())
}

// currentApply tells who applies now; nil: nobody.
func (s *client) currentApply() (*journal.LockedError, error) {
	local, err := s.runner(nil)
	if err != nil {
		return nil, err
	}
	holder, err := local.Holder()
	return holder, s.ran(err)
}

// noteObstacles says, where a plan is shown, that it cannot be applied at present.
func (s *client) noteObstacles(site string) error {
	local, err := s.runner(nil)
	if err != nil {
		return err
	}
	obstacles, err := local.Obstacles(site)
	if err != nil || s.globals.Quiet {
		return s.ran(err)
	}
	for _, text := range obstacles {
		fmt.Fprintln(s.Err, "note: "+ui.Clean(text))
	}
	return nil
}
