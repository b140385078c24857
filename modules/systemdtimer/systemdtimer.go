// Package systemdtimer is the module "systemd_timer": a command, or a unit, that
// systemd starts at given times.
package systemdtimer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Timer is a timer with what it starts, wanted or observed. A nil attribute is not
// managed.
type Timer struct {
	Name        string            `state:"name,key" doc:"Name of the timer, without a kind: \"backup\" is made of backup.timer and backup.service."`
	User        *string           `state:"user,key,optional,of_user" doc:"The account whose own timer it is; otherwise it is the machine's."`
	OnCalendar  []string          `state:"on_calendar,set" doc:"When: calendar expressions of systemd.time(7), such as \"daily\" or \"Mon..Fri 04:30\"."`
	OnBoot      *time.Duration    `state:"on_boot" doc:"How long after the machine's start it is due, an account's own after its first login."`
	Every       *time.Duration    `state:"every" doc:"How long after the last time it is due again; it begins with on_boot or on_calendar."`
	Command     []string          `state:"command,public" doc:"Program, by its absolute path, and arguments, which are handed on as they are. It or unit is required unless it is to be absent."`
	Unit        *string           `state:"unit" doc:"Whole name of a unit to start, in place of a command."`
	RunAs       *string           `state:"run_as" doc:"The account that the command runs as; otherwise root, or the user."`
	Dir         *string           `state:"dir" doc:"Working directory of the command."`
	Env         map[string]string `state:"env,public" doc:"Environment of the command, in addition to the usual one. All users of the host can read it; for secrets, let the command read a file that only its user may."`
	Description *string           `state:"about" doc:"What it is for, in a line: the description of its units."`
	Persistent  *bool             `state:"persistent" doc:"Whether a time that was missed, as the machine was off, is made up for. For on_calendar only."`
	Delay       *time.Duration    `state:"randomized_delay" doc:"The longest time by which it is put off by chance, so that not all machines start at once."`
	Enabled     *bool             `state:"enabled" doc:"Whether the timer runs, now and from the next start on; true unless given."`

	former former
}

// former is what stands in the files.
type former struct {
	timer, service   string // their texts
	command, foreign bool   // a command is started; somebody else has written there
}

const doc = `A command, or a unit, that systemd starts at given times.

The part writes NAME.timer and, with command, NAME.service, enables the timer and starts it. A part that is given no on_calendar, on_boot and every is a mistake, since it would never be due. Calendar expressions are checked by "systemd-analyze calendar" before anything is changed, where there is one.

Arguments of command and values of env reach the program as they are: nothing in them is a variable, a specifier or a quote to systemd. A command that is running goes on when the timer changes.

The two files are this part's as a whole: settings that others add are shown and removed. To add to the service, use systemd_unit with a drop_in. Absent stops the timer and removes the files; a command that runs then goes on.`

const example = `systemd_timer "backup" {
  command          = ["/usr/bin/rsync", "-a", "/srv/", "/var/backups/srv/"]
  on_calendar      = ["Mon..Fri 04:30"]
  persistent       = true
  randomized_delay = "10m"
}`

// Module is the module "systemd_timer".
var Module = states.Define(states.Type[Timer]{
	Name: "systemd_timer", Doc: doc, Example: example, Root: true, Locks: []string{"unit %s.timer", "unit files"},
	Validate: validate, Complete: complete, Extra: foreignChanges,
	Read: read, Write: write, Remove: remove, List: list, Recover: recoverAct, Effects: effects,
	Import: func(ctx context.Context, h host.Host, key Timer) (*Timer, error) { return read(ctx, h, key) },
})

// effects are what systemd remembers of a timer. One whose time has come as it starts, starts its
// command; at other times that starts by the clock, as it would if nobody did anything.
func effects(want Timer, absent bool) states.Effects {
	if want.User != nil || !absent && want.OnBoot != nil && (want.Enabled == nil || *want.Enabled) {
		return states.Effects{Anything: true}
	}
	return states.Effects{Paths: []string{"/var/lib/systemd/timers"}}
}

// complete says that a timer runs unless it is not to.
func complete(_ context.Context, _ host.Host, want *Timer) error {
	if want.Enabled == nil {
		want.Enabled = new(true)
	}
	if want.Command == nil && want.Unit == nil {
		return states.InvalidAttribute("command", "neither command nor unit is given", "")
	}
	if len(want.OnCalendar) == 0 && want.OnBoot == nil && want.Every == nil {
		return states.InvalidAttribute("on_calendar", "it is never due: none of on_calendar, on_boot and every is given", "")
	}
	return nil
}

func read(ctx context.Context, h host.Host, want Timer) (*Timer, error) {
	place, err := systemd.PlaceOf(h, want.User)
	if err != nil {
		return nil, err
	}
	timer, there, err := place.Read(want.Name + ".timer")
	if err != nil || !there {
		return nil, err
	}
	service, _, err := place.Read(want.Name + ".service")
	if err != nil {
		return nil, err
	}
	have := &Timer{Name: want.Name, User: want.User}
	have.former.timer, _ = timer.Inline()
	have.former.service, _ = service.Inline()
	have.parse()
	have.former.command = have.Unit == nil && have.Command != nil
	have.former.foreign = have.timer() != have.former.timer || have.former.command && have.service() != have.former.service
	s, err := systemd.Open(ctx, h, want.Name+".timer", want.User)
	if err != nil {
		return nil, err
	}
	status, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	have.Enabled = new(status.Enablement == "enabled" && (status.Runs() || status.Active == ""))
	have.omitAlternatives(want)
	return have, nil
}

