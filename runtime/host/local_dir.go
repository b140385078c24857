package host

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// localDir is an open directory of a Local.
type localDir struct {
	l     *Local
	fd    int
	path  string // for messages, and to sync it
	dev   uint64
	wrote atomic.Bool
}

// OpenDir is DirOpener.OpenDir.
func (l *Local) OpenDir(path string) (Dir, error) {
	clean, err := checkPath("open", path)
	if err != nil {
		return nil, err
	}
	fd, err := openDirectory(func(flags int) (int, error) { return l.openAt(clean, flags) })
	if err != nil {
		return nil, pathError("open", path, err)
	}
	for strings.HasSuffix(clean, "/.") { // as OpenPlace has it
		clean = clean[:max(1, len(clean)-2)]
	}
	return newLocalDir(l, fd, clean)
}

// openDirectory opens a directory to be listed. One that may not be listed can be used by
// those who know the names in it.
func openDirectory(open func(flags int) (int, error)) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := open(unix.O_RDONLY | flags)
	if err == unix.EACCES {
		fd, err = open(unix.O_PATH | flags)
	}
	return fd, err
}

func newLocalDir(l *Local, fd int, path string) (Dir, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, pathError("open", path, err)
	}
	return &localDir{l: l, fd: fd, path: path, dev: st.Dev}, nil
}

// Close is Dir.Close.
func (d *localDir) Close() error { return pathError("close", d.path, unix.Close(d.fd)) }

func (d *localDir) error(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if name == "." {
		return pathError(op, d.path, err)
	}
	return pathError(op, joinPath(d.path, name), err)
}

// Entries is DirReader.Entries.
func (d *localDir) Entries() ([]Entry, error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		if err == unix.EBADF { // see openDirectory
			err = unix.EACCES
		}
		return nil, d.error("readdir", ".", err)
	}
	var entries []Entry
	buf := make([]byte, 32<<10)
	for {
		n, err := retryInterrupted(func() (int, error) { return unix.Getdents(d.fd, buf) })
		if err != nil {
			return nil, d.error("readdir", ".", err)
		}
		if n == 0 {
			break
		}
		entries = appendEntries(entries, d.fd, buf[:n])
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// Lstat is DirReader.Lstat.
func (d *localDir) Lstat(name string) (Info, error) {
	in := name
	switch err := checkName("lstat", name); {
	case name == ".":
		in = ""
	case err != nil:
		return Info{}, err
	}
	info, err := describeAt(d.fd, in)
	return info, d.error("lstat", name, err)
}

// ReadLink is DirReader.ReadLink.
func (d *localDir) ReadLink(name string) (string, error) {
	if err := checkName("readlink", name); err != nil {
		return "", err
	}
	target, err := readLinkAt(d.fd, name)
	return target, d.error("readlink", name, err)
}

// Open is DirReader.Open.
func (d *localDir) Open(name string) (io.ReadCloser, Info, error) {
	if err := checkName("open", name); err != nil {
		return nil, Info{}, err
	}
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retryInterrupted(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	if err == unix.ENXIO { // a socket
		err = errSpecial
	}
	if err != nil {
		return nil, Info{}, d.error("open", name, err)
	}
	f, info, err := newFileInfo(fd, name)
	return f, info, d.error("open", name, err)
}

// Enter is DirReader.Enter.
func (d *localDir) Enter(name string) (Dir, error) {
	below := d.path
	if name != "." {
		if err := checkName("open", name); err != nil {
			return nil, err
		}
		below = joinPath(d.path, name)
	}
	fd, err := openDirectory(func(flags int) (int, error) {
		return retryInterrupted(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	})
	if err != nil {
		return nil, d.error("open", name, err)
	}
	return newLocalDir(d.l, fd, below)
}

// noteWritten notes that the directory was written to.
func (d *localDir) noteWritten(op, name string, err error) error {
	if !d.wrote.Swap(true) {
		d.l.noteWritten(d.dev, joinPath(d.path, name))
	}
	return d.error(op, name, err)
}

// stat tells what has a name; Kind "" is nothing.
func (d *localDir) stat(op, name string, st *unix.Stat_t) (Kind, error) {
	if err := checkName(op, name); err != nil {
		return "", err
	}
	switch err := unix.Fstatat(d.fd, name, st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		return kindOf(st.Mode), nil
	case unix.ENOENT:
		return "", nil
	default:
		return "", d.error(op, name, err)
	}
}

// WriteFile is DirWriter.WriteFile.
func (d *localDir) WriteFile(ctx context.Context, name string, c Content, m Meta, isFresh bool) error {
	if ctx.Err() != nil {
		return d.error("write", name, context.Cause(ctx))
	}
	if isFresh {
		if err := checkName("write", name); err != nil {
			return err
		}
		m.Mode = or(m.Mode, 0o644)
		return d.noteWritten("write", name, writeTemp(ctx, d.fd, d.l.TempName(), name, c, m, fresh))
	}
	var st unix.Stat_t
	kind, err := d.stat("write", name, &st)
	if err == nil {
		err = d.error("write", name, checkReplaceable(kind))
	}
	if err != nil {
		return err
	}
	return d.noteWritten("write", name, writeOver(ctx, d.fd, d.l.TempName(), name, c, m, &st, kind))
}

// Mkdir is DirWriter.Mkdir.
func (d *localDir) Mkdir(name string, m Meta) error {
	if err := checkName("mkdir", name); err != nil {
		return err
	}
	return d.noteWritten("mkdir", name, mkdirAt(d.fd, d.l.TempName(), name, m))
}

// Symlink is DirWriter.Symlink.
func (d *localDir) Symlink(target, name string, m Meta) error {
	if err := checkTarget(target, name); err != nil {
		return err
	}
	var st unix.Stat_t
	kind, err := d.stat("symlink", name, &st)
	if err == nil {
		err = d.error("symlink", name, checkReplaceable(kind))
	}
	if err != nil {
		return err
	}
	return d.noteWritten("symlink", name, symlinkAt(d.fd, d.l.TempName(), target, name, m))
}

// SetMeta is DirWriter.SetMeta.
func (d *localDir) SetMeta(name string, m Meta) error {
	if name != "." {
		if err := checkName("chown", name); err != nil {
			return err
		}
	}
	return d.noteWritten("chown", name, changeMeta(d.fd, name, m))
}

// Remove is DirWriter.Remove.
func (d *localDir) Remove(name string) error {
	var st unix.Stat_t
	kind, err := d.stat("remove", name, &st)
	flags := 0
	switch {
	case err != nil:
		return err
	case kind == "":
		return d.error("remove", name, syscall.ENOENT)
	case kind == Directory:
		flags = unix.AT_REMOVEDIR
	}
	return d.noteWritten("remove", name, unix.Unlinkat(d.fd, name, flags))
}
