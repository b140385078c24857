package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// trust says on whom a process relies for its state folder: on itself, on root, and as
// root on the account that became root by sudo, if the folder is that account's own.
type trust struct {
	own  int
	sudo int   // the account that called sudo, where its own folder is meant; -1: none
	etc  fs.FS // the folder of passwd and group
}

// trustFor is that of this process for a state folder.
func trustFor(dir string) trust {
	t := trust{own: os.Geteuid(), sudo: -1, etc: os.DirFS("/etc")}
	if uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31); err == nil {
		t.relyOnCaller(int(uid), dir)
	}
	return t
}

// relyOnCaller makes root rely on the account that called sudo for the state folder that is
// that account's default: elsewhere a folder of it says nothing about what root wants.
func (t *trust) relyOnCaller(uid int, dir string) {
	passwd, err := fs.ReadFile(t.etc, "passwd")
	if t.own != 0 || err != nil {
		return
	}
	for _, u := range host.ParsePasswd(string(passwd)) {
		if u.UID == uid && filepath.IsAbs(u.Home) && filepath.Clean(dir) == filepath.Join(u.Home, ".local/state/tenet") {
			t.sudo = uid
		}
	}
}

func (t trust) isTrusted(uid int) bool { return uid == t.own || uid == 0 || uid == t.sudo }

// mayOthersWrite reports whether an account that is neither the owner nor root may write
// to an open folder. What cannot be found out counts as yes.
func (t trust) mayOthersWrite(dir *os.File) (bool, error) {
	info, err := dir.Stat()
	if err != nil {
		return true, err
	}
	if info.Mode().Perm()&0o022 == 0 {
		return false, nil // also by an access control list, whose mask the bits of the group are
	}
	if info.Mode().Perm()&0o002 != 0 || hasAccessList(dir) {
		return true, nil
	}
	stat := info.Sys().(*syscall.Stat_t)
	return !t.isPrivateGroup(int(stat.Uid), int(stat.Gid)), nil
}

// hasAccessList reports whether accounts that the mode does not tell may have rights.
func hasAccessList(file *os.File) bool {
	_, err := unix.Fgetxattr(int(file.Fd()), "system.posix_acl_access", nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)
}

// isPrivateGroup reports whether a group is the primary one of a user, and of nobody else,
// with no other member. It goes by the files passwd and group: a user or a group that is
// not in them, or entries that take in more from a network (NIS), make it false.
func (t trust) isPrivateGroup(uid, gid int) bool {
	passwd, err := fs.ReadFile(t.etc, "passwd")
	if err != nil {
		return false
	}
	group, err := fs.ReadFile(t.etc, "group")
	if err != nil || hasNetworkEntries(string(passwd)) || hasNetworkEntries(string(group)) {
		return false
	}
	var names []string
	for _, u := range host.ParsePasswd(string(passwd)) {
		if (u.UID == uid) != (u.GID == gid) {
			return false
		}
		if u.UID == uid {
			names = append(names, u.Name)
		}
	}
	known := false
	for _, g := range host.ParseGroup(string(group)) {
		if g.GID != gid {
			continue
		}
		known = true
		if slices.ContainsFunc(g.Members, func(name string) bool { return !slices.Contains(names, name) }) {
			return false
		}
	}
	return known && len(names) > 0
}

func hasNetworkEntries(text string) bool {
	return strings.HasPrefix(text, "+") || strings.Contains(text, "\n+")
}
