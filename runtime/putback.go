package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// putBack makes a path what it was, as the account that has changed it, and reports
// whether it was something else.
func (u *undo) putBack(ctx context.Context, f journal.Former, content host.Content) (changed bool, err error) {
	if f.Older && !u.isOf(f) {
		return false, fmt.Errorf("the record of it, by an older version, has no digest, and %s has no such path: put it back by hand", f.Part)
	}
	a := u.engine.actors.of(ctx, accountOf(u.run, f.Part))
	if a.err != nil {
		return false, a.err
	}
	at, err := u.place(a.host, f)
	if errors.Is(err, errNoPlace) && f.Kind == journal.Absent {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer at.Dir.Close()
	p := &restoration{Former: f, host: a.host, at: at, content: content}
	changed, err = p.do(ctx)
	if p.isNew && f.Kind == host.Directory {
		if made, lost := at.Dir.Lstat(at.Name); lost == nil {
			u.restoredDirs[f.ID.File()] = journal.IDOf(made)
		}
	}
	return changed, err
}

// isOf reports whether a path is one that the part which changed it names, below that or
// beside it with more behind the name. What a part that names no path changes
// nobody can tell: it may be.
func (u *undo) isOf(f journal.Former) bool {
	var paths []string
	for i := range u.run.Invocations {
		for _, p := range u.run.Invocations[i].Parts {
			if m := u.engine.options.Registry.ModuleOf(p.Type); m != nil && p.Address == f.Part {
				paths = append(paths, m.Paths(p.Values)...)
			}
		}
	}
	at := func(name string) bool { return strings.HasPrefix(f.Path, host.Resolve(u.engine.options.Host, name)) }
	return len(paths) == 0 || slices.ContainsFunc(paths, at)
}

// isNoDirectory reports whether there is no directory at a path.
func isNoDirectory(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// restoration is one path that is put back.
type restoration struct {
	journal.Former
	host    host.Host
	at      host.Place
	content host.Content
	isNew   bool // nothing is there, or not any more
}

func (p *restoration) do(ctx context.Context) (changed bool, err error) {
	now, err := p.at.Dir.Lstat(p.at.Name)
	if isNoDirectory(err) {
		now, err = host.Info{Kind: journal.Absent}, nil
	}
	if err != nil {
		return false, err
	}
	if same, err := p.isAsItWas(ctx, now); same || err != nil {
		return false, err
	}
	p.isNew = now.Kind == journal.Absent
	// What stands in the way of another kind goes first; a file or a link is
	// replaced by the other in one step.
	replaces := func(k host.Kind) bool { return k == host.Regular || k == host.Symlink }
	if !p.isNew && now.Kind != p.Kind && !(replaces(now.Kind) && replaces(p.Kind)) {
		if err := canWrite(ctx, p.Former, p.content); err != nil {
			return false, err
		}
		if err := p.at.Dir.Remove(p.at.Name); err != nil {
			return false, err
		}
		changed, p.isNew = true, true
	}
	err = p.write(ctx, host.Meta{Mode: &p.Mode, UID: &p.UID, GID: &p.GID})
	if errors.Is(err, fs.ErrPermission) { // who may not give files away gets the content back at least
		if again := p.write(ctx, host.Meta{Mode: &p.Mode}); again == nil {
			return true, fmt.Errorf("its owner could not be set: %w", err)
		}
	}
	return changed || err == nil, err
}

// write writes what was at the place; nothing of another kind is in its way.
func (p *restoration) write(ctx context.Context, meta host.Meta) error {
	dir, name := p.at.Dir, p.at.Name
	switch p.Kind {
	case journal.Absent:
		return nil
	case host.Regular:
		if isKernelFile(p.Path) {
			return tune(p.host, p.Path, p.content)
		}
		return dir.WriteFile(ctx, name, p.content, meta, false)
	case host.Symlink:
		return dir.Symlink(p.Target, name, meta)
	case host.Directory:
		if p.isNew {
			return dir.Mkdir(name, meta)
		}
		return dir.SetMeta(name, meta)
	}
	if p.isNew {
		return fmt.Errorf("a %s was there, which cannot be made anew", p.Kind)
	}
	return dir.SetMeta(name, meta)
}

// canWrite refuses, before anything goes to make room, what could not be made then.
func canWrite(ctx context.Context, f journal.Former, content host.Content) error {
	switch f.Kind {
	case journal.Absent, host.Symlink, host.Directory:
		return nil
	case host.Regular:
		return isWhole(ctx, content)
	}
	return fmt.Errorf("a %s was there, which cannot be made anew", f.Kind)
}

// isWhole gives an error if content is not what it was.
func isWhole(ctx context.Context, content host.Content) error {
	r, err := content.Open()
	if err != nil {
		return err
	}
	same, err := holds(ctx, r, content)
	if err == nil && !same {
		err = errors.New("the copy of what was there is damaged")
	}
	return err
}

// holds reads a file to its end, closes it, and reports whether it holds a content.
func holds(ctx context.Context, r io.ReadCloser, content host.Content) (bool, error) {
	digest := sha256.New()
	size, err := io.Copy(digest, host.ReaderWithin(ctx, r))
	err = journal.Join(err, r.Close())
	return size == content.Size() && hex.EncodeToString(digest.Sum(nil)) == content.Sum(), err
}

// isKernelFile tells the files that a kernel shows, in whose place no other can be put.
func isKernelFile(name string) bool {
	return strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/")
}

func tune(h host.Host, name string, content host.Content) error {
	r, err := content.Open()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, 1<<16)) // the kernel takes a page at most
	if err = journal.Join(err, r.Close()); err != nil {
		return err
	}
	return host.Tune(h, name, strings.TrimSuffix(string(text), "\n"))
}

// isAsItWas compares what is at the place with what was.
func (p *restoration) isAsItWas(ctx context.Context, now host.Info) (bool, error) {
	if now.Kind != p.Kind || p.Kind == journal.Absent {
		return now.Kind == p.Kind, nil
	}
	if now.UID != p.UID || now.GID != p.GID || now.Kind != host.Symlink && now.Mode != p.Mode {
		return false, nil
	}
	switch now.Kind {
	case host.Symlink:
		target, err := p.at.Dir.ReadLink(p.at.Name)
		return target == p.Target, err
	case host.Regular:
		if now.Size != p.Size && !isKernelFile(p.Path) {
			return false, nil
		}
		there, _, err := p.at.Dir.Open(p.at.Name)
		if err != nil {
			return false, err
		}
		return holds(ctx, there, p.content)
	}
	return true, nil
}
