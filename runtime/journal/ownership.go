package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// UnsafeError says why a state folder is not used: others could change in it what this
// account relies on, such as the content that a confirm block puts back.
type UnsafeError struct {
	Path  string // the state folder, or one that it is in
	Cause string
	Cure  string
}

// Error names the folder, the cause and the cure.
func (e *UnsafeError) Error() string { return e.Path + " " + e.Cause + ": " + e.Cure }

// checkOwner refuses a state folder that is open where an account that is not relied on
// owns it or may write to it. An empty one is made private instead: nobody has put
// anything into it.
func (t trust) checkOwner(root *os.Root, dir string) (err error) {
	open, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = Join(err, open.Close()) }()
	info, err := open.Stat()
	if err != nil {
		return err
	}
	if owner := ownerOf(info); !t.isTrusted(owner) {
		return &UnsafeError{dir, fmt.Sprintf("belongs to the user %d, not to %d, who would rely on what is in it", owner, t.own),
			fmt.Sprintf("work as its owner; or, if you trust all that is in it, take it over by chown -R %d", t.own)}
	}
	if others, err := t.mayOthersWrite(open); err != nil || !others {
		return err
	}
	unsafe := &UnsafeError{dir, fmt.Sprintf("may be written by others, its mode is %04o", info.Mode().Perm()),
		"if you trust all that is in it, make it private by chmod 0700"}
	if empty, err := isEmpty(root); err != nil || !empty {
		return Join(err, unsafe)
	}
	if err := root.Chmod(".", 0o700); err != nil {
		return Join(err, unsafe)
	}
	if empty, err := isEmpty(root); err != nil || !empty { // somebody was faster
		return Join(err, unsafe)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func isEmpty(root *os.Root) (bool, error) {
	dir, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// CheckFolder refuses, by an *UnsafeError, a state folder that other accounts may write
// to, own, or put another folder in the place of. One that is not there is looked at as
// far as there is something. Where it is below root, a tree that may be another
// account's, the folders above it are that account's matter; "" or "/" is none.
func CheckFolder(dir, root string) error { return trustFor(dir).check(dir, root) }

func (t trust) check(dir, root string) error {
	var err error
	if handle, cannot := os.OpenRoot(dir); cannot == nil { // else who opens it is told
		err = Join(t.checkOwner(handle, dir), handle.Close())
	}
	if err != nil || root != "" && filepath.Clean(root) != "/" {
		return err
	}
	way := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		way = append(way, real)
	}
	for _, path := range way {
		for path != filepath.Dir(path) {
			path = filepath.Dir(path)
			if err := t.checkParent(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkParent refuses a folder in which others may rename what they do not own. Those of
// a group may: that of an account's own group is usual, and group-writable on some systems.
func (t trust) checkParent(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // nothing can be below it, or who opens it is told
	}
	sticky := info.Mode()&fs.ModeSticky != 0
	if info.Mode().Perm()&0o002 != 0 && !sticky {
		return &UnsafeError{dir, fmt.Sprintf("may be written by everybody, its mode is %04o, so the state folder below it could be exchanged", info.Mode().Perm()),
			"take that right away by chmod o-w, or keep the state elsewhere"}
	}
	if uid := ownerOf(info); t.own == 0 && !t.isTrusted(uid) && !isNobodys(uid) {
		return &UnsafeError{dir, fmt.Sprintf("belongs to the user %d, who could exchange the state folder of root below it", uid),
			"keep the state in a folder below those of root"}
	}
	return nil
}

// overflowUID owns, in a user namespace, what belongs to no account of it.
const overflowUID = 65534

// isNobodys reports whether a folder of that owner belongs to no account that this
// machine or container knows, so to none that is in it. Where the number is mapped, it is
// an account like any other.
func isNobodys(uid int) bool {
	if uid != overflowUID {
		return false
	}
	uidMap, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !isMapped(string(uidMap), uid)
}

// isMapped reports whether a number is one of a user namespace with that map: lines of
// the first number inside, the first outside, and how many they are. What cannot be read
// as such maps everything.
func isMapped(uidMap string, uid int) bool {
	for line := range strings.Lines(uidMap) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err != nil || first <= uid && uid-first < count {
			return true
		}
	}
	return uidMap == ""
}
