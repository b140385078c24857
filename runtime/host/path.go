package host

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

const (
	maxPath  = 4095 // bytes in a path, as Linux has it
	maxName  = 255  // bytes in one name
	maxLinks = 40   // symbolic links on one way, as Linux has it
)

// errSpecial is the refusal to read or replace a device, a socket or a FIFO.
var errSpecial = errors.New("is a special file")

// checkPath refuses what is no absolute path. It gives the path without
// slashes at its end, so that they mean the same on every host.
func checkPath(op, path string) (string, error) {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", &fs.PathError{Op: op, Path: path, Err: errors.New("the path is not absolute")}
	case strings.IndexByte(path, 0) >= 0:
		return "", &fs.PathError{Op: op, Path: path, Err: errors.New("the path holds a NUL character")}
	case len(path) > maxPath:
		return "", &fs.PathError{Op: op, Path: path, Err: syscall.ENAMETOOLONG}
	}
	for len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return path, nil
}

// checkWritable is checkPath for what shall be made or changed at a path: its
// last name must be one that a directory can hold. errRoot is the answer for
// "/" itself, nil if that is allowed.
func checkWritable(op, path string, errRoot error) (string, error) {
	clean, err := checkPath(op, path)
	if err != nil {
		return "", err
	}
	switch _, name := splitPath(clean); name {
	case "":
		err = errRoot
	case ".", "..":
		err = syscall.EINVAL
	}
	return clean, pathError(op, path, err)
}

// splitPath cuts off the last name; that of "/" is empty.
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

// joinPath is the path of a name in a directory.
func joinPath(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// pathError dresses an error with the path as the caller wrote it. What a
// lower host said about its own path is undressed first.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: withoutPath(err)}
}

// withoutPath takes the path off an error.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// permissions are the bits that Meta and Info hold.
const permissions = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// fromUnix turns the mode of a stat into the bits of Info.
func fromUnix(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	if mode&syscall.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&syscall.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&syscall.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// toUnix is the inverse of fromUnix.
func toUnix(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		mode |= syscall.S_ISUID
	}
	if m&fs.ModeSetgid != 0 {
		mode |= syscall.S_ISGID
	}
	if m&fs.ModeSticky != 0 {
		mode |= syscall.S_ISVTX
	}
	return mode
}

// IsGone reports whether an error says that nothing is at a path: be it that the directory which
// would contain it is missing, or is none.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }
