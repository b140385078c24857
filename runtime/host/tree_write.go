package host

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// The Writer of a tree. implied is set where missing parent directories are
// made rather than missed; see Shadow.View.

// change resolves the path of something to write, and calls put with its
// directory, its name and what stands there now (nil: nothing).
func (t *tree) change(op, path string, implied bool, errRoot error, put func(dir *place, name string, at *place) error) error {
	clean, err := checkWritable(op, path, errRoot)
	if err != nil {
		return err
	}
	var found error
	defer func() { t.trace.write(clean, found) }()
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.walker()
	if implied {
		t.imply(&w)
	}
	dir, name, err := w.walk(clean, false)
	if err != nil {
		found = err
		return pathError(op, path, err)
	}
	at := dir // "/"
	if name != "" {
		at, err = t.enter(dir, name)
		found = err
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pathError(op, path, err)
		}
	}
	if op == "symlink" || at != nil && at.kind() == Symlink {
		t.relinks.Add(1)
	}
	return pathError(op, path, put(dir, name, at))
}

// imply makes a walker put a directory where one is missing on its way.
func (t *tree) imply(w *walker[*place]) {
	enter := w.enter
	w.enter = func(dir *place, name string) (*place, Kind, error) {
		at, kind, err := enter(dir, name)
		if !errors.Is(err, fs.ErrNotExist) {
			return at, kind, err
		}
		n := newDirectory(t.fresh(dir, Directory, 0o755))
		t.put(dir, name, n)
		made := &place{parent: dir, name: name, node: n}
		t.trace.write(made.path(), err)
		t.trace.add(Look{Name: made.path(), Missing: true, Needed: true})
		return made, Directory, nil
	}
}

// fresh describes something new in a directory: of the acting user, and of
// the directory's group where that says so.
func (t *tree) fresh(dir *place, kind Kind, mode fs.FileMode) Info {
	info := Info{Kind: kind, Mode: mode, ModTime: changeTime()}
	info.UID, info.GID = t.actor()
	if in, err := t.describe(dir); err == nil && in.Mode&fs.ModeSetgid != 0 {
		info.GID = in.GID
	}
	return info
}

// set puts what is given in m into the description.
func (info *Info) set(m Meta) {
	if m.Mode != nil && info.Kind != Symlink {
		info.Mode = *m.Mode & permissions
	}
	if m.UID != nil {
		info.UID = *m.UID
	}
	if m.GID != nil {
		info.GID = *m.GID
	}
}

// writeFile is Writer.WriteFile.
func (t *tree) writeFile(ctx context.Context, path string, c Content, m Meta, implied bool) error {
	if ctx.Err() != nil {
		return pathError("write", path, context.Cause(ctx))
	}
	return t.change("write", path, implied, syscall.EISDIR, func(dir *place, name string, at *place) error {
		info := t.fresh(dir, Regular, 0o644)
		made, given := info, m
		if at != nil {
			if err := checkReplaceable(at.kind()); err != nil {
				return err
			}
			if at.kind() == Regular {
				old, err := t.describe(at)
				if err != nil {
					return err
				}
				info.Mode, info.UID, info.GID = withoutSetID(old.Mode), old.UID, old.GID
				given = Meta{Mode: or(m.Mode, info.Mode), UID: or(m.UID, old.UID), GID: or(m.GID, old.GID)}
			}
		}
		if err := t.check(func() *Refusal { return t.mayMake(path, dir, at, made, given) }); err != nil {
			return err
		}
		info.set(m)
		info.Size = max(0, c.Size())
		t.put(dir, name, &node{kind: Regular, own: true, info: info, content: c})
		return nil
	})
}

// checkReplaceable says why a file or a link cannot be put in place of what is
// there.
func checkReplaceable(kind Kind) error {
	switch kind {
	case Directory:
		return syscall.EISDIR
	case Other:
		return errSpecial
	}
	return nil
}

// mkdir is Writer.Mkdir.
func (t *tree) mkdir(path string, m Meta, implied bool) error {
	return t.change("mkdir", path, implied, syscall.EEXIST, func(dir *place, name string, at *place) error {
		if at != nil {
			return syscall.EEXIST
		}
		info := t.fresh(dir, Directory, 0o755)
		if err := t.check(func() *Refusal { return t.mayMake(path, dir, nil, info, m) }); err != nil {
			return err
		}
		info.set(m)
		t.put(dir, name, newDirectory(info))
		return nil
	})
}

// symlink is Writer.Symlink.
func (t *tree) symlink(target, path string, m Meta, implied bool) error {
	if err := checkTarget(target, path); err != nil {
		return err
	}
	return t.change("symlink", path, implied, syscall.EISDIR, func(dir *place, name string, at *place) error {
		if at != nil {
			if err := checkReplaceable(at.kind()); err != nil {
				return err
			}
		}
		info := t.fresh(dir, Symlink, fs.ModePerm)
		given := Meta{UID: m.UID, GID: m.GID}
		if err := t.check(func() *Refusal { return t.mayMake(path, dir, at, info, given) }); err != nil {
			return err
		}
		info.set(m)
		info.Size = int64(len(target))
		t.put(dir, name, &node{kind: Symlink, own: true, info: info, target: target})
		return nil
	})
}

// checkTarget refuses targets that no symbolic link can have.
func checkTarget(target, path string) error {
	var err error
	switch {
	case target == "":
		err = syscall.ENOENT
	case len(target) > maxPath:
		err = syscall.ENAMETOOLONG
	default:
		for i := range len(target) {
			if target[i] == 0 {
				err = syscall.EINVAL
			}
		}
	}
	return pathError("symlink", path, err)
}

// setMeta is Writer.SetMeta.
func (t *tree) setMeta(path string, m Meta, implied bool) error {
	return t.change("chown", path, implied, nil, func(dir *place, name string, at *place) error {
		if at == nil {
			return syscall.ENOENT
		}
		info, err := t.describe(at)
		if err != nil {
			return err
		}
		given := m
		keepBits(&given, info)
		if err := t.check(func() *Refusal { return t.maySet(path, at, info, given) }); err != nil {
			return err
		}
		info.Mode = KeptMode(info, m)
		info.set(m)
		n := at.node
		if n == nil {
			n = &node{kind: info.Kind, base: at.base}
			if info.Kind == Symlink {
				if n.target, err = t.link(at); err != nil {
					return err
				}
				n.base = ""
			}
			t.put(dir, name, n)
		}
		n.own, n.info = true, info
		t.touched.Store(true)
		return nil
	})
}

// Remove is Writer.Remove.
func (t *tree) Remove(path string) error {
	t.trace.lookBelow(path) // what is in a directory keeps it
	return t.change("remove", path, false, syscall.EBUSY, func(dir *place, name string, at *place) error {
		if at == nil {
			return syscall.ENOENT
		}
		if at.kind() == Directory {
			entries, err := t.list(at)
			if err != nil {
				return err
			}
			if len(entries) > 0 {
				return syscall.ENOTEMPTY
			}
		}
		if err := t.check(func() *Refusal { return t.mayReplace(path, dir, at) }); err != nil {
			return err
		}
		return t.remove(dir, name)
	})
}
