package host

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// How a Local gets from a path to a file descriptor: by one call where no symbolic link
// is on the way (openat2 with RESOLVE_NO_SYMLINKS, below a root with RESOLVE_IN_ROOT).
// Else, or where the kernel cannot, the way is gone one component at a time.

// retryInterrupted repeats a system call that a signal interrupted.
func retryInterrupted[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err != unix.EINTR {
			return v, err
		}
	}
}

// procPath names an open file, for calls that take no descriptor.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// openAt opens what stands at a path, the last component by the flags.
func (l *Local) openAt(path string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC
	switch {
	case l.origin != nil:
		return l.openStill(path, flags)
	case l.root == nil && strings.HasPrefix(path, "/proc/"): // whose links are the kernel's
		return retryInterrupted(func() (int, error) { return unix.Open(path, flags, 0) })
	}
	fd, err := l.openStill(path, flags)
	if err != unix.ELOOP && err != unix.ENOTDIR && err != unix.EINVAL {
		return fd, err
	}
	// There is a link on the way, or what openNoFollow does not know how to go.
	root, err := l.openRoot()
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	dir, name, err := l.walk(root, path, flags&unix.O_NOFOLLOW == 0)
	if err != nil {
		return -1, err
	}
	defer closeUnlessRoot(root, dir)
	if name == "" {
		name = "."
	}
	return retryInterrupted(func() (int, error) { return unix.Openat(dir, name, flags|unix.O_NOFOLLOW, 0) })
}

// OpenNoFollow is NoFollowOpener.OpenNoFollow.
func (l *Local) OpenNoFollow(path string) (io.ReadCloser, Info, error) {
	clean, err := checkPath("open", path)
	if err != nil {
		return nil, Info{}, err
	}
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err := l.openStill(clean, flags)
	if err == unix.ENXIO { // a socket
		err = errSpecial
	}
	if err != nil {
		return nil, Info{}, pathError("open", path, err)
	}
	f, info, err := newFileInfo(fd, clean)
	return f, info, pathError("open", path, err)
}

// openNoFollow opens a path on which there is no symbolic link; one is ELOOP, or ENOTDIR
// where the kernel does not offer openat2. With O_PATH and O_NOFOLLOW the last name
// may be one, which is opened itself.
func (l *Local) openStill(path string, flags int) (int, error) {
	at, how := unix.AT_FDCWD, unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if l.root != nil {
		at, how.Resolve = int(l.root.Fd()), how.Resolve|unix.RESOLVE_IN_ROOT
	}
	if !l.componentwise {
		fd, err := retryInterrupted(func() (int, error) { return unix.Openat2(at, path, &how) })
		for tries := 0; err == unix.EAGAIN && tries < 128; tries++ { // something is moved on the way
			fd, err = retryInterrupted(func() (int, error) { return unix.Openat2(at, path, &how) })
		}
		if !isUnsupportedCall(err) && err != unix.EPERM { // which some containers say of calls that they do not know
			return fd, err
		}
	}
	start, dir := ".", at
	if l.root == nil {
		start = "/"
	}
	open := func(dir int, name string, flags int) (int, error) {
		return retryInterrupted(func() (int, error) {
			return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
	}
	dir, err := open(dir, start, unix.O_PATH|unix.O_DIRECTORY)
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(names) == 0 {
		names = []string{"."}
	}
	for i, name := range names {
		if err != nil {
			return -1, err
		}
		above, with := dir, unix.O_PATH|unix.O_DIRECTORY
		if i == len(names)-1 {
			with = flags
		}
		if name == ".." {
			err = syscall.EINVAL // it would lead out of a root
		} else {
			dir, err = open(above, name, with)
		}
		unix.Close(above)
	}
	return dir, err
}

// openParent opens the directory that holds the path's last component, which
// stays as it is.
func (l *Local) openParent(path string) (dir int, name string, err error) {
	parent, name := splitPath(path)
	dir, err = l.openAt(parent, unix.O_PATH|unix.O_DIRECTORY)
	return dir, name, err
}

// openRoot opens the host's root.
func (l *Local) openRoot() (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	if l.root == nil {
		return unix.Open("/", flags, 0)
	}
	return unix.Openat(int(l.root.Fd()), ".", flags, 0)
}

// walk goes the way of a path below the root by itself, and follows the links that are
// to be trusted.
func (l *Local) walk(root int, path string, follow bool) (dir int, name string, err error) {
	return walker[int]{
		root:     root,
		leave:    func(fd int) { closeUnlessRoot(root, fd) },
		describe: func(fd int) (Info, error) { return describeAt(fd, "") },
		actor:    os.Geteuid(),
		enter: func(dir int, name string) (int, Kind, error) {
			fd, err := retryInterrupted(func() (int, error) {
				return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			})
			if err != nil {
				return -1, "", err
			}
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				unix.Close(fd)
				return -1, "", err
			}
			return fd, kindOf(st.Mode), nil
		},
		link: func(fd int) (string, error) { return readLinkAt(fd, "") },
	}.walk(path, follow)
}

// closeUnlessRoot closes a descriptor of walk, but for the root.
func closeUnlessRoot(root, fd int) {
	if fd != root {
		unix.Close(fd)
	}
}

// readLinkAt reads a symbolic link; with an empty name the one that was opened
// with O_PATH.
func readLinkAt(dir int, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err == unix.ENOENT && name == "" {
		err = syscall.EINVAL // it is no link
	}
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// kindOf gives the kind for the mode of a stat.
func kindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return Regular
	case unix.S_IFDIR:
		return Directory
	case unix.S_IFLNK:
		return Symlink
	}
	return Other
}

// isUnsupportedCall reports whether an error says that the kernel does not know a
// call or a flag.
func isUnsupportedCall(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}
