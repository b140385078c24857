package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// Credentials is Permissions.Credentials.
func (l *Local) Credentials() Credentials {
	c := Credentials{UID: os.Geteuid(), GID: os.Getegid(), Privileged: isPrivileged()}
	c.Confined = l.root != nil && c.UID != 0
	c.Groups, _ = os.Getgroups() // without, less is certain
	return c
}

// isPrivileged reports whether the kernel lets the process act on what is others'.
func isPrivileged() bool {
	const needed = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	return err == nil && sets[0].Effective&needed == needed
}

// Access is Permissions.Access: it asks the kernel, with the rights of the
// effective user.
func (l *Local) Access(path string) Access {
	clean, err := checkPath("access", path)
	if err != nil {
		return fullAccess() // not for want of rights
	}
	fd, err := l.openAt(clean, unix.O_PATH|unix.O_NOFOLLOW)
	switch err {
	case nil:
	case unix.EACCES:
		return Access{}
	default:
		return fullAccess()
	}
	defer unix.Close(fd)
	access := Access{Names: true}
	var mounted unix.Statfs_t
	if unix.Fstatfs(fd, &mounted) == nil {
		access.ReadOnly = mounted.Flags&unix.ST_RDONLY != 0
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st); err == nil {
		access.Immutable = st.Attributes&unix.STATX_ATTR_IMMUTABLE != 0
		access.AppendOnly = st.Attributes&unix.STATX_ATTR_APPEND != 0
	}
	if uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK {
		return access // the kernel would ask about what it leads to
	}
	access.List = namesIn(procPath(fd), kindOf(uint32(st.Mode)) == Directory)
	// Nobody makes files below /proc, and root writes those that are there.
	if mounted.Type == unix.PROC_SUPER_MAGIC && unix.Geteuid() == 0 {
		return access
	}
	// The kernel says EPERM of what is immutable, on file systems too whose flags
	// statx does not show.
	switch unix.Faccessat(unix.AT_FDCWD, procPath(fd), unix.W_OK|unix.X_OK, unix.AT_EACCESS) {
	case unix.EACCES:
		access.Names = false
	case unix.EROFS:
		access.ReadOnly = true
	case unix.EPERM:
		access.Immutable = true
	}
	return access
}
