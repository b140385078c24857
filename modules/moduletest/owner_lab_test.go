//go:build lab

package moduletest_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
)

// Who has a file open does not write to it any more when it is another one's.
func TestOwnerHandoverByRoot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h, err := host.NewLocal(host.LocalOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"text", strings.Repeat("large", host.InlineLimit/4)} {
		name := root + "/a"
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o640), os.Chown(name, 4711, 4711), unix.Setxattr(name, "user.note", []byte("kept"), 0)); err != nil {
			t.Fatal(err)
		}
		open, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		if err := owner.SetMeta(t.Context(), h, "/a", host.Meta{UID: new(0)}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := open.WriteAt([]byte("evil"), 0); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(name)
		if err != nil || string(now) != text {
			t.Errorf("it holds %.20q, %v", now, err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		st, _ := info.Sys().(*syscall.Stat_t)
		note := make([]byte, 8)
		n, err := unix.Getxattr(name, "user.note", note)
		if st.Uid != 0 || st.Gid != 4711 || info.Mode() != 0o640 || err != nil || string(note[:n]) != "kept" {
			t.Errorf("it has owner %d, group %d, mode %v, note %q, %v", st.Uid, st.Gid, info.Mode(), note[:max(n, 0)], err)
		}
	}
}
