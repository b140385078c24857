package swap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/fstab"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// content is what a file or a device holds.
type content int

const (
	foreign content = iota
	blank           // nothing, or what an interrupted attempt has left: zeros
	area            // a swap area
)

// signature stands at the end of an area's first page: mkswap(8). Pages are of these
// sizes, by architecture.
const signature = "SWAPSPACE2"

func pageSizes() []int { return []int{4 << 10, 8 << 10, 16 << 10, 64 << 10} }

// headSize is how much of a file that begins with zeros is looked at: more than stands
// before what tells the kind of any file system or disk image, such as Btrfs at 64 KiB
// or a partition at 1 MiB.
const headSize = 2 << 20

// inspect looks at the head of a file.
func inspect(h host.Reader, name string, size int64) (content, error) {
	f, err := h.Open(name)
	if err != nil {
		return foreign, err
	}
	head := make([]byte, min(size, headSize))
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return foreign, err
	}
	head = head[:n]
	for _, page := range pageSizes() {
		if len(head) >= page && string(head[page-len(signature):page]) == signature {
			return area, nil
		}
	}
	if len(bytes.Trim(head, "\x00")) == 0 {
		return blank, nil
	}
	return foreign, nil
}

// possible finds what cannot be, before anything is changed. It tells whether the area
// is to be made.
func possible(ctx context.Context, h host.Host, f observation, want Swap) (format bool, err error) {
	if f.kind == "" {
		return true, canMake(h, want)
	}
	if err := refuseShared(h, want.Path); err != nil {
		return false, err
	}
	switch f.kind {
	case host.Regular:
		if f.content == foreign {
			return false, fmt.Errorf("%s is a file that holds something else than swap: it stays as it is", want.Path)
		}
		return f.content == blank, nil
	case host.Symlink:
		return false, fmt.Errorf("%s is a symbolic link: name what it leads to", want.Path)
	case host.Other:
		if want.Size != nil {
			return false, fmt.Errorf("size: %s is a device, which has a size of its own", want.Path)
		}
		if f.active {
			return false, nil
		}
		return deviceIsBlank(ctx, h, want.Path)
	}
	return false, fmt.Errorf("%s is a %s", want.Path, f.kind)
}

// canMake finds why a file cannot be made.
func canMake(h host.Host, want Swap) error {
	if strings.HasPrefix(want.Path, "/dev/") {
		return fmt.Errorf("this host has no device %s", want.Path)
	}
	if want.Size == nil {
		return fmt.Errorf("size: it is required for a new file")
	}
	info, err := h.Lstat(path.Dir(want.Path))
	switch {
	case err != nil:
		return states.DirectoryError(h, path.Dir(want.Path), err)
	case info.Kind == host.Other:
		return fmt.Errorf("%s is no directory", path.Dir(want.Path))
	}
	return refuseShared(h, want.Path)
}

// deviceIsBlank reports whether nothing is on a device; something else than swap is an
// error.
func deviceIsBlank(ctx context.Context, h host.Host, device string) (bool, error) {
	r, err := h.Query(ctx, host.Query{
		Command: host.Command{Argv: []string{"blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "value", "--", device}, Env: env()},
		Reads:   []string{device},
	})
	const nothingFound = 2
	switch said := strings.TrimSpace(string(r.Stdout)); {
	case err != nil:
		return false, err
	case r.ExitCode == nothingFound:
		return true, nil
	case r.ExitCode != 0:
		return false, &process.ExitError{Program: "blkid", Result: r}
	case said != "swap":
		return false, fmt.Errorf("%s holds %q, and is not overwritten: wipefs --all %s", device, said, device)
	}
	return false, nil
}

func env() []string { return []string{"LC_ALL=C.UTF-8"} }

func run(ctx context.Context, h host.Host, argv ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Env: env()})
	return err
}

func write(ctx context.Context, h host.Host, _ *Swap, want Swap) error {
	f, err := look(h, want.Path)
	if err != nil {
		return err
	}
	format, err := possible(ctx, h, f, want)
	if err != nil {
		return err
	}
	remake := f.kind == "" || isResized(f, want) || isExposed(h, f)
	if f.active && (remake || !check.True(want.Active) || want.Priority != nil && *want.Priority != f.priority) {
		if err := run(ctx, h, "swapoff", "--", want.Path); err != nil {
			return err
		}
		f.active = false
	}
	if f.kind != host.Other {
		if err := settle(ctx, h, f, want, remake); err != nil {
			return err
		}
	}
	if format || remake {
		if err := run(ctx, h, "mkswap", "--", want.Path); err != nil {
			return err
		}
	}
	if check.True(want.Active) && !f.active {
		if err := run(ctx, h, swapon(want)...); err != nil {
			return err
		}
	}
	return edit(ctx, h, want)
}

