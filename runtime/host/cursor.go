package host

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Cursor goes from one directory to another below one that is open. They are entered step
// by step, so that no symbolic link is followed, whoever puts it there meanwhile, and no
// file system is entered that is mounted below. From one directory to the next in the
// order of a tree takes a few steps, however deep it is. The last 32 on the way are open,
// and above them each 64th, to come back from.
type Cursor struct {
	root  Dir
	names []string // the way to where it is
	dirs  []Dir    // those on the way; nil: not open any more

	mounts bool // what is mounted below is entered, too
}

const (
	maxOpen = 32 // of the last directories on the way
	mark    = 64 // between those above that stay open
)

// MaxDepth is how deep directories may be below another one: as deep as a path can tell.
const MaxDepth = (maxPath + 1) / 2

// NewCursor gives a Cursor at a directory, which it does not close.
func NewCursor(root Dir) *Cursor { return &Cursor{root: root} }

// To gives a directory by its path from the root, "." being that itself. It is open until
// the next call.
func (c *Cursor) To(dir string) (Dir, error) {
	var want []string
	if dir != "." {
		want = strings.Split(dir, "/")
	}
	if len(want) > MaxDepth {
		return nil, pathError("open", dir[:100]+"…", syscall.ENAMETOOLONG)
	}
	same := 0
	for same < min(len(want), len(c.names)) && want[same] == c.names[same] {
		same++
	}
	c.cut(same)
	for len(c.dirs) > 0 && c.dirs[len(c.dirs)-1] == nil {
		c.cut(len(c.dirs) - 1)
	}
	for _, name := range want[len(c.names):] {
		if err := c.enter(name); err != nil {
			return nil, err
		}
	}
	return c.at(), nil
}

func (c *Cursor) at() Dir {
	if len(c.dirs) == 0 {
		return c.root
	}
	return c.dirs[len(c.dirs)-1]
}

func (c *Cursor) enter(name string) error {
	below, err := c.at().Enter(name)
	if err != nil {
		return err
	}
	info, err := below.Lstat(".")
	if err == nil && info.Mount && !c.mounts {
		err = pathError("open", name, ErrMount)
	}
	if err != nil {
		return errors.Join(err, below.Close())
	}
	c.names, c.dirs = append(c.names, name), append(c.dirs, below)
	if far := len(c.dirs) - 1 - maxOpen; far >= 0 && far%mark != 0 && c.dirs[far] != nil {
		err = c.dirs[far].Close()
		c.dirs[far] = nil
	}
	return err
}

// cut leaves only the first n steps. What was only entered cannot fail to be closed in a
// way that matters.
func (c *Cursor) cut(n int) {
	for _, d := range c.dirs[n:] {
		if d != nil {
			_ = d.Close()
		}
	}
	c.names, c.dirs = c.names[:n], c.dirs[:n]
}

// Close closes what is open, but for the root.
func (c *Cursor) Close() { c.cut(0) }

// ErrMount is why something is left alone: a file system is mounted on it.
var ErrMount = errors.New("a file system is mounted there, which is not entered")

// RemoveBelow removes what has these names below a directory, what is in a directory
// before that. A directory that is not empty then is an error, what has gone is none.
func RemoveBelow(ctx context.Context, root Dir, names []string) error {
	names = slices.SortedFunc(slices.Values(names), func(a, b string) int { return strings.Compare(b, a) })
	c := NewCursor(root)
	defer c.Close()
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		dir, err := c.To(path.Dir(name))
		if err != nil {
			return err
		}
		if err := dir.Remove(path.Base(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// RemoveAll removes what has a name in a directory, with all that is below it. Symbolic
// links are removed, never followed. Where a file system is mounted on any of it, nothing
// is removed, and the error wraps ErrMount.
func RemoveAll(ctx context.Context, in Dir, name string) error {
	info, err := in.Lstat(name)
	if err != nil {
		return err
	}
	mount, err := FindMount(ctx, in, name)
	switch {
	case err != nil:
		return err
	case mount != "":
		return pathError("remove", mount, ErrMount)
	}
	if info.Kind == Directory {
		err := eachDirectory(ctx, in, name, func(d Dir, _ string, entries []Entry) error {
			for _, e := range entries {
				if err := d.Remove(e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return in.Remove(name)
}

// FindMount gives the first of what has a name in a directory, and all below it, on which
// a file system is mounted, as a path from the directory; empty: there is none.
func FindMount(ctx context.Context, in Dir, name string) (string, error) {
	info, err := in.Lstat(name)
	if err != nil || info.Mount {
		return name, err
	}
	if info.Kind != Directory {
		return "", nil
	}
	found := errors.New("found")
	mount := ""
	err = eachDirectory(ctx, in, name, func(d Dir, dir string, entries []Entry) error {
		for _, e := range entries {
			if e.Kind == Symlink {
				continue
			}
			info, err := d.Lstat(e.Name)
			if err == nil && info.Mount {
				mount = path.Join(dir, e.Name)
				return found
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if mount != "" {
		return mount, nil
	}
	return "", err
}

// Size is what has a name in a directory, with all that is below it.
type Size struct {
	Entries int    // the one of this name included
	Bytes   int64  // of the regular files
	Mount   string // the first on which a file system is mounted, as a path from the directory; what is in it does not count
}

// Measure adds up what has a name in a directory.
func Measure(ctx context.Context, in Dir, name string) (Size, error) {
	var s Size
	add := func(at string, info Info) {
		s.Entries++
		if info.Kind == Regular {
			s.Bytes += info.Size
		}
		if info.Mount && (s.Mount == "" || at < s.Mount) {
			s.Mount = at
		}
	}
	info, err := in.Lstat(name)
	if err != nil {
		return s, err
	}
	add(name, info)
	if info.Kind != Directory || info.Mount {
		return s, nil
	}
	return s, eachDirectory(ctx, in, name, func(d Dir, dir string, entries []Entry) error {
		for _, e := range entries {
			info, err := d.Lstat(e.Name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			add(path.Join(dir, e.Name), info)
		}
		return nil
	})
}

// eachDirectory calls visit for a directory and all below it, with what is in each: for
// those below it first. What is mounted below is not entered.
func eachDirectory(ctx context.Context, in Dir, name string, visit func(d Dir, dir string, entries []Entry) error) error {
	c := NewCursor(in)
	defer c.Close()
	var walk func(dir string) error
	walk = func(dir string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d, err := c.To(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrMount) {
			return nil
		}
		if err != nil {
			return err
		}
		entries, err := d.Entries()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Kind == Directory {
				if err := walk(path.Join(dir, e.Name)); err != nil {
					return err
				}
			}
		}
		if d, err = c.To(dir); err != nil {
			return err
		}
		return visit(d, dir, entries)
	}
	return walk(name)
}
