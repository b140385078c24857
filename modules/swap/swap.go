// Package swap is the module "swap": a swap area in a file or on a device.
package swap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Swap is the state of one swap area, wanted or observed. A nil attribute is not
// managed.
type Swap struct {
	Path     string  `state:"path,key,path" doc:"Absolute path of the file, or of the device."`
	Size     *string `state:"size" doc:"Size of the file, such as \"2G\" (K, M, G and T are powers of 1024), in whole MiB. A new file needs it; a device has its own."`
	Priority *int    `state:"priority" doc:"From 0 to 32767; areas of higher priority are used first. Without it the kernel gives a negative one."`
	Active   *bool   `state:"active" doc:"Whether the area is in use now: yes, if nothing else is said."`
	Boot     *bool   `state:"boot" doc:"Whether a line in /etc/fstab has it in use from boot: yes, if nothing else is said."`
}

const doc = `A swap area, now and from boot: a file, or a device.

A file is made as large as it is to be, without holes, readable by root alone, and made anew where its size changes. On Btrfs a swap file needs more than that, which this does not do. A device is made a swap area if nothing is on it; one that holds something else is an error, and so is a file that does. Each directory on the way to it must be one that root alone can write to: else another account could put something else in its place meanwhile. A file that has been another account's, or that others could read, is made anew: they may have it open.

To change size or priority of an area in use it is taken out of use first, which needs room for what is in it.

With --root nothing is taken into use.

Absent takes the area out of use and removes its line from /etc/fstab, and the file.`

const example = `swap "/var/swapfile" {
  size     = "1G"
  priority = 10
}`

// Module is the module "swap".
var Module = states.Define(states.Type[Swap]{
	Name: "swap", Doc: doc, Example: example, Root: true, Locks: []string{fstab.File},
	Validate: validate, Complete: complete, Read: read, Write: write, Remove: remove, Foresee: foresee,
	Import: importSwap, List: list,
})

// swaps is where the kernel lists the areas in use: proc(5).
const swaps = "/proc/swaps"

const mib = 1 << 20

func validate(want Swap) error {
	mistake := func(attribute, format string, args ...any) error {
		return states.InvalidAttribute(attribute, fmt.Sprintf(format, args...), "")
	}
	if want.Size != nil {
		switch n, err := parseSize(*want.Size); {
		case err != nil:
			return states.InvalidAttribute("size", err.Error(), `write it like "512M" or "2G"`)
		case n < mib || n%mib != 0:
			return mistake("size", "%s is no number of whole MiB", *want.Size)
		}
	}
	if p := want.Priority; p != nil && (*p < 0 || *p > 32767) {
		return mistake("priority", "%d is not between 0 and 32767", *p)
	}
	if want.Active != nil && want.Boot != nil && !*want.Active && !*want.Boot {
		return states.InvalidAttribute("boot", "it is to be in use neither now nor from boot", `write ensure = "absent"`)
	}
	if len(want.Path) > maxPath {
		return mistake("path", "it has %d bytes, more than the %d that the kernel takes", len(want.Path), maxPath)
	}
	return errors.Join(check.Path("path", want.Path), check.Line("path", &want.Path, ""))
}

// maxPath is PATH_MAX without the NUL byte.
const maxPath = 4095

func parseSize(text string) (int64, error) {
	digits, factor := text, int64(1)
	if text != "" {
		if i := strings.IndexByte("KMGT", text[len(text)-1]); i >= 0 {
			digits, factor = text[:len(text)-1], 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 63)
	if err != nil || n <= 0 || n > (1<<50)/factor {
		return 0, fmt.Errorf("%q is no size", text)
	}
	return n * factor, nil
}

// formatSize is its inverse, with the largest unit that fits.
func formatSize(n int64) string {
	units := []string{"", "K", "M", "G", "T"}
	for len(units) > 1 && n%1024 == 0 && n > 0 {
		n, units = n/1024, units[1:]
	}
	return strconv.FormatInt(n, 10) + units[0]
}

// complete says what is wanted of now and of the next boot.
func complete(_ context.Context, h host.Host, want *Swap) error {
	running := host.Running(h)
	if want.Active != nil && *want.Active && !running {
		return states.InvalidAttribute("active", "with --root nothing can be taken into use, since that machine does not run", "")
	}
	if want.Boot == nil {
		want.Boot = new(true)
	}
	if want.Active == nil && running {
		want.Active = new(true)
	}
	return nil
}

// observation is all that is known of a path.
type observation struct {
	entry    *fstab.Entry // nil: no line in /etc/fstab
	active   bool
	priority int       // if active
	kind     host.Kind // "": nothing is there
	content  content   // of a file
	info     host.Info // of what is there
}

func look(h host.Host, path string) (observation, error) {
	var f observation
	table, err := fstab.Load(h)
	if err != nil {
		return f, err
	}
	if f.entry, err = table.Find("the swap area "+path, isFor(h, path)); err != nil {
		return f, err
	}
	if host.Running(h) {
		if f.active, f.priority, err = inUse(h, path); err != nil {
			return f, fmt.Errorf("which swap areas are in use cannot be read: %w", err)
		}
	}
	info, err := h.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	}
	f.kind, f.info = info.Kind, info
	switch info.Kind {
	case host.Regular:
		f.content, err = inspect(h, path, info.Size)
		return f, err
	case host.Directory:
		return f, fmt.Errorf("%s is a directory", path)
	}
	return f, nil
}

