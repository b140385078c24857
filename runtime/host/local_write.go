package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// The Writer of a Local. All goes through a descriptor of the parent
// directory, so that what is moved or linked meanwhile cannot lead elsewhere.

// withParent opens the directory of a path and calls write with it. What stands
// at the name now is given too; Kind "" is nothing.
func (l *Local) withParent(op, path string, errRoot error, write func(dir int, name string, now *unix.Stat_t, kind Kind) error) error {
	clean, err := checkWritable(op, path, errRoot)
	if err != nil {
		return err
	}
	dir, name, err := l.openParent(clean)
	if err != nil {
		return pathError(op, path, err)
	}
	defer unix.Close(dir)
	if name == "" {
		name = "."
	}
	var now unix.Stat_t
	kind := Kind("")
	switch err := unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		kind = kindOf(now.Mode)
	case unix.ENOENT:
	default:
		return pathError(op, path, err)
	}
	if err := write(dir, name, &now, kind); err != nil {
		return pathError(op, path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return pathError(op, path, err)
	}
	l.noteWritten(st.Dev, clean)
	return nil
}

// WriteFile is Writer.WriteFile.
func (l *Local) WriteFile(ctx context.Context, path string, c Content, m Meta) error {
	return l.withParent("write", path, syscall.EISDIR, func(dir int, name string, now *unix.Stat_t, kind Kind) error {
		if err := checkReplaceable(kind); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return writeOver(ctx, dir, l.TempName(), name, c, m, now, kind)
	})
}

// writeOver puts a file in the place of what stands there now, or of nothing.
func writeOver(ctx context.Context, dir int, temp, name string, c Content, m Meta, now *unix.Stat_t, kind Kind) error {
	mode := fs.FileMode(0o644)
	if kind == Regular {
		mode = withoutSetID(fromUnix(now.Mode))
		if m.Mode == nil && m.TakesOver(infoOf(now)) {
			var err error
			if mode, err = modeWithoutList(dir, name, mode); err != nil {
				return err
			}
		}
		m.UID, m.GID = or(m.UID, int(now.Uid)), or(m.GID, int(now.Gid))
	}
	m.Mode = or(m.Mode, mode)
	return writeTemp(ctx, dir, temp, name, c, m, kind)
}

// or gives what is set, or the value.
func or[T any](set *T, value T) *T {
	if set != nil {
		return set
	}
	return &value
}

// fresh stands for the kind of what a file replaces that must replace nothing.
const fresh Kind = "fresh"

// writeTemp writes a temporary file in the directory and renames it over what is there.
func writeTemp(ctx context.Context, dir int, temp, name string, c Content, m Meta, over Kind) error {
	fd, err := createAt(dir, temp)
	if err != nil {
		return err
	}
	err = writeNewFile(ctx, fd, c, m, func() error {
		switch {
		case over == Regular:
			if err := keepAttributes(ctx, dir, name, fd, c); err != nil {
				return err
			}
			return dropCapability(dir, name, fd)
		case m.Like != "":
			return takeAccess(dir, m.Like, fd)
		}
		return nil
	})
	switch {
	case err != nil:
	case over == fresh:
		err = publish(dir, temp, name)
	default:
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
	}
	return err
}

// dropCapability takes a new file's capabilities away where it has another owner or group than
// the one that it replaces, as chown(2) does.
func dropCapability(dir int, name string, fd int) error {
	const capability = "security.capability"
	if _, err := unix.Fgetxattr(fd, capability, nil); err != nil {
		return ignoreUnsupported(err)
	}
	var was, is unix.Stat_t
	if err := errors.Join(unix.Fstatat(dir, name, &was, unix.AT_SYMLINK_NOFOLLOW), unix.Fstat(fd, &is)); err != nil {
		return err
	}
	if was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	return unix.Fremovexattr(fd, capability)
}

