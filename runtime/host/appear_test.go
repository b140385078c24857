package host_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/runtime/host"
)

// observer tells what the kernel says of the names in a directory.
type observer struct {
	t  *testing.T
	fd int
}

func observe(t *testing.T, dir string) *observer {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB|unix.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	return &observer{t, fd}
}

// events gives what has happened to a name.
func (o *observer) events(name string) (list []string) {
	buf := make([]byte, 64<<10)
	n, err := unix.Read(o.fd, buf)
	if err != nil {
		o.t.Fatal(err)
	}
	words := map[uint32]string{unix.IN_CREATE: "made", unix.IN_MOVED_TO: "moved here", unix.IN_ATTRIB: "changed", unix.IN_MODIFY: "written"}
	for buf = buf[:n]; len(buf) > 0; {
		mask, length := binary.NativeEndian.Uint32(buf[4:]), binary.NativeEndian.Uint32(buf[12:])
		if string(bytes.TrimRight(buf[16:16+length], "\x00")) == name {
			list = append(list, words[mask&^unix.IN_ISDIR])
		}
		buf = buf[16+length:]
	}
	return list
}

// What appears under its name has its owner and mode then, and all of its content: a
// process that is killed leaves nothing that nobody sets right any more.
func TestNothingIsMadeAndThenChanged(t *testing.T) {
	meta := host.Meta{Mode: new(fs.FileMode(0o751 | fs.ModeSetgid)), UID: new(os.Getuid()), GID: new(os.Getgid())}
	dirOf := func(h host.Host, do func(host.Dir) error) error {
		dir, err := host.OpenDir(h, "/")
		if err != nil {
			return err
		}
		return errors.Join(do(dir), dir.Close())
	}
	for name, do := range map[string]func(host.Host) error{
		"file":      func(h host.Host) error { return h.WriteFile(t.Context(), "/x", host.Text("text"), meta) },
		"directory": func(h host.Host) error { return h.Mkdir("/x", meta) },
		"link":      func(h host.Host) error { return h.Symlink("to", "/x", meta) },
		"file in an open directory": func(h host.Host) error {
			return dirOf(h, func(d host.Dir) error { return d.WriteFile(t.Context(), "x", host.Text("text"), meta, false) })
		},
		"fresh file in an open directory": func(h host.Host) error {
			return dirOf(h, func(d host.Dir) error { return d.WriteFile(t.Context(), "x", host.Text("text"), meta, true) })
		},
		"directory in an open directory": func(h host.Host) error {
			return dirOf(h, func(d host.Dir) error { return d.Mkdir("x", meta) })
		},
		"link in an open directory": func(h host.Host) error { return dirOf(h, func(d host.Dir) error { return d.Symlink("to", "x", meta) }) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			h, o := local(t, root), observe(t, root)
			if err := do(h); err != nil {
				t.Fatal(err)
			}
			if got := o.events("x"); !slices.Equal(got, []string{"moved here"}) {
				t.Errorf("it was %q", got)
			}
			if info, err := h.Lstat("/x"); err != nil || info.Kind != host.Symlink && info.Mode != *meta.Mode {
				t.Errorf("%+v, %v", info, err)
			}
			if entries, err := h.ReadDir("/"); err != nil || len(entries) != 1 {
				t.Errorf("there are %v, %v", entries, err)
			}
		})
	}
}

// What stands at a name that is to be new stays, and nothing temporary does.
func TestNothingFreshReplaces(t *testing.T) {
	root := t.TempDir()
	h := local(t, root)
	dir, err := host.OpenDir(h, "/")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := errors.Join(h.Mkdir("/dir", host.Meta{}), h.WriteFile(t.Context(), "/file", host.Text("old"), host.Meta{})); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir", "file"} {
		for what, err := range map[string]error{
			"mkdir": dir.Mkdir(name, host.Meta{}), "mkdir by path": h.Mkdir("/"+name, host.Meta{}),
			"write": dir.WriteFile(t.Context(), name, host.Text("new"), host.Meta{}, true),
		} {
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
	}
	if entries, err := h.ReadDir("/"); err != nil || fmt.Sprint(entries) != "[{dir directory} {file file}]" {
		t.Errorf("there are %v, %v", entries, err)
	}
	if text, err := read(h, "/file"); text != "old" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// A umask, and a parent that gives its group to what is made in it, change nothing of a
// mode that is wanted.
func TestModeWhateverTheUmask(t *testing.T) {
	was := syscall.Umask(0o077)
	defer syscall.Umask(was)
	root := t.TempDir()
	if err := os.Chmod(root, 0o755|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	h := local(t, root)
	for name, want := range map[string]fs.FileMode{"default": 0o755, "shared": 0o775} {
		meta := host.Meta{}
		if name != "default" {
			meta.Mode = &want
		}
		if err := h.Mkdir("/"+name, meta); err != nil {
			t.Fatal(err)
		}
		if info, err := h.Lstat("/" + name); err != nil || info.Mode != want {
			t.Errorf("%s has %v, want %v (%v)", name, info.Mode, want, err)
		}
	}
}

// A directory that a killed run has left under a temporary name is found.
func TestLeftoverDirectory(t *testing.T) {
	h := local(t, t.TempDir()).ForRun("00000001-abcdef")
	if err := h.Mkdir("/"+host.TempName(h), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	here, err := host.Leftovers(h, "/", "00000001-abcdef")
	below, errBelow := host.LeftoversBelow(t.Context(), h, "/", "00000001-abcdef")
	if err != nil || errBelow != nil || len(here) != 1 || len(below) != 1 || !strings.HasPrefix(here[0], "/.tenet-") {
		t.Errorf("%v, %v; %v, %v", here, err, below, errBelow)
	}
}
