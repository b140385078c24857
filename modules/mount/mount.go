// Package mount is the module "mount": a file system that is mounted, now and at boot.
package mount

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/claim"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Mount is the state of one mount, wanted or observed. A nil attribute is not managed.
type Mount struct {
	Path    string   `state:"path,key,path" doc:"Absolute path of the directory that it is mounted on. A missing one is made; a file is only possible for a bind mount."`
	Source  *string  `state:"source,present,path" doc:"What is mounted: a device, UUID=…, LABEL=…, PARTUUID=…, PARTLABEL=…, a share such as \"nas:/export\", the directory of a bind mount, or any word for a type like tmpfs."`
	Type    *string  `state:"fstype" doc:"Type of the file system. Without it, a new mount is \"none\" with the option bind or rbind, and else \"auto\"."`
	Options []string `state:"options,public" doc:"Mount options in their order, such as [\"noatime\", \"size=1g\"]."`
	Mounted *bool    `state:"mounted" doc:"Whether it is mounted now: yes, if nothing else is said."`
	Boot    *bool    `state:"boot" doc:"Whether a line in /etc/fstab has it mounted at boot: yes, if nothing else is said."`
	Dump    *int     `state:"dump" doc:"The line's fifth field: whether dump(8) saves it."`
	Pass    *int     `state:"pass" doc:"The line's sixth field: when fsck checks it at boot, 0: never."`
}

const doc = `A file system is mounted, now and at boot.

What is given counts for both: the line in /etc/fstab is exactly so, and what is mounted now is the same source with the same options, as far as the kernel tells. It tells ro, nosuid, nodev, noexec, sync and what becomes of access times, and the size of a tmpfs; the rest it shows in other words, and that is not compared. Where options differ it is mounted anew in place (remount); where source or type differ it is unmounted and mounted. The other lines of /etc/fstab keep every byte.

A device, directory or image that is not there, and a share without the program that mounts its type, are errors of the plan, before anything is changed. With mounted = false nothing of that is asked for.

A plan cannot foresee what lies below a mount that it has just foreseen: parts on files there are maybe.

With --root only /etc/fstab is looked at, and nothing is mounted.

Absent unmounts it and removes its lines from /etc/fstab. The directory stays. A file system that is in use fails the part, with the processes that use it; it is never detached from under them.`

const example = `mount "/srv/cache" {
  source  = "tmpfs"
  fstype  = "tmpfs"
  options = ["size=64m", "nosuid", "nodev"]
}

mount "/srv/www" {
  source  = "/srv/cache"
  options = ["bind", "ro"]
}`

// Module is the module "mount".
var Module = states.Define(states.Type[Mount]{
	Name: "mount", Doc: doc, Example: example, Root: true, Locks: []string{fstab.File},
	New:      Mount{Options: []string{}, Dump: new(0), Pass: new(0)},
	Validate: validate, Claims: claims, Complete: complete, Read: read, Write: write, Remove: remove, Foresee: foresee,
	Import: importMount, List: list,
})

// maxText is how much mount(2) takes of a path or of options: a page, with a NUL byte.
const maxText = 4095

