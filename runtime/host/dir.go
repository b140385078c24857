package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Dir is a directory that is held open: what stands in it is reached by its name
// alone. Symbolic links are never followed, so that nothing that is moved or linked
// meanwhile leads elsewhere, where the host can hold directories open; and many
// files are read and written in less time.
type Dir interface {
	DirReader
	DirWriter
	Close() error
}

// DirReader looks at what stands in a directory.
type DirReader interface {
	// Entries lists the directory, sorted by name.
	Entries() ([]Entry, error)
	// Lstat describes what has this name; "." is the directory itself.
	Lstat(name string) (Info, error)
	// ReadLink gives the target of a symbolic link.
	ReadLink(name string) (string, error)
	// Open opens a regular file, and describes it.
	Open(name string) (io.ReadCloser, Info, error)
	// Enter opens a directory. Who opens it closes it.
	Enter(name string) (Dir, error)
}

// DirWriter changes what stands in a directory, as Writer does.
type DirWriter interface {
	// WriteFile is Writer.WriteFile. A fresh file is one of whose name nothing
	// stands there: it is written in its place, and what a crash leaves of it is
	// no whole file.
	WriteFile(ctx context.Context, name string, c Content, m Meta, fresh bool) error
	Mkdir(name string, m Meta) error
	Symlink(target, name string, m Meta) error
	SetMeta(name string, m Meta) error // "." is the directory itself
	Remove(name string) error
}

// DirOpener is offered by hosts that can hold directories open.
type DirOpener interface {
	// OpenDir opens a directory. A symbolic link on the way to it is followed, but
	// not at its end.
	OpenDir(path string) (Dir, error)
}

// OpenDir opens a directory of any host.
func OpenDir(h Reader, path string) (Dir, error) {
	if o, ok := h.(DirOpener); ok {
		return o.OpenDir(path)
	}
	return openByPath(h, path)
}

// EnterBelow opens a directory below another one, by its path from there. It is entered
// step by step, so that no link is followed. leave closes what was opened.
func EnterBelow(root Dir, dir string) (at Dir, leave func(), err error) {
	if dir == "." {
		return root, func() {}, nil
	}
	at, leave = root, func() {}
	for step := range strings.SplitSeq(dir, "/") {
		next, err := at.Enter(step)
		leave()
		if err != nil {
			return nil, nil, err
		}
		at, leave = next, func() { next.Close() }
	}
	return at, leave, nil
}