// createAt makes a file that only its owner may read. Nothing may stand there.
func createAt(dir int, name string) (fd int, err error) {
	return retryInterrupted(func() (int, error) {
		return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
}

// writeNewFile writes a new file, gives it its owner, attributes and mode, and closes it.
func writeNewFile(ctx context.Context, fd int, c Content, m Meta, attribute func() error) error {
	attributes, err := writeContent(ctx, fd, c)
	if err == nil && (m.UID != nil || m.GID != nil) {
		err = unix.Fchown(fd, *or(m.UID, -1), *or(m.GID, -1))
	}
	if err == nil { // the mode after them: it is the mask of an access control list
		err = attribute()
	}
	if err == nil {
		err = setAttributes(fd, attributes)
	}
	if err == nil {
		err = unix.Fchmod(fd, toUnix(*m.Mode))
	}
	// A full disk or a quota may show only now.
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// writeContent writes content to a file, and gives the attributes that come with it.
func writeContent(ctx context.Context, fd int, c Content) (attributes map[string][]byte, err error) {
	if s, ok := c.Inline(); ok {
		return nil, writeAll(fd, []byte(s))
	}
	r, err := openChecked(ctx, c)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := copyContent(fd, r, c); err != nil || !c.restored {
		return nil, err
	}
	if checked, ok := r.(*checkedReader); ok {
		return attributesOf(checked.r)
	}
	return nil, nil
}

// copyContent copies what is read of content to a file.
func copyContent(fd int, r io.Reader, c Content) error {
	size := int64(64 << 10)
	if c.sum != unseen {
		size = min(c.Size()+1, size)
	}
	out := fdWriter(fd)
	if checked, ok := r.(*checkedReader); ok && IsSparse(checked.r) {
		holes := &HoleWriter{To: out}
		if err := copyAll(holes, r, make([]byte, size)); err != nil {
			return err
		}
		return holes.End(func(size int64) error { return unix.Ftruncate(fd, size) })
	}
	return copyAll(out, r, make([]byte, size))
}

// copyAll copies to the end.
func copyAll(to io.Writer, from io.Reader, buf []byte) error {
	for {
		n, err := from.Read(buf)
		if err != nil && err != io.EOF {
			return err
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
	}
}

// fdWriter writes to a descriptor.
type fdWriter int

func (fd fdWriter) Write(p []byte) (int, error) { return len(p), writeAll(int(fd), p) }

func (fd fdWriter) Seek(offset int64, whence int) (int64, error) {
	return unix.Seek(int(fd), offset, whence)
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := retryInterrupted(func() (int, error) { return unix.Write(fd, p) })
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// Mkdir is Writer.Mkdir.
func (l *Local) Mkdir(path string, m Meta) error {
	return l.withParent("mkdir", path, syscall.EEXIST, func(dir int, name string, _ *unix.Stat_t, kind Kind) error {
		if kind != "" {
			return syscall.EEXIST
		}
		return mkdirAt(dir, l.TempName(), name, m)
	})
}

// mkdirAt makes a directory where nothing stands. It appears with its owner and mode:
// one that was made and then changed would keep what a kill leaves in between, where
// nobody manages that.
func mkdirAt(dir int, temp, name string, m Meta) error {
	if err := unix.Mkdirat(dir, temp, 0o700); err != nil {
		return err
	}
	m.Mode = or(m.Mode, 0o755)
	err := setMetaAt(dir, temp, m, Directory)
	if err == nil {
		err = publish(dir, temp, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, unix.AT_REMOVEDIR)
	}
	return err
}

// publish gives what has a temporary name its own, which nothing has.
func publish(dir int, temp, name string) error {
	err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && !isUnsupportedCall(err) {
		return err
	}
	// The file system cannot promise that.
	var now unix.Stat_t
	switch err := unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return unix.Renameat(dir, temp, dir, name)
	default:
		return err
	}
}

// Symlink is Writer.Symlink.
func (l *Local) Symlink(target, path string, m Meta) error {
	if err := checkTarget(target, path); err != nil {
		return err
	}
	return l.withParent("symlink", path, syscall.EISDIR, func(dir int, name string, _ *unix.Stat_t, kind Kind) error {
		if err := checkReplaceable(kind); err != nil {
			return err
		}
		return symlinkAt(dir, l.TempName(), target, name, m)
	})
}

// symlinkAt puts a link in the place of a file, a link or nothing.
func symlinkAt(dir int, temp, target, name string, m Meta) error {
	if err := unix.Symlinkat(target, dir, temp); err != nil {
		return err
	}
	err := setMetaAt(dir, temp, m, Symlink)
	if err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
	}
	return err
}

// SetMeta is Writer.SetMeta.
func (l *Local) SetMeta(path string, m Meta) error {
	return l.withParent("chown", path, nil, func(dir int, name string, _ *unix.Stat_t, kind Kind) error {
		if kind == "" {
			return syscall.ENOENT
		}
		return changeMeta(dir, name, m)
	})
}

// setMetaAt sets the owner, then the mode, which the change of owner may have
// touched. A symbolic link has no mode to set.
func setMetaAt(dir int, name string, m Meta, kind Kind) error {
	if m.UID != nil || m.GID != nil {
		err := unix.Fchownat(dir, name, *or(m.UID, -1), *or(m.GID, -1), unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return err
		}
	}
	if m.Mode == nil || kind == Symlink {
		return nil
	}
	return chmodAt(dir, name, toUnix(*m.Mode))
}

// chmodAt sets the mode of what is no symbolic link. Kernels before 6.6 have
// no call for that, so there the file is held open while it is named.
func chmodAt(dir int, name string, mode uint32) error {
	err := unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
	if !isUnsupportedCall(err) && err != unix.EPERM { // which some containers say of calls that they do not know
		return err
	}
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(procPath(fd), mode)
}

// Remove is Writer.Remove.
func (l *Local) Remove(path string) error {
	return l.withParent("remove", path, syscall.EBUSY, func(dir int, name string, _ *unix.Stat_t, kind Kind) error {
		flags := 0
		switch kind {
		case "":
			return syscall.ENOENT
		case Directory:
			flags = unix.AT_REMOVEDIR
		}
		return unix.Unlinkat(dir, name, flags)
	})
}
