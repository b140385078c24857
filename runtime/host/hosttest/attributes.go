package hosttest

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// list makes an access control list in the kernel's form: what owner, the user 12345, the
// owning group, the mask and others may do.
func list(owner, named, group, mask, other uint16) []byte {
	const nobody = 1<<32 - 1
	data := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, owner, nobody}, {2, named, 12345}, {4, group, nobody}, {0x10, mask, nobody}, {0x20, other, nobody}} {
		data = binary.LittleEndian.AppendUint16(data, e.tag)
		data = binary.LittleEndian.AppendUint16(data, e.perm)
		data = binary.LittleEndian.AppendUint32(data, e.id)
	}
	return data
}

// Attributes is the part of the suite about what a file of this machine has beside content,
// owner and mode. open names an empty directory on the host, and as this process has it.
func Attributes(t *testing.T, open func(t *testing.T) (h host.Host, dir, here string)) {
	t.Run("replaced file keeps them", func(t *testing.T) {
		for way, write := range ways() {
			t.Run(way, func(t *testing.T) { keepsAttributes(t, open, write) })
		}
	})
	t.Run("directory's list is not given to what had none", func(t *testing.T) {
		h, dir, here := open(t)
		real := filepath.Join(here, "x")
		must(t, os.WriteFile(real, []byte("old"), 0o640), os.Chmod(real, 0o640),
			unix.Setxattr(here, defaultList, list(7, 7, 5, 7, 0), 0))
		must(t, h.WriteFile(t.Context(), path.Join(dir, "x"), host.Text("new"), host.Meta{}))
		if got := attribute(t, real, accessList); got != "" {
			t.Errorf("it has the list %x", got)
		}
		if info, err := h.Lstat(path.Join(dir, "x")); err != nil || info.Mode != 0o640 {
			t.Errorf("%v, %v", info.Mode, err)
		}
	})
	t.Run("copy", func(t *testing.T) {
		h, dir, here := open(t)
		real := filepath.Join(here, "x")
		acl := list(6, 6, 0, 6, 0)
		must(t, os.WriteFile(real, []byte("old"), 0o600), unix.Setxattr(real, accessList, acl, 0))
		info, err := h.Lstat(path.Join(dir, "x"))
		must(t, err, h.WriteFile(t.Context(), path.Join(dir, "y"), host.Text("old"), host.Meta{Mode: &info.Mode, Like: "x"}))
		if got := attribute(t, filepath.Join(here, "y"), accessList); got != string(acl) {
			t.Errorf("the copy has the list %x, want %x", got, acl)
		}
	})
}

// ways are the ways to replace the file x.
func ways() map[string]func(*testing.T, host.Host, string, host.Meta) error {
	text := host.Text("new")
	in := func(t *testing.T, h host.Host, dir string, m host.Meta) error {
		d, err := h.OpenDir(dir)
		if err != nil {
			return err
		}
		return errors.Join(d.WriteFile(t.Context(), "x", text, m, false), d.Close())
	}
	by := func(t *testing.T, h host.Host, dir string, m host.Meta) error {
		return h.WriteFile(t.Context(), path.Join(dir, "x"), text, m)
	}
	return map[string]func(*testing.T, host.Host, string, host.Meta) error{
		"by path": by, "in an open directory": in,
		"without links": func(t *testing.T, h host.Host, dir string, m host.Meta) error { return by(t, h.NoFollow(), dir, m) },
		"watched": func(t *testing.T, h host.Host, dir string, m host.Meta) error {
			return by(t, host.Watched(h, host.Watcher{Change: func(host.Place) error { return nil }}), dir, m)
		},
	}
}

func keepsAttributes(t *testing.T, open func(t *testing.T) (host.Host, string, string), write func(*testing.T, host.Host, string, host.Meta) error) {
	for _, wants := range []fs.FileMode{0, 0o664, 0o600} { // 0: as it is
		h, dir, here := open(t)
		real := filepath.Join(here, "x")
		kept := map[string]string{accessList: string(list(6, 6, 0, 6, 0)), "user.note": "a note"}
		if os.Geteuid() == 0 {
			kept["trusted.note"], kept["security.note"] = "trusted", "a label"
		}
		must(t, os.WriteFile(real, []byte("old"), 0o600))
		for name, value := range kept {
			must(t, unix.Setxattr(real, name, []byte(value), 0))
		}
		meta, mode := host.Meta{}, fs.FileMode(0o660)
		if wants != 0 { // the bits of the group are the mask, and what its owner may do stays
			meta.Mode, mode = &wants, wants
			kept[accessList] = string(list(6, 6, 0, uint16(wants>>3&7), uint16(wants&7)))
		}
		must(t, write(t, h, dir, meta))
		for name, value := range kept {
			if got := attribute(t, real, name); got != value {
				t.Errorf("mode %v: %s is %q, want %q", wants, name, got, value)
			}
		}
		if data, err := os.ReadFile(real); err != nil || string(data) != "new" {
			t.Errorf("it holds %q, %v", data, err)
		}
		if info, err := h.Lstat(path.Join(dir, "x")); err != nil || info.Mode != mode {
			t.Errorf("it has %v, want %v (%v)", info.Mode, mode, err)
		}
	}
}

// Holes copies sparse files, as a backup does: what is a hole stays one, where no other
// process is between the host and its files.
func Holes(t *testing.T, open func(t *testing.T) (host.Host, string, string)) {
	h, dir, here := open(t)
	const size = 8 << 20
	for name, writes := range map[string]map[int64]string{
		"within": {0: "begin", 2 << 20: strings.Repeat("data", 5000), size - 3: "end"}, "at the end": {5: "begin"}, "nothing else": {},
	} {
		f, err := os.Create(filepath.Join(here, "from"))
		must(t, err, f.Truncate(size))
		for at, text := range writes {
			_, err := f.WriteAt([]byte(text), at)
			must(t, err)
		}
		must(t, f.Close())
		from := path.Join(dir, "from")
		info, err := h.Lstat(from)
		must(t, err)
		c, err := host.ReadContent(t.Context(), h, from, info)
		must(t, err, h.WriteFile(t.Context(), path.Join(dir, "to"), c, host.Meta{}))
		info, err = h.Lstat(path.Join(dir, "to"))
		must(t, err)
		if again, err := host.ReadContent(t.Context(), h, path.Join(dir, "to"), info); err != nil || !again.Equal(c) {
			t.Errorf("%s: the copy holds something else (%v)", name, err)
		}
		var st syscall.Stat_t
		must(t, syscall.Stat(filepath.Join(here, "to"), &st))
		if st.Size != size || st.Blocks*512 > 1<<20 {
			t.Errorf("%s: the copy has %d bytes in %d", name, st.Size, st.Blocks*512)
		}
		must(t, os.Remove(filepath.Join(here, "to")), os.Remove(filepath.Join(here, "from")))
	}
}

func attribute(t *testing.T, name, attribute string) string {
	t.Helper()
	buf := make([]byte, 1<<12)
	n, err := unix.Getxattr(name, attribute, buf)
	if err != nil && err != unix.ENODATA {
		t.Fatal(err)
	}
	return string(buf[:max(n, 0)])
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
