package host_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// refusing does something while the kernel says EPERM of a system call, as the filters of
// some containers do.
func refusing(t *testing.T, call uint32, do func()) {
	t.Helper()
	var wrong error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for ever, so that the thread ends with its filter
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if wrong = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); wrong == nil {
			wrong = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
		}
		if wrong == nil {
			do()
		}
	}()
	if <-done; wrong != nil {
		t.Fatal(wrong)
	}
}

// A mode is set also where a container refuses the call for that, since it does not know it.
func TestModeWithoutItsCall(t *testing.T) {
	root := t.TempDir()
	h, name := local(t, root), filepath.Join(root, "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refusing(t, unix.SYS_FCHMODAT2, func() {
		if err := unix.Fchmodat(unix.AT_FDCWD, name, 0o600, unix.AT_SYMLINK_NOFOLLOW); err != unix.EPERM {
			t.Errorf("the call gives %v", err)
		}
		if err := h.SetMeta("/file", host.Meta{Mode: new(fs.FileMode(0o644))}); err != nil {
			t.Error(err)
		}
		if err := h.Mkdir("/made", host.Meta{Mode: new(fs.FileMode(0o750))}); err != nil {
			t.Error(err)
		}
	})
	for name, want := range map[string]fs.FileMode{"file": 0o644, "made": 0o750} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A file is written also where an attribute of the former one cannot be given to it, unless
// that decides about who may do what with it.
func TestAttributeThatCannotBeGiven(t *testing.T) {
	const list = "\x02\x00\x00\x00" + // the owner, a user, the group, the mask and others
		"\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\x39\x30\x00\x00" + "\x04\x00\x04\x00\xff\xff\xff\xff" +
		"\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	for attribute, value := range map[string]string{"user.note": "x", "system.posix_acl_access": list} {
		root := t.TempDir()
		h, name := local(t, root), filepath.Join(root, "file")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(name, attribute, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
		refusing(t, unix.SYS_FSETXATTR, func() {
			err := h.WriteFile(t.Context(), "/file", host.Text("new"), host.Meta{})
			data, readErr := os.ReadFile(name)
			if stays := attribute == "user.note"; readErr != nil || (err == nil) != stays || (string(data) == "new") != stays {
				t.Errorf("%s: %v; the file holds %q, %v", attribute, err, data, readErr)
			}
		})
	}
}
