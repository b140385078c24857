// Package timezone is the module "timezone": the time zone of the machine.
package timezone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Timezone is the time zone of the machine, wanted or observed.
type Timezone struct {
	Name string `state:"name,key" doc:"Name of the zone, such as Europe/Berlin or Etc/UTC."`

	// The zone that Read found, where it is another one.
	former string
}

const doc = `The time zone of the machine.

It is where the link /etc/localtime leads and, where that file is there, what /etc/timezone says. The zone must be one of those in /usr/share/zoneinfo. A copy of a zone in the place of the link is replaced. Programs that run already keep the zone that they have read.`

const example = `timezone "Europe/Berlin" {}`

// Module is the module "timezone".
var Module = states.Define(states.Type[Timezone]{
	Name: "timezone", Doc: doc, Example: example, Locks: []string{"timezone"}, Root: true,
	Validate: validate, Extra: zoneChanges, Read: read, Write: write, Import: importTimezone, List: list,
	NoAbsent: "A machine always has a time zone.",
})

const (
	zones     = "/usr/share/zoneinfo/"
	localtime = "/etc/localtime"
	timezone  = "/etc/timezone"
)

func validate(want Timezone) error {
	for word := range strings.SplitSeq(want.Name, "/") {
		if err := check.Name("name", word, "_+-"); err != nil {
			return err
		}
	}
	if len(want.Name) > 100 {
		return states.InvalidAttribute("name", "it is longer than a name of a zone can be", "timedatectl list-timezones lists them")
	}
	return nil
}

// zoneChanges shows the zone that the machine is in.
func zoneChanges(have, want Timezone) []states.Change {
	if have.former == "" {
		return nil
	}
	return []states.Change{{Attribute: "name", From: have.former, To: want.Name}}
}

func read(_ context.Context, h host.Host, want Timezone) (*Timezone, error) {
	have := &Timezone{Name: want.Name}
	found, err := names(h)
	for _, name := range found {
		if name != want.Name && have.former == "" {
			have.former = name
		}
	}
	return have, err
}

// names are the zones that the link and the file name.
func names(h host.Reader) ([]string, error) {
	var found []string
	target, err := h.ReadLink(localtime)
	switch _, lstat := h.Lstat(localtime); {
	case err == nil:
		found = append(found, strings.TrimPrefix(path.Join("/etc", relative(target)), zones))
	case errors.Is(lstat, fs.ErrNotExist):
		found = append(found, "(none)")
	case lstat != nil:
		return nil, lstat
	default:
		found = append(found, "(a copy)")
	}
	text, err := host.ReadFile(h, timezone, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	return append(found, strings.TrimSpace(string(text))), err
}

// relative makes a target one that is meant from /etc.
func relative(target string) string {
	if path.IsAbs(target) {
		return ".." + target
	}
	return target
}

func write(ctx context.Context, h host.Host, _ *Timezone, want Timezone) error {
	if err := exists(h, want.Name); err != nil {
		return err
	}
	if _, err := h.Lstat(timezone); err == nil {
		if err := h.WriteFile(ctx, timezone, host.Text(want.Name+"\n"), host.Meta{}); err != nil {
			return err
		}
	}
	return h.Symlink(zones+want.Name, localtime, host.Meta{})
}

// exists wants the zone's file, which begins with a word of its own; see
// tzfile(5).
func exists(h host.Reader, name string) error {
	f, err := h.Open(zones + name)
	var kind *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		if _, err := h.Lstat(path.Clean(zones)); errors.Is(err, fs.ErrNotExist) {
			return errors.New("this host has no time zones in " + zones + ": the package tzdata brings them")
		}
		return fmt.Errorf("%w (%s has those that there are)", check.NotOnHost("time zone", name), zones)
	case errors.As(err, &kind):
		return fmt.Errorf("%w: %w", check.NotOnHost("time zone", name), err)
	case err != nil:
		return err
	}
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	if f.Close(); err != nil || string(head) != "TZif" {
		return fmt.Errorf("%s is no time zone", zones+name)
	}
	return nil
}

// importTimezone finds the machine in its own zone only.
func importTimezone(ctx context.Context, h host.Host, key Timezone) (*Timezone, error) {
	have, err := read(ctx, h, key)
	if err != nil || have.former != "" {
		return nil, err
	}
	return have, nil
}

func list(_ context.Context, h host.Host, _ []string) ([]Timezone, error) {
	found, err := names(h)
	if err != nil || validate(Timezone{Name: found[0]}) != nil {
		return nil, err
	}
	return []Timezone{{Name: found[0]}}, nil
}
