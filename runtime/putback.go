package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// putBack makes a path what it was, as the account that has changed it.
func (u *undo) putBack(ctx context.Context, former journal.Former, content host.Content) (changed bool, err error) {
	a := u.engine.acting(ctx, accountOf(u.run, former.Part))
	if a.err != nil {
		return false, a.err
	}
	return putBack(ctx, a.host, former, content)
}

// putBack makes a path what it was, and reports whether it was something else.
func putBack(ctx context.Context, h host.Host, f journal.Former, content host.Content) (changed bool, err error) {
	now, err := h.Lstat(f.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		now, err = host.Info{}, nil
	}
	if err != nil {
		return false, err
	}
	if same, err := isAsItWas(h, f, now, content); same || err != nil {
		return false, err
	}
	// What stands in the way of another kind goes first; a file or a link is
	// replaced by the other in one step.
	replaces := func(k host.Kind) bool { return k == host.Regular || k == host.Symlink }
	if now.Kind != "" && now.Kind != f.Kind && !(replaces(now.Kind) && replaces(f.Kind)) {
		if err := h.Remove(f.Path); err != nil {
			return false, err
		}
		changed = true
	}
	meta := host.Meta{Mode: &f.Mode, UID: &f.UID, GID: &f.GID}
	err = write(ctx, h, f, changed || now.Kind == "", content, meta)
	if errors.Is(err, fs.ErrPermission) { // who may not give files away gets the content back at least
		if again := write(ctx, h, f, changed || now.Kind == "", content, host.Meta{Mode: &f.Mode}); again == nil {
			return true, fmt.Errorf("its owner could not be set: %w", err)
		}
	}
	return changed || err == nil, err
}

// write writes what was at a path; nothing of another kind is in its way.
func write(ctx context.Context, h host.Host, f journal.Former, missing bool, content host.Content, meta host.Meta) error {
	switch f.Kind {
	case "":
		return nil
	case host.Regular:
		if ofKernel(f.Path) {
			return tune(h, f.Path, content)
		}
		return h.WriteFile(ctx, f.Path, content, meta)
	case host.Symlink:
		return h.Symlink(f.Target, f.Path, meta)
	case host.Directory:
		if missing {
			return h.Mkdir(f.Path, meta)
		}
		return h.SetMeta(f.Path, meta)
	}
	if missing {
		return fmt.Errorf("a %s was there, which cannot be made anew", f.Kind)
	}
	return h.SetMeta(f.Path, meta)
}

// ofKernel tells the files that a kernel shows, in whose place no other can be put.
func ofKernel(name string) bool {
	return strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/")
}

func tune(h host.Host, name string, content host.Content) error {
	r, err := content.Open()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, 1<<16)) // the kernel takes a page at most
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	return host.Tune(h, name, strings.TrimSuffix(string(text), "\n"))
}

// isAsItWas compares what is at a path with what was.
func isAsItWas(h host.Host, f journal.Former, now host.Info, content host.Content) (bool, error) {
	if now.Kind != f.Kind || f.Kind == "" {
		return now.Kind == f.Kind, nil
	}
	if now.UID != f.UID || now.GID != f.GID || now.Kind != host.Symlink && now.Mode != f.Mode {
		return false, nil
	}
	switch now.Kind {
	case host.Symlink:
		target, err := h.ReadLink(f.Path)
		return target == f.Target, err
	case host.Regular:
		if now.Size != f.Size {
			return false, nil
		}
		there, err := host.ReadContent(h, f.Path, now)
		return err == nil && there.Equal(content), err
	}
	return true, nil
}