// RemoveBelow removes what has these names below a directory, what is in a directory
// before that. A directory that is not empty then is an error, what has gone is none.
func RemoveBelow(ctx context.Context, root Dir, names []string) error {
	names = slices.SortedFunc(slices.Values(names), func(a, b string) int { return strings.Compare(b, a) })
	last, dir, leave := "", Dir(nil), func() {}
	defer func() { leave() }()
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if at := path.Dir(name); dir == nil || at != last {
			leave()
			var err error
			if dir, leave, err = EnterBelow(root, at); err != nil {
				leave = func() {}
				return err
			}
			last = at
		}
		if err := dir.Remove(path.Base(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openByPath opens a directory of a host that holds none open.
func openByPath(h Reader, path string) (Dir, error) {
	info, err := h.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Kind != Directory {
		return nil, pathError("open", path, syscall.ENOTDIR)
	}
	w, _ := h.(Writer)
	return &pathDir{r: h, w: w, path: path}, nil
}

// pathDir is a directory that is known by its path.
type pathDir struct {
	r    Reader
	w    Writer // nil: read only
	path string
}

// at is the path of a name.
func (d *pathDir) at(op, name string) (string, error) {
	if name == "." {
		return d.path, nil
	}
	return joinPath(d.path, name), checkName(op, name)
}

// checkName refuses what is not the name of one thing in a directory.
func checkName(op, name string) error {
	switch name {
	case "", ".", "..":
		return pathError(op, name, syscall.EINVAL)
	}
	for i := range len(name) {
		if name[i] == '/' || name[i] == 0 {
			return pathError(op, name, syscall.EINVAL)
		}
	}
	return nil
}

// Entries is DirReader.Entries.
func (d *pathDir) Entries() ([]Entry, error) { return d.r.ReadDir(d.path) }

// Lstat is DirReader.Lstat.
func (d *pathDir) Lstat(name string) (Info, error) {
	path, err := d.at("lstat", name)
	if err != nil {
		return Info{}, err
	}
	return d.r.Lstat(path)
}

// ReadLink is DirReader.ReadLink.
func (d *pathDir) ReadLink(name string) (string, error) {
	path, err := d.at("readlink", name)
	if err != nil {
		return "", err
	}
	return d.r.ReadLink(path)
}

// Open is DirReader.Open.
func (d *pathDir) Open(name string) (io.ReadCloser, Info, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, info, err
	}
	path := joinPath(d.path, name)
	switch info.Kind {
	case Symlink:
		return nil, info, pathError("open", path, syscall.ELOOP)
	case Directory:
		return nil, info, pathError("open", path, syscall.EISDIR)
	case Other:
		return nil, info, pathError("open", path, errSpecial)
	}
	f, err := d.r.Open(path)
	return f, info, err
}

// knownSum gives the digest of a file that was written to a shadow with it, and need
// not be read for that.
func (d *pathDir) knownSum(name string) (string, int64, bool) {
	switch s := d.r.(type) {
	case *Shadow:
		return s.tree.knownSum(joinPath(d.path, name))
	case opaqueView:
		return s.tree.knownSum(joinPath(d.path, name))
	}
	return "", 0, false
}

func (t *tree) knownSum(path string) (string, int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(path, false)
	if err != nil || at.node == nil || at.node.kind != Regular || at.node.base != "" {
		return "", 0, false
	}
	c := at.node.content
	return c.sum, c.size, c.sum != ""
}

// Enter is DirReader.Enter.
func (d *pathDir) Enter(name string) (Dir, error) {
	path, err := d.at("open", name)
	if err != nil {
		return nil, err
	}
	below, err := openByPath(d.r, path)
	if err != nil {
		return nil, err
	}
	below.(*pathDir).w = d.w
	return below, nil
}

// writer gives the host to write to.
func (d *pathDir) writer() (Writer, error) {
	if d.w == nil {
		return nil, pathError("write", d.path, fs.ErrPermission)
	}
	return d.w, nil
}

// WriteFile is DirWriter.WriteFile.
func (d *pathDir) WriteFile(ctx context.Context, name string, c Content, m Meta, fresh bool) error {
	path, err := d.at("write", name)
	w, werr := d.writer()
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	if fresh {
		if _, err := d.r.Lstat(path); err == nil {
			return pathError("write", path, syscall.EEXIST)
		}
	}
	return w.WriteFile(ctx, path, c, m)
}

// Mkdir is DirWriter.Mkdir.
func (d *pathDir) Mkdir(name string, m Meta) error {
	path, err := d.at("mkdir", name)
	w, werr := d.writer()
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	return w.Mkdir(path, m)
}

// Symlink is DirWriter.Symlink.
func (d *pathDir) Symlink(target, name string, m Meta) error {
	path, err := d.at("symlink", name)
	w, werr := d.writer()
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	return w.Symlink(target, path, m)
}

// SetMeta is DirWriter.SetMeta.
func (d *pathDir) SetMeta(name string, m Meta) error {
	path, err := d.at("chown", name)
	w, werr := d.writer()
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	return w.SetMeta(path, m)
}

// Remove is DirWriter.Remove.
func (d *pathDir) Remove(name string) error {
	path, err := d.at("remove", name)
	w, werr := d.writer()
	if err = errors.Join(err, werr); err != nil {
		return err
	}
	return w.Remove(path)
}

// Close is Dir.Close: there is nothing to close.
func (d *pathDir) Close() error { return nil }

// OpenDir is DirOpener.OpenDir. While nothing is written here, the base is read
// directly.
func (s *Shadow) OpenDir(path string) (Dir, error) { return s.openDir(s, path) }

// OpenDir is DirOpener.OpenDir.
func (v opaqueView) OpenDir(path string) (Dir, error) { return v.openDir(v, path) }

func (s *Shadow) openDir(w Writer, path string) (Dir, error) {
	if s.touched.Load() {
		d, err := openByPath(s, path)
		if err == nil {
			d.(*pathDir).w = w
		}
		return d, err
	}
	base, err := OpenDir(s.host, path)
	if err != nil {
		return nil, err
	}
	return &shadowDir{pathDir: pathDir{r: s, w: w, path: path}, shadow: s, base: base}, nil
}

// shadowDir reads the base while the shadow is untouched.
type shadowDir struct {
	pathDir
	shadow *Shadow
	base   Dir
}

// reader is what is read now.
func (d *shadowDir) reader() DirReader {
	if d.shadow.untouched() {
		return d.base
	}
	return &d.pathDir
}

// Entries is DirReader.Entries.
func (d *shadowDir) Entries() ([]Entry, error) { return d.reader().Entries() }

// Lstat is DirReader.Lstat.
func (d *shadowDir) Lstat(name string) (Info, error) { return d.reader().Lstat(name) }

// ReadLink is DirReader.ReadLink.
func (d *shadowDir) ReadLink(name string) (string, error) { return d.reader().ReadLink(name) }

// Open is DirReader.Open.
func (d *shadowDir) Open(name string) (io.ReadCloser, Info, error) { return d.reader().Open(name) }

// Enter is DirReader.Enter.
func (d *shadowDir) Enter(name string) (Dir, error) {
	if !d.shadow.untouched() {
		return d.pathDir.Enter(name)
	}
	base, err := d.base.Enter(name)
	if err != nil {
		return nil, err
	}
	path := joinPath(d.path, name)
	return &shadowDir{pathDir: pathDir{r: d.shadow, w: d.w, path: path}, shadow: d.shadow, base: base}, nil
}

// Close is Dir.Close.
func (d *shadowDir) Close() error { return d.base.Close() }