// omitAlternatives leaves out what the wanted one does in another way, and gives what is not set
// the value that says so.
func (t *Timer) omitAlternatives(want Timer) {
	if want.Command != nil {
		t.Unit = nil
	}
	if want.Unit != nil {
		t.Command, t.RunAs, t.Dir, t.Env = nil, nil, nil, nil
	}
	if want.OnCalendar != nil && t.OnCalendar == nil {
		t.OnCalendar = []string{}
	}
	if want.Env != nil && t.Env == nil {
		t.Env = map[string]string{}
	}
	if want.Persistent != nil && t.Persistent == nil {
		t.Persistent = new(false)
	}
}

// foreignChanges shows what somebody else has written into the files.
func foreignChanges(have, want Timer) []states.Change {
	if !have.former.foreign {
		return nil
	}
	from, to := have.former.timer, want.timer()
	if want.Command != nil {
		from, to = from+have.former.service, to+want.service()
	}
	return []states.Change{{Attribute: "name", From: from, To: to}}
}

func write(ctx context.Context, h host.Host, have *Timer, want Timer) error {
	if err := possible(ctx, h, want); err != nil {
		return err
	}
	place, err := systemd.PlaceOf(h, want.User)
	if err != nil {
		return err
	}
	s, err := systemd.Open(ctx, h, want.Name+".timer", want.User)
	if err != nil {
		return err
	}
	if want.Command != nil {
		err = place.Write(ctx, want.Name+".service", host.Text(want.service()))
	} else if have != nil && have.former.command {
		err = place.Remove(want.Name + ".service")
	}
	if err == nil {
		err = place.Write(ctx, want.Name+".timer", host.Text(want.timer()))
	}
	if err == nil {
		err = systemd.Refresh(ctx, h, want.User)
	}
	if err != nil {
		return err
	}
	return schedule(ctx, s, have, want)
}

// schedule lets the timer run as it is written, or no more.
func schedule(ctx context.Context, s *systemd.Service, have *Timer, want Timer) error {
	status, err := s.Status(ctx)
	if err != nil {
		return err
	}
	verbs := []host.Verb{host.Enable}
	switch changed := have == nil || have.former.timer != want.timer(); {
	case !*want.Enabled && status.Active == "":
		verbs = []host.Verb{host.Disable}
	case !*want.Enabled:
		verbs = []host.Verb{host.Stop, host.Disable}
	case status.Active == "":
	case status.Runs() && changed:
		verbs = append(verbs, host.Restart)
	case !status.Runs():
		verbs = append(verbs, host.Start)
	}
	for _, verb := range verbs {
		if err := s.Do(ctx, verb); err != nil {
			return err
		}
	}
	return nil
}

// recoverAct lets a timer run as its files say, where an act that wrote them may have
// been cut short before systemd knew of it.
func recoverAct(ctx context.Context, h host.Host, want Timer, _ states.Begun) (states.Outcome, error) {
	s, err := systemd.Open(ctx, h, want.Name+".timer", want.User)
	if err == nil {
		err = systemd.Refresh(ctx, h, want.User)
	}
	if err == nil {
		err = schedule(ctx, s, nil, want)
	}
	return states.Changed, err
}

// possible finds what systemd would refuse, before anything is changed.
func possible(ctx context.Context, h host.Host, want Timer) error {
	if want.RunAs != nil {
		if _, err := h.User(*want.RunAs); err != nil {
			return fmt.Errorf("run_as: %w", err)
		}
	}
	for _, when := range want.OnCalendar {
		if err := systemd.CheckCalendar(ctx, h, when); err != nil {
			return err
		}
	}
	return nil
}

func remove(ctx context.Context, h host.Host, have Timer) error {
	place, err := systemd.PlaceOf(h, have.User)
	if err != nil {
		return err
	}
	unforeseen, err := systemd.Retire(ctx, h, have.Name+".timer", have.User)
	// The timer goes last: by it what is left is found if this is cut short.
	if err == nil && have.former.command {
		err = place.Remove(have.Name + ".service")
	}
	if err == nil {
		err = place.Remove(have.Name + ".timer")
	}
	if err == nil {
		err = systemd.Refresh(ctx, h, have.User)
	}
	return errors.Join(err, unforeseen)
}

// list names the machine's timers that this module has written.
func list(_ context.Context, h host.Host, _ []string) ([]Timer, error) {
	place, err := systemd.PlaceOf(h, nil)
	if err != nil {
		return nil, err
	}
	entries, err := h.ReadDir(place.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var keys []Timer
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name, ".timer")
		if err != nil || !ok || e.Kind != host.Regular {
			continue
		}
		content, _, rerr := place.Read(e.Name)
		if text, _ := content.Inline(); strings.HasPrefix(text, header) {
			keys = append(keys, Timer{Name: name})
		}
		err = rerr
	}
	return keys, err
}
