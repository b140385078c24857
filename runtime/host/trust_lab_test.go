//go:build lab

package host_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// An account that swaps its folder for a link again and again, while root works in it,
// gets nothing changed, read or removed elsewhere: by whatever way the kernel offers.
func TestLinksOfOthersByRoot(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "tenet-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	outside, theirs := filepath.Join(dir, "outside"), filepath.Join(dir, "theirs")
	const nobody = 65534
	must(os.Mkdir(outside, 0o755), os.WriteFile(outside+"/x", []byte("root's"), 0o600), os.Mkdir(theirs, 0o755),
		os.Mkdir(theirs+"/conf", 0o755), os.WriteFile(theirs+"/conf/x", []byte("theirs"), 0o644),
		os.Chown(theirs, nobody, nobody), os.Chown(theirs+"/conf", nobody, nobody), os.Chown(theirs+"/conf/x", nobody, nobody))
	swapper := exec.Command("sh", "-c", `while :; do mv conf real; ln -s ../outside conf; rm conf; mv real conf; done`)
	swapper.Dir = theirs
	swapper.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Setpgid: true}
	must(swapper.Start())
	defer func() {
		_ = syscall.Kill(-swapper.Process.Pid, syscall.SIGKILL)
		_ = swapper.Wait()
	}()
	slow := local(t, dir)
	slow.Componentwise()
	refused, done := 0, 0
	in := func(h *host.Local, root string) {
		at := root + "/theirs/conf"
		for range 10_000 {
			_ = h.SetMeta(at+"/x", host.Meta{UID: new(nobody), Mode: new(fs.FileMode(0o644))})
			switch err := h.WriteFile(t.Context(), at+"/new", host.Text("x"), host.Meta{}); {
			case host.IsLink(err):
				refused++
			case err == nil:
				done++
			}
			_ = h.Remove(at + "/new")
			if d, err := h.OpenDir(at); err == nil {
				_ = d.SetMeta("x", host.Meta{Mode: new(fs.FileMode(0o604))})
				_ = d.Close()
			}
			if f, err := h.Open(at + "/x"); err == nil {
				text := make([]byte, 6)
				if n, _ := f.Read(text); string(text[:n]) == "root's" {
					t.Fatal("a file of root's was read")
				}
				must(f.Close())
			}
		}
	}
	in(local(t, ""), dir)
	in(local(t, dir), "")
	in(slow, "")
	if refused == 0 || done == 0 {
		t.Errorf("%d times it was refused, %d times done: nobody has swapped it", refused, done)
	}
	info, err := os.Stat(outside + "/x")
	must(err)
	list, err := os.ReadDir(outside)
	must(err)
	if info.Mode().Perm() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != 0 || len(list) != 1 {
		t.Errorf("outside there is %v, with %v", list, info.Mode())
	}
}
