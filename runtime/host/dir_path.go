package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// openByPath makes sure that a directory is there.
func openByPath(d *pathDir, path string) (Dir, error) {
	d.path = path
	info, err := d.r.Lstat(path)
	if err != nil {
		return nil, err
	}
	switch info.Kind {
	case Directory:
		return d, nil
	case Symlink: // one that is no way to a directory, or has come there since
		return nil, pathError("open", path, syscall.ELOOP)
	}
	return nil, pathError("open", path, syscall.ENOTDIR)
}

// pathDir is a directory that is known by its path.
type pathDir struct {
	r    Reader // which follows no symbolic link
	w    Writer // likewise; nil: read only
	path string
	// isShadow says that of what has a longer path than the system takes nothing can be told here: the base
	// reaches it by the directory that it is in.
	isShadow bool
}

// IsLongPath reports whether something cannot be reached because its path is longer than the system takes.
func IsLongPath(err error) bool { return errors.Is(err, syscall.ENAMETOOLONG) }

// errLongPath is what there is to know of what has too long a path for a shadow.
var errLongPath = fmt.Errorf("%w: %w", ErrUnforeseeable, syscall.ENAMETOOLONG)

// at is the path of a name.
func (d *pathDir) at(op, name string) (string, error) {
	if name == "." {
		return d.path, nil
	}
	path, err := joinPath(d.path, name), checkName(op, name)
	if err == nil && d.isShadow && len(path) > maxPath {
		return "", errLongPath
	}
	return path, err
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

// opener gives what opens a file as it is now, where the host can; see opener.
func (d *pathDir) opener(name string) (func() (io.ReadCloser, error), error) {
	path, err := d.at("open", name)
	if o, ok := d.r.(opener); ok && err == nil {
		return o.opener(path)
	}
	return nil, err
}

// knownSum gives the digest of a file that was written to a shadow with it, and need
// not be read for that.
func (d *pathDir) knownSum(name string) (string, int64, bool) {
	switch s := d.r.(type) {
	case *Shadow:
		return s.tree.knownSum(joinPath(d.path, name))
	case doubtfulView:
		return s.tree.knownSum(joinPath(d.path, name))
	}
	return "", 0, false
}

func (t *tree) knownSum(path string) (string, int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.find(path, false)
	t.trace.look(path, err)
	if err != nil || at.node == nil || at.node.kind != Regular || at.node.base != "" {
		return "", 0, false
	}
	c := at.node.content
	return c.sum, c.size, c.sum != "" && (c.IsRead() || c.size < 0) // what flows can be read once only
}

// Enter is DirReader.Enter.
func (d *pathDir) Enter(name string) (Dir, error) {
	path, err := d.at("open", name)
	if err != nil {
		return nil, err
	}
	return openByPath(&pathDir{r: d.r, w: d.w, isShadow: d.isShadow}, path)
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
