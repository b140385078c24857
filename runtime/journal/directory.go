package journal

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// DirID tells a directory from any other; zero where the host does not know. An inode's
// number is used again once it is free, so that its birth must be the same, too; a block may
// give its directory to somebody else. Where no birth is known the owner must be the same, and
// so it is on an overlay, where the first change of a directory of the lower layer gives it
// another birth.
type DirID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	UID    int    `json:"uid"`
	Birth  int64  `json:"birth,omitempty"` // nanoseconds since 1970; 0: not known, or of an older version
}

// IDOf gives that of what is described.
func IDOf(info host.Info) DirID {
	if info.ID == (host.FileID{}) {
		return DirID{}
	}
	id := DirID{Device: info.ID.Device, Inode: info.ID.Inode, UID: info.UID}
	if !info.Birth.IsZero() {
		id.Birth = info.Birth.UnixNano()
	}
	return id
}

// File is the number of the directory alone.
func (d DirID) File() host.FileID { return host.FileID{Device: d.Device, Inode: d.Inode} }

// Is reports whether a directory is the one that was there in a boot.
func (d DirID) Is(now host.Info, boot string) bool {
	if d == (DirID{}) {
		return true
	}
	sameDevice := d.Device == now.ID.Device || boot != BootID()
	return now.Kind == host.Directory && sameDevice && d.Inode == now.ID.Inode && d.sameLife(IDOf(now))
}

// sameLife reports whether what has the same number has not gone meanwhile.
func (d DirID) sameLife(now DirID) bool {
	known := d.Birth != 0 && now.Birth != 0
	switch {
	case known && d.Birth == now.Birth:
		return true
	case known && !isOverlay(now.Device):
		return false
	}
	return d.UID == now.UID
}

// isOverlay reports whether a device is an overlay that is mounted. Of what cannot be told it
// is not.
func isOverlay(device uint64) bool {
	data, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && listsOverlay(string(data), device)
}

// listsOverlay looks for an overlay in what /proc has of mounts; see proc_pid_mountinfo(5).
func listsOverlay(mounts string, device uint64) bool {
	number := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	for line := range strings.Lines(mounts) {
		mount, fileSystem, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		kind, _, _ := strings.Cut(fileSystem, " ")
		if len(fields) > 2 && fields[2] == number && kind == "overlay" {
			return true
		}
	}
	return false
}
