package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// etcWith is the folder of passwd and group.
func etcWith(passwd, group string) fstest.MapFS {
	return fstest.MapFS{"passwd": {Data: []byte(passwd)}, "group": {Data: []byte(group)}}
}

// A group is a user's own if it is nobody else's, and the files can tell that.
func TestPrivateGroup(t *testing.T) {
	const alice, bob = "alice:x:1000:1000::/:/bin/sh\n", "bob:x:1001:1001::/:/bin/sh\n"
	for name, c := range map[string]struct {
		passwd, group string
		want          bool
	}{
		"own":                       {alice + bob, "alice:x:1000:\nbob:x:1001:\n", true},
		"named in it":               {alice + bob, "alice:x:1000:alice\n", true},
		"a second name of the user": {alice + "al:x:1000:1000::/:/bin/sh\n", "alice:x:1000:al\n", true},
		"another member":            {alice + bob, "alice:x:1000:alice,bob\n", false},
		"another in a second entry": {alice + bob, "alice:x:1000:\nteam:x:1000:bob\n", false},
		"another's primary group":   {alice + "carol:x:1002:1000::/:/bin/sh\n", "alice:x:1000:\n", false},
		"not the primary one":       {"alice:x:1000:100::/:/bin/sh\n", "alice:x:1000:alice\n", false},
		"an unknown user":           {bob, "alice:x:1000:\n", false},
		"an unknown group":          {alice, "bob:x:1001:\n", false},
		"users of a network":        {alice + "+::::::\n", "alice:x:1000:\n", false},
		"groups of a network":       {alice, "+:::\nalice:x:1000:\n", false},
		"nothing":                   {"", "", false},
	} {
		if got := (trust{etc: etcWith(c.passwd, c.group)}).isPrivateGroup(1000, 1000); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (trust{etc: fstest.MapFS{}}).isPrivateGroup(1000, 1000) {
		t.Error("without the files")
	}
}

// A folder that the owner's own group may write to is as good as a private one; that of
// other groups, and one with an access control list, is not.
func TestGroupWritableFolder(t *testing.T) {
	dir := folderWith(t, filepath.Join(t.TempDir(), "state"), 0o775)
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := ownerOf(info), int(info.Sys().(*syscall.Stat_t).Gid)
	passwd, group := fmt.Sprintf("me:x:%d:%d::/:/bin/sh\n", uid, gid), fmt.Sprintf("me:x:%d:", gid)
	own := trust{own: uid, sudo: -1, etc: etcWith(passwd, group+"\n")}
	shared := trust{own: uid, sudo: -1, etc: etcWith(passwd, group+"other\n")}
	if err := own.check(dir, "/tree"); err != nil {
		t.Errorf("of the own group: %v", err)
	}
	if err := shared.check(dir, "/tree"); !errors.As(err, new(*UnsafeError)) {
		t.Errorf("of a group with others: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("it was changed: %v, %v", info.Mode(), err)
	}

	var list []byte
	for _, e := range []struct {
		tag, rights uint16
		id          uint32
	}{{1, 7, ^uint32(0)}, {2, 7, 4711}, {4, 5, ^uint32(0)}, {16, 7, ^uint32(0)}, {32, 5, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(list, e.tag), e.rights), e.id)
	}
	err = unix.Setxattr(dir, "system.posix_acl_access", append([]byte{2, 0, 0, 0}, list...), 0)
	if err != nil {
		t.Fatalf("give temporary files a file system with access control lists, by TMPDIR: %v", err)
	}
	if err := own.check(dir, "/tree"); !errors.As(err, new(*UnsafeError)) {
		t.Errorf("with an access control list: %v", err)
	}
}