func validate(want Mount) error {
	if want.Source != nil {
		switch s := *want.Source; {
		case s == "":
			return states.InvalidAttribute("source", "a source cannot be empty", "name a device, UUID=…, LABEL=…, a share or a directory; of tmpfs write \"tmpfs\"")
		case strings.HasPrefix(s, "#"):
			return states.InvalidAttribute("source", "in /etc/fstab it would be a comment", "write the path of the device, or its UUID=…")
		case len(s) > maxText:
			return states.InvalidAttribute("source", fmt.Sprintf("it has %d bytes, more than the %d that the kernel takes", len(s), maxText), "")
		}
	}
	if want.Type != nil {
		if *want.Type == "swap" {
			return states.InvalidAttribute("fstype", "swap is not mounted on a directory", "use a part of type swap")
		}
		if err := check.Name("fstype", *want.Type, "._-"); err != nil {
			return err
		}
	}
	for _, o := range want.Options {
		switch {
		case o == "" || strings.ContainsAny(o, ", \t\n\r\x00\"") || strings.HasPrefix(o, "=") || strings.HasPrefix(o, "#"):
			return states.InvalidAttribute("options", fmt.Sprintf("%q is no single option", o), "give each one by itself, without commas or blanks")
		case o == "remount" || o == "defaults":
			return states.InvalidAttribute("options", fmt.Sprintf("%q stands for no option of a mount", o), "leave it out")
		}
	}
	if n := len(strings.Join(want.Options, ",")); n > maxText {
		return states.InvalidAttribute("options", fmt.Sprintf("they have %d bytes, more than the %d that the kernel takes", n, maxText), "")
	}
	if want.Mounted != nil && want.Boot != nil && !*want.Mounted && !*want.Boot {
		return states.InvalidAttribute("boot", "it is to be mounted neither now nor at boot", `write ensure = "absent"`)
	}
	for _, x := range []struct {
		attribute string
		n         *int
	}{{"dump", want.Dump}, {"pass", want.Pass}} {
		if x.n != nil && (*x.n < 0 || *x.n > 9) {
			return states.InvalidAttribute(x.attribute, fmt.Sprintf("%d is not between 0 and 9", *x.n), "")
		}
	}
	return errors.Join(check.Path("path", want.Path), check.Line("source", want.Source, ""))
}

// complete says what is wanted of now and of the next boot.
func complete(_ context.Context, h host.Host, want *Mount) error {
	running := host.Running(h)
	if want.Mounted != nil && *want.Mounted && !running {
		return states.InvalidAttribute("mounted", "with --root nothing can be mounted, since that machine does not run", "")
	}
	if want.Boot == nil {
		want.Boot = new(true)
	}
	if want.Mounted == nil && running {
		want.Mounted = new(true)
	}
	return nil
}

// bind reports whether the options make a bind mount.
func bind(options []string) bool {
	return slices.Contains(options, "bind") || slices.Contains(options, "rbind")
}

// fstype is the type of a mount that says none.
func fstype(want Mount) string {
	switch {
	case want.Type != nil:
		return *want.Type
	case bind(want.Options):
		return "none"
	}
	return "auto"
}

// line is the mount's line in /etc/fstab.
func line(want Mount) fstab.Entry {
	e := fstab.Entry{Source: *want.Source, Path: want.Path, Type: fstype(want), Options: "defaults"}
	if len(want.Options) > 0 {
		e.Options = strings.Join(want.Options, ",")
	}
	if want.Dump != nil {
		e.Dump = *want.Dump
	}
	if want.Pass != nil {
		e.Pass = *want.Pass
	}
	return e
}

// matchPath tells the lines that mount something on a path.
func matchPath(path string) func(fstab.Entry) bool {
	return func(e fstab.Entry) bool { return e.Path == path && e.Type != "swap" }
}

// observation is all that is known of a path.
type observation struct {
	entry   *fstab.Entry   // nil: no line in /etc/fstab
	mounted *fstab.Mounted // nil: nothing is mounted there
	all     []fstab.Mounted
	real    string // the path without symbolic links
}

func look(h host.Host, path string) (observation, error) {
	table, err := fstab.Load(h)
	if err != nil {
		return observation{}, err
	}
	f := observation{real: fstab.RealPath(h, path)}
	if f.entry, err = table.Find(path, matchPath(path)); err != nil || !host.Running(h) {
		return f, err
	}
	if f.all, err = fstab.ReadMounted(h); err != nil {
		return f, fmt.Errorf("what is mounted cannot be read: %w", err)
	}
	f.mounted = fstab.At(f.all, f.real)
	return f, nil
}

