// Package systemdunit is the module "systemd_unit": the file of a unit of systemd,
// or a drop-in for one.
package systemdunit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Unit is one file, wanted or observed.
type Unit struct {
	Name    string         `state:"name,key" doc:"Whole name of the unit, such as app.service."`
	User    *string        `state:"user,key,optional,of_user" doc:"The account whose own unit it is; otherwise it is the machine's."`
	DropIn  *string        `state:"drop_in,key,optional" doc:"Name of a drop-in, without .conf: what is given here is added to a unit that comes from elsewhere."`
	Content *host.Content  `state:"content,public" doc:"Whole text of the file. It or source is required unless it is to be absent."`
	Source  *states.Source `state:"source,in" doc:"File of the site whose bytes become the text, untouched; in place of content."`
	Verify  *bool          `state:"verify,in" doc:"Whether systemd-analyze checks the text before it is put in place, where there is one; true unless given. Drop-ins and units of accounts are checked for their form and their settings only. False checks the form only."`
}

const doc = `The file of a unit of systemd, or a drop-in for one.

The text is checked before anything is changed: its form always, then whether this systemd knows each setting, which a plan finds as well, and what systemd itself thinks of it by "systemd-analyze verify". That a program which the unit starts is not there yet is no mistake. Then the file is put in place, and systemd reads its files anew: once for several units that are ready together.

The file stands in /etc/systemd/system, or in .config/systemd/user of the account's home. It neither starts nor enables the unit: a service part does, and in a plan it already knows a unit that is written here. A unit that runs goes on as it was started: notify a restart.

Absent stops and disables the unit, since nobody could once its file is gone, and removes the file; of a drop-in only the file is removed.`

const example = `systemd_unit "app.service" {
  content = <<-END
    [Unit]
    Description=The app

    [Service]
    ExecStart=/usr/bin/sleep infinity

    [Install]
    WantedBy=multi-user.target
  END
  notify  = [restart.app]
}

service "app" {
  running = true
  enabled = true
}

restart "app" {}

systemd_unit "less memory" {
  name    = "cron.service"
  drop_in = "memory"
  content = "[Service]\nMemoryMax=200M\n"
}`

// Module is the module "systemd_unit".
var Module = states.Define(states.Type[Unit]{
	Name: "systemd_unit", Doc: doc, Example: example, Root: true, Locks: []string{"unit files"},
	Validate: validate, Needs: needs, Complete: complete, Read: read, Write: write, Remove: remove,
	Foresee: foresee, Batch: batch, List: list, Recover: recoverAct, Effects: effects,
})

// effects are those of the unit where it is stopped, since its file is to go.
func effects(want Unit, absent bool) states.Effects {
	if !absent || want.DropIn != nil {
		return states.Effects{}
	}
	return systemd.Effects(want.Name, want.User)
}

var dynamicPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*DynamicUser[ \t]*=[ \t]*(yes|true|on|1)`) })
var accountPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(User|Group)[ \t]*=[ \t]*([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*$`)
})

// needs gives the accounts that a service runs as: it cannot start without them.
func needs(values map[string]any) []string {
	text, _ := values["content"].(string)
	if dynamicPattern().MatchString(text) {
		return nil // systemd makes them
	}
	var accounts []string
	for _, m := range accountPattern().FindAllStringSubmatch(text, -1) {
		accounts = append(accounts, strings.ToLower(m[1])+" "+m[2])
	}
	return accounts
}

func validate(want Unit) error {
	if err := errors.Join(systemd.CheckUnit("name", want.Name), check.Account("user", want.User)); err != nil {
		return err
	}
	if !systemd.IsUnit(want.Name) {
		return states.InvalidAttribute("name", fmt.Sprintf("%q does not say what kind of unit it is", want.Name),
			fmt.Sprintf("write the whole name, such as %q", want.Name+".service"))
	}
	if want.DropIn != nil {
		if err := check.Name("drop_in", *want.DropIn, "-_."); err != nil {
			return err
		}
		if strings.HasPrefix(*want.DropIn, ".") || len(*want.DropIn) > 200 || strings.HasSuffix(*want.DropIn, ".conf") {
			return states.InvalidAttribute("drop_in", fmt.Sprintf("%.200q is no name of a drop-in", *want.DropIn),
				"write a short name without .conf")
		}
	}
	if want.Content != nil && want.Source != nil {
		return states.InvalidAttribute("source", "it cannot be given beside content", "")
	}
	if want.Content == nil {
		return nil
	}
	return checkText("content", want)
}

func checkText(attribute string, want Unit) error {
	text, inline := want.Content.Inline()
	if !inline {
		return states.InvalidAttribute(attribute, "the text of a unit has at most 1 MiB", "")
	}
	return systemd.CheckText(attribute, want.Name, text)
}

// complete turns a source into the text that it holds.
func complete(_ context.Context, _ host.Host, want *Unit) error {
	if want.Source != nil {
		content, err := want.Source.Content()
		if err != nil {
			return fmt.Errorf("reading the source: %w", err)
		}
		want.Content = &content
		return checkText("source", *want)
	}
	if want.Content == nil {
		return states.InvalidAttribute("content", "neither content nor source is given", "")
	}
	return nil
}

