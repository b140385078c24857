package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// folderWith makes a folder of some mode with a file in it.
func folderWith(t *testing.T, dir string, mode fs.FileMode) string {
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What others may have written to is not used, and told with its mode.
func TestFolderThatOthersMayWriteTo(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777, 0o702, 0o777 | fs.ModeSticky} {
		dir := folderWith(t, filepath.Join(t.TempDir(), "state"), mode)
		_, err := Open(dir)
		if unsafe, ok := errors.AsType[*UnsafeError](err); !ok || unsafe.Path != dir {
			t.Errorf("%s: it is opened: %v", mode, err)
		}
		if err := CheckFolder(dir, ""); !errors.As(err, new(*UnsafeError)) {
			t.Errorf("%s: %v", mode, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode()&^fs.ModeDir != mode {
			t.Errorf("it was changed: %v, %v", info.Mode(), err)
		}
	}
	for _, mode := range []fs.FileMode{0o700, 0o755} {
		if _, err := Open(folderWith(t, filepath.Join(t.TempDir(), "state"), mode)); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// An empty folder of one's own, such as one that a loose umask has made, becomes private.
func TestEmptyFolderBecomesPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What belongs to another account is not relied on, unless that is root, or the one that root
// relies on after sudo.
func TestFolderOfAnotherAccount(t *testing.T) {
	for _, c := range []struct {
		owner, own, sudo int
		want             bool
	}{{0, 0, -1, true}, {0, 1000, -1, true}, {1000, 1000, -1, true}, {1000, 0, -1, false}, {1000, 1001, -1, false},
		{1000, 0, 1000, true}, {1001, 0, 1000, false}} {
		if (trust{own: c.own, sudo: c.sudo}).isTrusted(c.owner) != c.want {
			t.Errorf("%+v", c)
		}
	}
	if os.Geteuid() != 0 {
		return // nobody else can give a folder away
	}
	dir := folderWith(t, filepath.Join(t.TempDir(), "state"), 0o700)
	if err := os.Chown(dir, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SUDO_UID", "1234") // whose default folder it is not
	if _, err := Open(dir); !errors.As(err, new(*UnsafeError)) {
		t.Errorf("it is opened: %v", err)
	}
	above := filepath.Dir(dir)
	if err := errors.Join(os.Chown(dir, 0, 0), os.Chown(above, 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	if err := CheckFolder(dir, ""); !errors.As(err, new(*UnsafeError)) {
		t.Errorf("below a folder of another account: %v", err)
	}
	if err := CheckFolder(dir, above); err != nil {
		t.Errorf("within a tree of another account: %v", err)
	}
}

// Root relies on who called sudo for that account's default folder alone.
func TestFolderOfWhoCalledSudo(t *testing.T) {
	const passwd = "root:x:0:0::/root:/bin/sh\nalice:x:1234:1234::/home/alice:/bin/sh\nrelative:x:1235:1235::home:/bin/sh\n"
	for _, c := range []struct {
		own, uid int
		dir      string
		want     int
	}{
		{0, 1234, "/home/alice/.local/state/tenet", 1234},
		{0, 1234, "/home/alice/.local/state/tenet/", 1234},
		{0, 1234, "/home/alice/state", -1},
		{0, 1234, "/home/alice/.local/state/tenet/below", -1},
		{0, 1234, "/var/lib/tenet", -1},
		{0, 1235, "home/.local/state/tenet", -1},
		{0, 1236, "/home/alice/.local/state/tenet", -1},
		{1234, 1234, "/home/alice/.local/state/tenet", -1},
	} {
		tr := trust{own: c.own, sudo: -1, etc: etcWith(passwd, "")}
		if tr.relyOnCaller(c.uid, c.dir); tr.sudo != c.want {
			t.Errorf("%+v: %d", c, tr.sudo)
		}
	}
	if os.Geteuid() != 0 {
		return // nobody else can give a folder away
	}
	home := t.TempDir()
	dir := folderWith(t, filepath.Join(home, ".local/state/tenet"), 0o700)
	for path := dir; path != filepath.Dir(home); path = filepath.Dir(path) {
		if err := os.Chown(path, 1234, 1234); err != nil {
			t.Fatal(err)
		}
	}
	for uid, safe := range map[int]bool{1234: true, 1235: false} {
		tr := trust{sudo: -1, etc: etcWith(fmt.Sprintf("a:x:1234:1:::/bin/sh\na:x:%d:1::%s:/bin/sh\n", uid, home), "")}
		tr.relyOnCaller(uid, dir)
		if err := tr.check(dir, ""); (err == nil) != safe {
			t.Errorf("called by %d: %v", uid, err)
		}
	}
}

// Who can exchange the folder for another one is as dangerous as who can write to it;
// the sticky bit keeps them from it.
func TestFolderThatCanBeExchanged(t *testing.T) {
	above := t.TempDir()
	dir := folderWith(t, filepath.Join(above, "a", "state"), 0o700)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for mode, safe := range map[fs.FileMode]bool{0o755: true, 0o777: false, 0o777 | fs.ModeSticky: true, 0o775: true} {
		if err := os.Chmod(above, mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, link, filepath.Join(above, "new", "state")} {
			if err := CheckFolder(path, ""); safe != (err == nil) || err != nil && !errors.As(err, new(*UnsafeError)) {
				t.Errorf("%s below %s: %v", path, mode, err)
			}
		}
	}
}

// The number that stands for no account is one like any other where the user namespace
// has it.
func TestNobodysNumber(t *testing.T) {
	for uidMap, want := range map[string]bool{
		"         0          0 4294967295\n": true,
		"         0     100000      65536\n": true,
		"         0     100000      65534\n": false,
		"         0       1000          1\n": false,
		"0 1000 1\n1 100000 65533\n":         false,
		"0 1000 1\n1 100000 65536\n":         true,
		"":                                   true,
		"what is this":                       true,
	} {
		if isMapped(uidMap, overflowUID) != want {
			t.Errorf("%q: it is mapped: %v", uidMap, !want)
		}
	}
	if isNobodys(1000) {
		t.Error("an account's number is nobody's")
	}
}

// The owner of that number is refused above the state folder of root.
func TestFolderBelowNobody(t *testing.T) {
	uidMap, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || !isMapped(string(uidMap), overflowUID) {
		return // only root, where the number is an account, can give a folder to it
	}
	above := t.TempDir()
	dir := folderWith(t, filepath.Join(above, "state"), 0o700)
	if err := os.Chown(above, overflowUID, overflowUID); err != nil {
		t.Fatal(err)
	}
	if err := CheckFolder(dir, ""); !errors.As(err, new(*UnsafeError)) {
		t.Errorf("below a folder of the number %d: %v", overflowUID, err)
	}
}
