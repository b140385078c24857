package host

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// describeAt describes what has a name in an open directory, or, with an empty name,
// what is open. A symbolic link is not followed.
func describeAt(dir int, name string) (Info, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var st unix.Statx_t
	_, err := retryInterrupted(func() (int, error) {
		return 0, unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	})
	switch {
	case err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0:
		return infoOfStatx(&st), nil
	case err == nil || isUnsupportedCall(err) || err == unix.EPERM: // which some containers say of calls that they do not know
		return describeOld(dir, name, flags)
	}
	return Info{}, err
}

func infoOfStatx(st *unix.Statx_t) Info {
	return Info{
		Kind: kindOf(uint32(st.Mode)), Mode: fromUnix(uint32(st.Mode)),
		UID: int(st.Uid), GID: int(st.Gid), Size: int64(st.Size),
		ModTime: time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)),
		ID:      FileID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino},
		Birth:   birthOf(st),
		Mount:   st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}
}

func birthOf(st *unix.Statx_t) time.Time {
	if st.Mask&unix.STATX_BTIME == 0 || st.Btime.Sec == 0 && st.Btime.Nsec == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}

func infoOf(st *unix.Stat_t) Info {
	return Info{
		Kind: kindOf(st.Mode), Mode: fromUnix(st.Mode),
		UID: int(st.Uid), GID: int(st.Gid), Size: st.Size,
		ModTime: time.Unix(st.Mtim.Unix()),
		ID:      FileID{st.Dev, st.Ino},
	}
}

// describeOld is describeAt for kernels before 5.8: of what can be mounted on it compares
// the mount with that of the directory above, by the numbers that /proc has of both.
func describeOld(dir int, name string, flags int) (Info, error) {
	open := func(dir int, name string) (int, error) {
		return retryInterrupted(func() (int, error) {
			return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, flags); err != nil {
		return Info{}, err
	}
	info := infoOf(&st)
	at, above := dir, dir
	if name != "" {
		fd, err := open(dir, name)
		if err != nil {
			return info, err
		}
		defer unix.Close(fd)
		at = fd
	}
	switch {
	case info.Kind == Directory:
		fd, err := open(at, "..")
		if err != nil {
			return info, nil // it cannot be looked above, as below a root
		}
		defer unix.Close(fd)
		above = fd
	case name == "" || dir == unix.AT_FDCWD:
		return info, nil
	}
	info.Mount = mountID(at) != mountID(above)
	return info, nil
}

// mountID is the number of the mount that something open is on; 0: unknown.
func mountID(fd int) int {
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0
	}
	_, line, _ := bytes.Cut(text, []byte("mnt_id:"))
	number, _, _ := bytes.Cut(line, []byte("\n"))
	id, _ := strconv.Atoi(string(bytes.TrimSpace(number)))
	return id
}
