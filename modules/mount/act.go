package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// step is what is to be done about the present.
type step int

const (
	leave step = iota
	mountIt
	remount
	replace
	unmountIt
)

// steps says what makes of what is found what is wanted.
func steps(h host.Host, f observation, want Mount) step {
	switch {
	case want.Mounted == nil:
		return leave
	case !*want.Mounted && f.mounted != nil:
		return unmountIt
	case !*want.Mounted:
		return leave
	case f.mounted == nil:
		return mountIt
	case !sameSource(h, f, want) || want.Type != nil && !sameType(*f.mounted, want):
		return replace
	case optionsDiffer(*f.mounted, want):
		return remount
	}
	return leave
}

// write acts on the present first, which may fail, and then on the table.
func write(ctx context.Context, h host.Host, _ *Mount, want Mount) error {
	if want.Source == nil {
		return errNoSource
	}
	f, err := look(h, want.Path)
	if err != nil {
		return err
	}
	do := steps(h, f, want)
	if err := possible(ctx, h, f, want, do); err != nil {
		return err
	}
	if do == replace || do == unmountIt {
		if err := unmount(ctx, h, f.real); err != nil {
			return err
		}
	}
	switch do {
	case mountIt, replace:
		if err := makeDirectory(h, f.real); err != nil {
			return err
		}
		err = run(ctx, h, "mount", "-t", fstype(want), "-o", options(want.Options), "--", *want.Source, f.real)
	case remount:
		err = run(ctx, h, "mount", "-o", options(remountOptions(want.Options)), "--", *want.Source, f.real)
	}
	if err != nil {
		return err
	}
	return edit(ctx, h, want)
}

// remountOptions are the options with which a mount is changed in place: all that are not
// said go back to what they are without.
func remountOptions(wanted []string) []string {
	if bind(wanted) {
		return append([]string{"remount"}, wanted...)
	}
	return append([]string{"remount", "rw", "suid", "dev", "exec", "async"}, wanted...)
}

func options(list []string) string {
	if len(list) == 0 {
		return "defaults"
	}
	return strings.Join(list, ",")
}

// possible finds what cannot be, before anything is changed.
func possible(ctx context.Context, h host.Host, f observation, want Mount, do step) error {
	if do != mountIt && do != replace {
		return nil
	}
	if err := errors.Join(sourceThere(ctx, h, want), helperThere(h, want)); err != nil {
		return err
	}
	if f.mounted != nil {
		return nil
	}
	info, err := h.Lstat(f.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Kind != host.Directory && !(bind(want.Options) && info.Kind == host.Regular):
		return fmt.Errorf("%s is a %s, not a directory", want.Path, info.Kind)
	}
	return nil
}

// makeDirectory makes what is missing of a directory.
func makeDirectory(h host.Host, dir string) error {
	_, err := h.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirectory(h, path.Dir(dir)); err != nil {
		return err
	}
	return h.Mkdir(dir, host.Meta{})
}

// edit makes the line in /etc/fstab what is wanted, if it is not.
func edit(ctx context.Context, h host.Host, want Mount) error {
	table, err := fstab.Load(h)
	if err != nil {
		return err
	}
	before := table.Text()
	switch {
	case check.True(want.Boot):
		entry, err := table.Find(want.Path, matchPath(want.Path))
		if err != nil {
			return err
		}
		if entry != nil && isSame(*entry, want) {
			return nil
		}
		table.Put(line(want), matchPath(want.Path))
	case want.Boot != nil:
		table.Delete(matchPath(want.Path))
	}
	if table.Text() == before {
		return nil
	}
	return table.Save(ctx, h)
}

// isSame reports whether a line says what is wanted, in whatever layout.
func isSame(e fstab.Entry, want Mount) bool {
	var is Mount
	is.fromEntry(e)
	wish := line(want)
	return e.Source == wish.Source && e.Type == wish.Type && e.Dump == wish.Dump && e.Pass == wish.Pass &&
		slices.Equal(is.Options, want.Options)
}

func remove(ctx context.Context, h host.Host, have Mount) error {
	f, err := look(h, have.Path)
	if err != nil {
		return err
	}
	if f.mounted != nil {
		if err := unmount(ctx, h, f.real); err != nil {
			return err
		}
	}
	return edit(ctx, h, Mount{Path: have.Path, Boot: new(false)})
}

// unmount never takes a file system away from those who use it.
func unmount(ctx context.Context, h host.Host, dir string) error {
	err := run(ctx, h, "umount", "--", dir)
	exit, ended := errors.AsType[*process.ExitError](err)
	if !ended || !strings.Contains(string(exit.Result.Stderr), "busy") {
		return err
	}
	if users := usersOf(h, dir); len(users) > 0 {
		return fmt.Errorf("%s is in use by %s: %w", dir, strings.Join(users, ", "), err)
	}
	return fmt.Errorf("%s is in use, perhaps by a mount below it: %w", dir, err)
}

func run(ctx context.Context, h host.Host, argv ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Env: []string{"LC_ALL=C.UTF-8"}})
	return err
}

// maxUsers is how many processes an error names.
const maxUsers = 5

// usersOf names processes that use what lies in a directory.
func usersOf(h host.Reader, dir string) []string {
	entries, err := h.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.Trim(e.Name, "0123456789") != "" || !uses(h, "/proc/"+e.Name, dir) {
			continue
		}
		name, err := readLine(h, "/proc/"+e.Name+"/comm")
		if err != nil {
			continue // it has ended
		}
		if len(out) == maxUsers {
			return append(out, "others")
		}
		out = append(out, fmt.Sprintf("%s (%s)", e.Name, name))
	}
	return out
}

func uses(h host.Reader, proc, dir string) bool {
	links := []string{proc + "/cwd", proc + "/root", proc + "/exe"}
	files, err := h.ReadDir(proc + "/fd")
	if err == nil {
		for _, f := range files {
			links = append(links, proc+"/fd/"+f.Name)
		}
	}
	return slices.ContainsFunc(links, func(link string) bool {
		target, err := h.ReadLink(link)
		return err == nil && (target == dir || strings.HasPrefix(target, strings.TrimSuffix(dir, "/")+"/"))
	})
}

// readLine reads a file of the kernel's with one line.
func readLine(h host.Reader, name string) (string, error) {
	data, err := host.ReadFile(h, name, 4096)
	return strings.TrimSuffix(string(data), "\n"), err
}
