//go:build lab

package host_test

import (
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// A file's capabilities stay with the program that they were given to, and go with it, or with
// its owner or group.
func TestCapabilityByRoot(t *testing.T) {
	root := t.TempDir()
	h, name := local(t, root), filepath.Join(root, "program")
	netRaw, err := hex.DecodeString("0100000200200000000000000000000000000000") // cap_net_raw=ep
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		meta  host.Meta
		stays bool
	}{
		{"one", host.Meta{}, true}, {"one", host.Meta{UID: new(0), GID: new(0)}, true}, {"two", host.Meta{}, false},
		{"two", host.Meta{UID: new(4711)}, false}, {"two", host.Meta{GID: new(4711)}, false},
	} {
		if err := unix.Setxattr(name, "security.capability", netRaw, 0); err != nil {
			t.Fatal(err)
		}
		if err := h.WriteFile(t.Context(), "/program", host.Text(c.text), c.meta); err != nil {
			t.Fatal(err)
		}
		n, err := unix.Getxattr(name, "security.capability", make([]byte, 64))
		if stays := err == nil && n == len(netRaw); stays != c.stays {
			t.Errorf("written %q: it has %d bytes of capabilities (%v)", c.text, n, err)
		}
	}
}

// To give a file the owner that it has, and another mode, leaves its capabilities.
func TestSameOwnerKeepsCapabilityByRoot(t *testing.T) {
	root := t.TempDir()
	h, name := local(t, root), filepath.Join(root, "program")
	netRaw, err := hex.DecodeString("0100000200200000000000000000000000000000") // cap_net_raw=ep
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(name, "security.capability", netRaw, 0); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []int{0, 4711} {
		if err := h.SetMeta("/program", host.Meta{UID: &uid, GID: new(0), Mode: new(fs.FileMode(0o700))}); err != nil {
			t.Fatal(err)
		}
		n, err := unix.Getxattr(name, "security.capability", make([]byte, 64))
		if stays := err == nil && n == len(netRaw); stays != (uid == 0) {
			t.Errorf("owner %d: it has %d bytes of capabilities (%v)", uid, n, err)
		}
	}
}
