package journal_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
)

// A directory that was removed, and another that has got its number, are not the same one,
// whoever owns them.
func TestDirIDOfAnother(t *testing.T) {
	at := func(uid int, birth int64) host.Info {
		info := host.Info{Kind: host.Directory, UID: uid, ID: host.FileID{Device: 1, Inode: 7}} // no mount has that device
		if birth != 0 {
			info.Birth = time.Unix(0, birth)
		}
		return info
	}
	for _, c := range []struct {
		what     string
		was, now host.Info
		same     bool
	}{
		{"unchanged", at(1, 5), at(1, 5), true},
		{"given away", at(1, 5), at(2, 5), true},
		{"made anew by its owner", at(1, 5), at(1, 6), false},
		{"made anew by another", at(1, 5), at(2, 6), false},
		{"no birth was known", at(1, 0), at(1, 5), true},
		{"no birth is known", at(1, 5), at(1, 0), true},
		{"no birth, given away", at(1, 0), at(2, 0), false},
	} {
		if got := journal.IDOf(c.was).Is(c.now, journal.BootID()); got != c.same {
			t.Errorf("%s: the same %t", c.what, got)
		}
	}
}

// Only an overlay that is mounted gives what it has another birth.
func TestOverlayIsTold(t *testing.T) {
	const mounts = `22 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
23 22 0:21 / /dev\040- rw shared:2 - tmpfs overlay rw
24 22 8:1 /overlay /data rw - ext4 /dev/sda1 rw
`
	for device, want := range map[uint64]bool{
		unix.Mkdev(0, 20): true, unix.Mkdev(0, 21): false, unix.Mkdev(8, 1): false, unix.Mkdev(0, 2): false,
	} {
		if got := journal.ListsOverlay(mounts, device); got != want {
			t.Errorf("%d:%d is an overlay: %t", unix.Major(device), unix.Minor(device), got)
		}
	}
	if journal.ListsOverlay("", 0) {
		t.Error("nothing is an overlay")
	}
}