// file is the file's path below the place of unit files.
func (u Unit) file() string {
	if u.DropIn != nil {
		return path.Join(u.Name+".d", *u.DropIn+".conf")
	}
	return u.Name
}

func read(_ context.Context, h host.Host, want Unit) (*Unit, error) {
	place, err := systemd.PlaceOf(h, want.User)
	if err != nil {
		return nil, err
	}
	content, there, err := place.Read(want.file())
	if err != nil || !there {
		return nil, err
	}
	return &Unit{Name: want.Name, User: want.User, DropIn: want.DropIn, Content: &content}, nil
}

func write(ctx context.Context, h host.Host, have *Unit, want Unit) error {
	return batch(ctx, h, []states.ItemOf[Unit]{{Have: have, Want: &want}})[0]
}

func remove(ctx context.Context, h host.Host, have Unit) error {
	return batch(ctx, h, []states.ItemOf[Unit]{{Have: &have}})[0]
}

// batch carries out several, and lets systemd read its files once for each account
// that they are of.
func batch(ctx context.Context, h host.Host, items []states.ItemOf[Unit]) []error {
	errs := make([]error, len(items))
	refresh := map[string][]int{}
	for i, item := range items {
		if errs[i] = put(ctx, h, item, verify); errs[i] != nil {
			continue
		}
		user := ""
		if of := itemOf(item).either().User; of != nil {
			user = *of
		}
		refresh[user] = append(refresh[user], i)
	}
	for _, those := range refresh {
		err := systemd.Refresh(ctx, h, itemOf(items[those[0]]).either().User)
		for _, i := range those {
			errs[i] = err
		}
	}
	return errs
}

// recoverAct tells systemd of a file that was put in place by an act which nobody saw
// end: it may have been cut short in between.
func recoverAct(ctx context.Context, h host.Host, want Unit, _ states.Begun) (states.Outcome, error) {
	return states.Changed, systemd.Refresh(ctx, h, want.User)
}

// itemOf is one item of a batch.
type itemOf states.ItemOf[Unit]

// either gives what it is about.
func (i itemOf) either() *Unit {
	if i.Want != nil {
		return i.Want
	}
	return i.Have
}

// put writes or removes one file, once the checks have passed.
func put(ctx context.Context, h host.Host, it states.ItemOf[Unit], checks ...func(context.Context, host.Host, Unit) error) error {
	if it.Want == nil {
		return takeAway(ctx, h, *it.Have)
	}
	if it.Want.Verify == nil || *it.Want.Verify {
		for _, check := range append(checks, checkKnown) {
			if err := check(ctx, h, *it.Want); err != nil {
				return err
			}
		}
	}
	place, err := systemd.PlaceOf(h, it.Want.User)
	if err != nil {
		return err
	}
	return place.Write(ctx, it.Want.file(), *it.Want.Content)
}

// takeAway stops and disables a unit before its file is gone.
func takeAway(ctx context.Context, h host.Host, have Unit) error {
	place, err := systemd.PlaceOf(h, have.User)
	if err != nil {
		return err
	}
	var unforeseen error
	if have.DropIn == nil {
		unforeseen, err = systemd.Retire(ctx, h, have.Name, have.User)
		if err != nil {
			return err
		}
	}
	if err := place.Remove(have.file()); err != nil {
		return err
	}
	return unforeseen
}

// foresee writes the file. What systemd-analyze says of it no plan can know, since that
// reads the file itself.
func foresee(ctx context.Context, h host.Host, have, want *Unit) error {
	if want == nil {
		return takeAway(ctx, h, *have)
	}
	return put(ctx, h, states.ItemOf[Unit]{Have: have, Want: want})
}

// list names the machine's own unit files and drop-ins, but for those of timers,
// which are a systemd_timer each.
func list(_ context.Context, h host.Host, _ []string) ([]Unit, error) {
	const dir = "/etc/systemd/system"
	place, err := systemd.PlaceOf(h, nil)
	if err != nil {
		return nil, err
	}
	entries, err := h.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var keys []Unit
	for _, e := range entries {
		unit, isDir := strings.CutSuffix(e.Name, ".d")
		switch {
		case e.Kind == host.Regular && systemd.IsUnit(e.Name):
			content, _, err := place.Read(e.Name)
			if err != nil {
				return nil, err
			}
			if text, _ := content.Inline(); !strings.HasPrefix(text, systemd.Written) {
				keys = append(keys, Unit{Name: e.Name})
			}
		case e.Kind == host.Directory && isDir && systemd.IsUnit(unit):
			inside, err := h.ReadDir(path.Join(dir, e.Name))
			if err != nil {
				return nil, err
			}
			for _, one := range inside {
				if name, conf := strings.CutSuffix(one.Name, ".conf"); conf && one.Kind == host.Regular {
					keys = append(keys, Unit{Name: unit, DropIn: &name})
				}
			}
		}
	}
	return keys, err
}