func read(_ context.Context, h host.Host, want Mount) (*Mount, error) {
	f, err := look(h, want.Path)
	if err != nil || f.entry == nil && f.mounted == nil {
		return nil, err
	}
	have := &Mount{Path: want.Path, Mounted: new(f.mounted != nil), Boot: new(f.entry != nil), Dump: want.Dump, Pass: want.Pass}
	if f.entry != nil && (want.Boot == nil || *want.Boot) {
		have.fromEntry(*f.entry)
	}
	if f.mounted != nil && (want.Mounted == nil || *want.Mounted) {
		have.fromMounted(h, f, want)
	}
	if have.Source == nil { // only there in the way in which it is not wanted
		have.Source, have.Type, have.Options = want.Source, want.Type, want.Options
	}
	return have, nil
}

// fromEntry takes what the line says.
func (m *Mount) fromEntry(e fstab.Entry) {
	m.Source, m.Type, m.Dump, m.Pass = &e.Source, &e.Type, &e.Dump, &e.Pass
	m.Options = []string{}
	for o := range strings.SplitSeq(e.Options, ",") {
		if o != "" && o != "defaults" {
			m.Options = append(m.Options, o)
		}
	}
}

// fromMounted takes what is mounted: where it is as wanted, in the words of the wish,
// and where the line says already that something differs, nothing.
func (m *Mount) fromMounted(h host.Host, f observation, want Mount) {
	known := m.Source != nil
	live := inWords(f, known || want.Source != nil)
	differs := func(is, wanted *string) bool { return wanted != nil && is != nil && *is != *wanted }
	wish := want
	if want.Options == nil {
		wish.Options = m.Options
	}
	if !known || !differs(m.Source, want.Source) {
		switch {
		case want.Source != nil && sameSource(h, f, wish):
			m.Source = want.Source
		case want.Source != nil || !known:
			m.Source = live.Source
		}
	}
	if !known || !differs(m.Type, want.Type) {
		switch {
		case want.Type != nil && sameType(*f.mounted, wish):
			m.Type = want.Type
		case want.Type == nil && bind(want.Options):
			m.Type = new("none") // a bind mount has the type of what it shows
		case want.Type != nil || !known:
			m.Type = live.Type
		}
	}
	if !known || want.Options == nil || slices.Equal(m.Options, want.Options) {
		switch {
		case want.Options != nil && !optionsDiffer(*f.mounted, want):
			m.Options = want.Options
		case want.Options != nil || !known:
			m.Options = live.Options
		}
	}
}

// importMount takes the line in /etc/fstab, and else what is mounted.
func importMount(ctx context.Context, h host.Host, key Mount) (*Mount, error) {
	have, err := read(ctx, h, Mount{Path: key.Path})
	if have != nil && have.Dump == nil {
		have.Dump, have.Pass = new(0), new(0)
	}
	return have, err
}

// list gives what somebody has put into /etc/fstab.
func list(_ context.Context, h host.Host, paths []string) ([]Mount, error) {
	table, err := fstab.Load(h)
	if err != nil {
		return nil, err
	}
	var out []Mount
	for _, e := range table.Entries() {
		within := func(dir string) bool {
			return e.Path == dir || strings.HasPrefix(e.Path, strings.TrimSuffix(dir, "/")+"/")
		}
		if e.Type != "swap" && check.Path("path", e.Path) == nil && (len(paths) == 0 || slices.ContainsFunc(paths, within)) {
			out = append(out, Mount{Path: e.Path})
		}
	}
	return out, nil
}

// errNoSource is for a wish that has lost its source on the way.
var errNoSource = errors.New("source: it is required for a mount that is to be there")

// claims says what a part takes for granted of the table that others may write as a whole.
func claims(values map[string]any, absent bool) []states.Claim {
	at, _ := values["path"].(string)
	if absent || values["boot"] == false {
		return nil
	}
	return claim.Piece(fstab.File, at, "that a line of "+at)
}
