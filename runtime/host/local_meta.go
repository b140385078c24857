package host

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// changeMeta changes owner and mode of what has a name in an open directory. It is opened
// first, so that all is done to the one thing that was looked at, whatever gets its name
// meanwhile.
func changeMeta(dir int, name string, m Meta) error {
	fd, err := retryInterrupted(func() (int, error) {
		return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	// Before the owner changes, lest a kill in between leaves the list; and after that, since
	// the former owner can give it another one until then.
	drop := func() error { return nil }
	if m.TakesOver(infoOf(&st)) && kindOf(st.Mode) != Symlink {
		drop = func() error { return dropNames(procPath(fd), kindOf(st.Mode) == Directory) }
	}
	if err := errors.Join(drop(), unix.Fstat(fd, &st)); err != nil {
		return err
	}
	keepBits(&m, infoOf(&st))
	// Who is the owner already is not set again: the kernel would take the capabilities away.
	if m.UID != nil && *m.UID != int(st.Uid) || m.GID != nil && *m.GID != int(st.Gid) {
		if err := unix.Fchownat(fd, "", *or(m.UID, -1), *or(m.GID, -1), unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if err := drop(); err != nil {
		return err
	}
	if m.Mode == nil || kindOf(st.Mode) == Symlink {
		return nil
	}
	err = unix.Fchmodat(fd, "", toUnix(*m.Mode), unix.AT_EMPTY_PATH)
	// Before Linux 6.6 there is no such call, and some containers say EPERM of what they do not know.
	if isUnsupportedCall(err) || err == unix.EINVAL || err == unix.EPERM {
		err = unix.Chmod(procPath(fd), toUnix(*m.Mode))
	}
	return err
}

// keepBits keeps those of the setuid and setgid bits that are to stay: the kernel takes
// them away when it changes an owner.
func keepBits(m *Meta, is Info) {
	if bits := KeptMode(is, *m); (m.UID != nil || m.GID != nil) && bits&SetIDBits != 0 {
		m.Mode = or(m.Mode, bits)
	}
}

// KeptMode is the mode that something keeps where Meta gives it an owner and no mode. A
// program that acts with the rights of its owner or group loses that with them, as by
// chown(1): else whoever had it before could make it act with those of the new one.
func KeptMode(is Info, m Meta) fs.FileMode {
	mode := is.Mode
	if is.Kind == Directory {
		return mode
	}
	if m.UID != nil && *m.UID != is.UID {
		mode &^= fs.ModeSetuid
	}
	if m.GID != nil && *m.GID != is.GID {
		mode &^= fs.ModeSetgid
	}
	return mode
}

// SetIDBits are the bits of a mode by which a program acts with the rights of its file's
// owner or group; WriteBits those by which others than the owner change the file.
const (
	SetIDBits             = fs.ModeSetuid | fs.ModeSetgid
	WriteBits fs.FileMode = 0o022
)

// withoutSetID is the mode that a file keeps whose content is replaced: like capabilities,
// these bits hold for the content that they were given to.
func withoutSetID(mode fs.FileMode) fs.FileMode { return mode &^ SetIDBits }