// isFor tells the lines of a swap area, however they name it.
func isFor(h host.Reader, path string) func(fstab.Entry) bool {
	return func(e fstab.Entry) bool {
		return e.Type == "swap" && (e.Source == path || fstab.RealPath(h, fstab.Device(e.Source)) == fstab.RealPath(h, path))
	}
}

// inUse looks an area up among those of the kernel.
func inUse(h host.Reader, path string) (active bool, priority int, err error) {
	text, err := host.ReadText(h, swaps)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil // a kernel without swap
	}
	real := fstab.RealPath(h, path)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 5 && fstab.Unescape(fields[0]) == real {
			priority, err = strconv.Atoi(fields[4])
			return true, priority, err
		}
	}
	return false, 0, err
}

func read(_ context.Context, h host.Host, want Swap) (*Swap, error) {
	f, err := look(h, want.Path)
	if err != nil || f.entry == nil && !f.active && f.content != area {
		return nil, err
	}
	have := &Swap{Path: want.Path, Active: &f.active, Boot: new(f.entry != nil)}
	if f.kind == host.Regular {
		have.Size = new(formatSize(f.info.Size))
		if want.Size != nil {
			if n, err := parseSize(*want.Size); err == nil && n == f.info.Size {
				have.Size = want.Size
			}
		}
	}
	have.Priority = f.size(want)
	return have, nil
}

// size is the priority that is not as wanted, of the line or of the area in use;
// the wanted one if both have that.
func (f observation) size(want Swap) *int {
	var places []*int
	if f.entry != nil && (want.Boot == nil || *want.Boot) {
		places = append(places, priorityOf(*f.entry))
	}
	if f.active && (want.Active == nil || *want.Active) && (want.Priority != nil || f.entry == nil && f.priority >= 0) {
		places = append(places, &f.priority)
	}
	for _, p := range places {
		if want.Priority == nil || p == nil || *p != *want.Priority {
			return p
		}
	}
	return want.Priority
}

// priorityOf is what a line says; nil: nothing.
func priorityOf(e fstab.Entry) *int {
	for o := range strings.SplitSeq(e.Options, ",") {
		if v, ok := strings.CutPrefix(o, "pri="); ok {
			if n, err := strconv.Atoi(v); err == nil {
				return &n
			}
		}
	}
	return nil
}

// line is an area's line in /etc/fstab: the one that is there, with the wanted
// priority.
func line(old *fstab.Entry, want Swap) fstab.Entry {
	e := fstab.Entry{Source: want.Path, Path: "none", Type: "swap", Options: "sw"}
	if old != nil {
		e = *old
	}
	if is := priorityOf(e); want.Priority == nil || is != nil && *is == *want.Priority {
		return e
	}
	options := slices.DeleteFunc(strings.Split(e.Options, ","), func(o string) bool { return strings.HasPrefix(o, "pri=") })
	e.Options = strings.Join(append(options, fmt.Sprintf("pri=%d", *want.Priority)), ",")
	return e
}

func importSwap(ctx context.Context, h host.Host, key Swap) (*Swap, error) {
	return read(ctx, h, Swap{Path: key.Path})
}

// list gives what somebody has put into /etc/fstab by its path.
func list(_ context.Context, h host.Host, _ []string) ([]Swap, error) {
	table, err := fstab.Load(h)
	if err != nil {
		return nil, err
	}
	var out []Swap
	for _, e := range table.Entries() {
		if e.Type == "swap" && check.Path("path", e.Source) == nil {
			out = append(out, Swap{Path: e.Source})
		}
	}
	return out, nil
}
