package host

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// stat fills st with what stands at a path.
func (l *Local) stat(path string, follow bool, st *unix.Stat_t) error {
	if l.root == nil && l.origin == nil {
		flags := unix.AT_SYMLINK_NOFOLLOW
		if follow {
			flags = 0
		}
		for {
			if err := unix.Fstatat(unix.AT_FDCWD, path, st, flags); err != unix.EINTR {
				return err
			}
		}
	}
	flags := unix.O_PATH
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := l.openAt(path, flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fstat(fd, st)
}

// Lstat is Reader.Lstat.
func (l *Local) Lstat(path string) (Info, error) {
	clean, err := checkPath("lstat", path)
	if err != nil {
		return Info{}, err
	}
	info, err := l.describe(clean)
	return info, pathError("lstat", path, err)
}

// describe is Lstat for a path that was checked.
func (l *Local) describe(path string) (Info, error) {
	fd, err := l.openAt(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd)
	return describeAt(fd, "")
}

// ReadLink is Reader.ReadLink.
func (l *Local) ReadLink(path string) (string, error) {
	clean, err := checkPath("readlink", path)
	if err != nil {
		return "", err
	}
	fd, err := l.openAt(clean, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", pathError("readlink", path, err)
	}
	defer unix.Close(fd)
	target, err := readLinkAt(fd, "")
	return target, pathError("readlink", path, err)
}

// Open is Reader.Open.
func (l *Local) Open(path string) (io.ReadCloser, error) {
	clean, err := checkPath("open", path)
	if err != nil {
		return nil, err
	}
	f, err := l.open(clean, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return f, nil
}

// opener is of no use here: a file does not outlive its change.
func (l *Local) opener(string) (func() (io.ReadCloser, error), error) { return nil, nil }

func (l *Local) obscure(string) error { return nil }
func (l *Local) foreseen(string) bool { return false }

// open opens a regular file. O_NONBLOCK keeps a FIFO from blocking until it is
// seen to be one; it means nothing to a regular file.
func (l *Local) open(path string, flags int) (*file, error) {
	fd, err := l.openAt(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|flags)
	if err != nil {
		if err == unix.ENXIO { // a socket
			err = errSpecial
		}
		return nil, err
	}
	return newFile(fd, path, &unix.Stat_t{})
}

// newFileInfo takes over a descriptor, and describes what it has opened.
func newFileInfo(fd int, path string) (io.ReadCloser, Info, error) {
	info, err := describeAt(fd, "")
	if err == nil {
		switch info.Kind {
		case Regular:
			f := &file{path: path}
			f.fd.Store(int64(fd))
			return f, info, nil
		case Directory:
			err = syscall.EISDIR
		default:
			err = errSpecial
		}
	}
	unix.Close(fd)
	return nil, Info{}, err
}

// newFile takes over a descriptor, and fills st.
func newFile(fd int, path string, st *unix.Stat_t) (*file, error) {
	err := unix.Fstat(fd, st)
	if err == nil {
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			f := &file{path: path}
			f.fd.Store(int64(fd))
			return f, nil
		case unix.S_IFDIR:
			err = syscall.EISDIR
		default:
			err = errSpecial
		}
	}
	unix.Close(fd)
	return nil, err
}

// file is an open regular file: os.File without what it does for pipes and
// sockets, which takes time for each of ten thousand files.
type file struct {
	fd   atomic.Int64 // -1 when closed
	path string
}

func (f *file) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := retryInterrupted(func() (int, error) { return unix.Read(int(f.fd.Load()), p) })
	switch {
	case err != nil:
		return 0, pathError("read", f.path, err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// ReadAt is io.ReaderAt.
func (f *file) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		k, err := retryInterrupted(func() (int, error) { return unix.Pread(int(f.fd.Load()), p[n:], at+int64(n)) })
		if err != nil {
			return n, pathError("read", f.path, err)
		}
		if k == 0 {
			return n, io.EOF
		}
		n += k
	}
	return n, nil
}

func (f *file) Close() error {
	fd := f.fd.Swap(-1)
	if fd < 0 {
		return nil
	}
	return pathError("close", f.path, unix.Close(int(fd)))
}

// ReadDir is Reader.ReadDir.
func (l *Local) ReadDir(path string) ([]Entry, error) {
	clean, err := checkPath("readdir", path)
	if err != nil {
		return nil, err
	}
	fd, err := l.openAt(clean, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, pathError("readdir", path, err)
	}
	defer unix.Close(fd)
	var entries []Entry
	buf := make([]byte, 8192)
	for {
		n, err := retryInterrupted(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil {
			return nil, pathError("readdir", path, err)
		}
		if n == 0 {
			break
		}
		entries = appendEntries(entries, fd, buf[:n])
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// appendEntries reads linux_dirent64 records: inode (8 bytes), offset (8),
// length of the record (2), type (1), name with a NUL behind it; getdents64(2).
func appendEntries(entries []Entry, dir int, buf []byte) []Entry {
	for len(buf) > 19 {
		record := buf[:binary.NativeEndian.Uint16(buf[16:18])]
		buf = buf[len(record):]
		name := unix.ByteSliceToString(record[19:])
		if name == "." || name == ".." {
			continue
		}
		mode := uint32(record[18]) << 12 // DT_ and S_IF constants agree
		if mode == 0 {
			var st unix.Stat_t
			if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // it has gone
			}
			mode = st.Mode
		}
		entries = append(entries, Entry{Name: name, Kind: kindOf(mode)})
	}
	return entries
}

// follow describes what a path leads to, the last link followed.
func (l *Local) follow(path string) (Info, error) {
	clean, err := checkPath("stat", path)
	if err != nil {
		return Info{}, err
	}
	var st unix.Stat_t
	if err := l.stat(clean, true, &st); err != nil {
		return Info{}, pathError("stat", path, err)
	}
	return infoOf(&st), nil
}

// executable reports whether a path leads to a program.
func (l *Local) executable(path string) bool {
	info, err := l.follow(path)
	return err == nil && info.Kind == Regular && info.Mode&0o111 != 0
}
