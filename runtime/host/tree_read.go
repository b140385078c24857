package host

import (
	"cmp"
	"io"
	"slices"
	"syscall"
	"time"
)

// changeTime is the time of a change, without the monotonic part.
func changeTime() time.Time { return time.Now().Round(0) }

// Lstat is Reader.Lstat.
func (t *tree) Lstat(path string) (_ Info, err error) {
	clean, err := checkPath("lstat", path)
	if err != nil {
		return Info{}, err
	}
	defer func() { t.trace.look(clean, err) }()
	if t.untouched() {
		info, err := t.base.Lstat(clean)
		return info, pathError("lstat", path, err)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(clean, false)
	if err != nil {
		return Info{}, pathError("lstat", path, err)
	}
	info, err := t.describe(at)
	return info, pathError("lstat", path, err)
}

// untouched reports whether the base can be asked without looking here first.
func (t *tree) untouched() bool { return t.base != nil && !t.touched.Load() }

// ReadDir is Reader.ReadDir.
func (t *tree) ReadDir(path string) ([]Entry, error) {
	clean, err := checkPath("readdir", path)
	if err != nil {
		return nil, err
	}
	t.trace.lookBelow(clean)
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(clean, false)
	if err != nil {
		t.trace.look(clean, err)
		return nil, pathError("readdir", path, err)
	}
	if at.kind() != Directory {
		return nil, pathError("readdir", path, syscall.ENOTDIR)
	}
	entries, err := t.list(at)
	return entries, pathError("readdir", path, err)
}

// list gives the entries of a directory, sorted by name.
func (t *tree) list(dir *place) ([]Entry, error) {
	if dir.obscure() {
		return nil, errObscure
	}
	if err := t.permit(dir, 0o4); err != nil {
		return nil, err
	}
	var below []Entry
	if dir.base != "" {
		var err error
		if below, err = t.base.ReadDir(dir.base); err != nil {
			return nil, withoutPath(err)
		}
	}
	if dir.node == nil {
		return below, nil
	}
	entries := make([]Entry, 0, len(below)+len(dir.node.entries))
	for _, e := range below {
		if _, changed := dir.node.entries[e.Name]; !changed {
			entries = append(entries, e)
		}
	}
	for name, n := range dir.node.entries {
		if n.kind != "" {
			entries = append(entries, Entry{Name: name, Kind: n.kind})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// ReadLink is Reader.ReadLink.
func (t *tree) ReadLink(path string) (string, error) {
	clean, err := checkPath("readlink", path)
	if err != nil {
		return "", err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(clean, false)
	t.trace.look(clean, err)
	if err == nil && at.kind() != Symlink {
		err = syscall.EINVAL
	}
	if err != nil {
		return "", pathError("readlink", path, err)
	}
	target, err := t.link(at)
	return target, pathError("readlink", path, err)
}

// Open is Reader.Open.
func (t *tree) Open(path string) (_ io.ReadCloser, err error) {
	clean, err := checkPath("open", path)
	if err != nil {
		return nil, err
	}
	defer func() { t.trace.look(clean, err) }()
	if t.untouched() {
		f, err := t.base.Open(clean)
		return f, pathError("open", path, err)
	}
	open, err := t.opener(clean)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	f, err := open()
	return f, pathError("open", path, err)
}

// opener gives a function that opens the regular file as it is in the tree
// now, whatever is written there later. It is called without the lock, since
// content may come from this very tree.
func (t *tree) opener(path string) (func() (io.ReadCloser, error), error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(path, true)
	if err != nil {
		return nil, err
	}
	switch at.kind() {
	case Directory:
		return nil, syscall.EISDIR
	case Symlink: // of the base, and new since it was followed
		return nil, syscall.ELOOP
	case Other:
		return nil, errSpecial
	}
	if err := t.permit(at, 0o4); err != nil {
		return nil, err
	}
	if at.base == "" {
		return at.node.content.Open, nil
	}
	if o, ok := t.base.(opener); ok {
		if open, err := o.opener(at.base); open != nil || err != nil {
			return open, err
		}
	}
	return func() (io.ReadCloser, error) { return t.base.Open(at.base) }, nil
}

// opener is about hosts on which a file's content outlives its change; nil: on this one
// it does not.
type opener interface {
	opener(path string) (func() (io.ReadCloser, error), error)
}