// isResized reports whether a file has another size than wanted.
func isResized(f observation, want Swap) bool {
	if f.kind != host.Regular || want.Size == nil {
		return false
	}
	n, err := parseSize(*want.Size)
	return err == nil && n != f.info.Size
}

func swapon(want Swap) []string {
	argv := []string{"swapon"}
	if want.Priority != nil {
		argv = append(argv, "-p", strconv.Itoa(*want.Priority))
	}
	return append(argv, "--", want.Path)
}

// edit makes the line in /etc/fstab what is wanted, if it is not.
func edit(ctx context.Context, h host.Host, want Swap) error {
	table, err := fstab.Load(h)
	if err != nil {
		return err
	}
	before, is := table.Text(), isFor(h, want.Path)
	old, err := table.Find("the swap area "+want.Path, is)
	switch {
	case err != nil:
		return err
	case want.Boot == nil || old != nil && *want.Boot && line(old, want) == *old:
		return nil
	case *want.Boot:
		table.Put(line(old, want), is)
	default:
		table.Delete(is)
	}
	if table.Text() == before {
		return nil
	}
	return table.Save(ctx, h)
}

func remove(ctx context.Context, h host.Host, have Swap) error {
	f, err := look(h, have.Path)
	if err != nil {
		return err
	}
	if f.active {
		if err := refuseShared(h, have.Path); err != nil {
			return err
		}
		if err := run(ctx, h, "swapoff", "--", have.Path); err != nil {
			return err
		}
	}
	if err := edit(ctx, h, Swap{Path: have.Path, Boot: new(false)}); err != nil {
		return err
	}
	if f.content == area {
		return h.Remove(have.Path)
	}
	return nil
}

// foresee writes into a Shadow what is known of all that.
func foresee(ctx context.Context, h host.Host, have, want *Swap) error {
	if want == nil {
		return foreseeGone(ctx, h, *have)
	}
	f, err := look(h, want.Path)
	if err != nil {
		return err
	}
	if _, err := possible(ctx, h, f, *want); err != nil {
		return err
	}
	if f.kind != host.Other {
		size := f.info.Size
		if want.Size != nil {
			if size, err = parseSize(*want.Size); err != nil {
				return err
			}
		}
		if err := h.WriteFile(ctx, want.Path, emptyArea(size), ownMeta()); err != nil {
			return err
		}
	}
	priority := f.priority
	if want.Priority != nil {
		priority = *want.Priority
	}
	if err := rewrite(ctx, h, want.Path, want.Active != nil, check.True(want.Active), priority); err != nil {
		return err
	}
	return edit(ctx, h, *want)
}

func foreseeGone(ctx context.Context, h host.Host, have Swap) error {
	f, err := look(h, have.Path)
	if err != nil {
		return err
	}
	if f.active {
		if err := refuseShared(h, have.Path); err != nil {
			return err
		}
	}
	if err := rewrite(ctx, h, have.Path, f.active, false, 0); err != nil {
		return err
	}
	if err := edit(ctx, h, Swap{Path: have.Path, Boot: new(false)}); err != nil {
		return err
	}
	if f.content == area {
		return h.Remove(have.Path)
	}
	return nil
}

// rewrite makes the list of the areas in use what it will be, if that is to change.
func rewrite(ctx context.Context, h host.Host, name string, change, active bool, priority int) error {
	if !change {
		return nil
	}
	text, err := host.ReadText(h, swaps)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 0 || fstab.Unescape(fields[0]) != fstab.RealPath(h, name) {
			b.WriteString(line)
		}
	}
	if active {
		fmt.Fprintf(&b, "%s file 0 0 %d\n", fstab.Escape(fstab.RealPath(h, name)), priority)
	}
	return h.WriteFile(ctx, swaps, host.Text(b.String()), host.Meta{})
}

// emptyArea is the content of a swap file that nothing is in.
func emptyArea(size int64) host.Content {
	return host.Stream(size, "", func() (io.ReadCloser, error) {
		page := pageSizes()[0]
		head := append(make([]byte, page-len(signature)), signature...)
		return io.NopCloser(io.LimitReader(io.MultiReader(bytes.NewReader(head), zeroReader{}), size)), nil
	})
}
