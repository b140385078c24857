package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/host"
)

// op is one call on a host; it gives all that can be seen of the answer.
type op func(h host.Host) string

func answer(value any, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(value)
}

// genPath draws a path of few names, so that the operations meet.
func genPath(t *rapid.T, label string) string {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "a", "b", "..", "."}), 1, 4)
	return "/" + strings.Join(names.Draw(t, label), "/")
}

// genMeta draws owner and mode that any user may set.
func genMeta(t *rapid.T) host.Meta {
	var m host.Meta
	if rapid.Bool().Draw(t, "mode given") {
		mode := rapid.SampledFrom([]fs.FileMode{0o700, 0o755, 0o644 | 0o100, 0o751 | fs.ModeSticky, 0o711 | fs.ModeSetuid}).Draw(t, "mode")
		m.Mode = &mode
	}
	if rapid.Bool().Draw(t, "owner given") {
		uid, gid := os.Geteuid(), os.Getegid()
		if uid == 0 {
			gid = rapid.SampledFrom([]int{0, 7}).Draw(t, "gid")
		}
		m.UID, m.GID = &uid, &gid
	}
	return m
}

// genOp draws a call and describes it.
func genOp(t *rapid.T) (string, op) {
	path := genPath(t, "path")
	kind := rapid.SampledFrom([]string{
		"write", "write", "mkdir", "mkdir", "mkdir", "symlink", "setmeta", "remove", "lstat", "readdir", "readlink", "open",
	}).Draw(t, "op")
	switch kind {
	case "write":
		text, m := rapid.StringOfN(rapid.RuneFrom([]rune("xyz")), 0, 3, -1).Draw(t, "text"), genMeta(t)
		return kind + " " + path, func(h host.Host) string {
			return answer("", h.WriteFile(context.Background(), path, host.Text(text), m))
		}
	case "mkdir":
		m := genMeta(t)
		return kind + " " + path, func(h host.Host) string { return answer("", h.Mkdir(path, m)) }
	case "symlink":
		target := strings.TrimPrefix(genPath(t, "target"), rapid.SampledFrom([]string{"", "/"}).Draw(t, "root"))
		m := genMeta(t)
		return kind + " " + path + " to " + target, func(h host.Host) string {
			return answer("", h.Symlink(target, path, m))
		}
	case "setmeta":
		m := genMeta(t)
		return kind + " " + path, func(h host.Host) string { return answer("", h.SetMeta(path, m)) }
	case "remove":
		return kind + " " + path, func(h host.Host) string { return answer("", h.Remove(path)) }
	case "lstat":
		return kind + " " + path, func(h host.Host) string {
			info, err := h.Lstat(path)
			return answer(describe(info), err)
		}
	case "readdir":
		return kind + " " + path, func(h host.Host) string { return answer(h.ReadDir(path)) }
	case "readlink":
		return kind + " " + path, func(h host.Host) string { return answer(h.ReadLink(path)) }
	}
	return kind + " " + path, func(h host.Host) string { return answer(read(h, path)) }
}

// describe leaves out what is not the same everywhere: times, and the size of
// a directory.
func describe(info host.Info) string {
	if info.Kind == host.Directory {
		info.Size = 0
	}
	return fmt.Sprint(info.Kind, info.Mode, info.UID, info.GID, info.Size)
}

func read(h host.Host, path string) (string, error) {
	f, err := h.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// listing describes all that is below a path.
func listing(h host.Host, path string) string {
	info, err := h.Lstat(path)
	lines := path + ": " + answer(describe(info), err) + "\n"
	switch info.Kind {
	case host.Regular:
		lines += answer(read(h, path)) + "\n"
	case host.Symlink:
		lines += answer(h.ReadLink(path)) + "\n"
	case host.Directory:
		entries, err := h.ReadDir(path)
		if err != nil {
			lines += answer("", err) + "\n"
		}
		for _, e := range entries {
			lines += listing(h, strings.TrimSuffix(path, "/")+"/"+e.Name)
		}
	}
	return lines
}

// seen is all that a program reads at a path, the path's own links followed.
func seen(h host.Host, path string) string {
	text, err := read(h, path)
	return answer(text, err) + "\n" + listing(h, path+"/.")
}

// Any sequence of calls has the same answers and leaves the same tree on every
// host; a shadow leaves its base as it was.
func TestHostsAgree(t *testing.T) {
	parent := t.TempDir()
	number := 0
	newRoot := func(t *rapid.T) *host.Local {
		number++
		dir := filepath.Join(parent, fmt.Sprint(number))
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		l, err := host.NewLocal(host.LocalOptions{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	rapid.Check(t, func(t *rapid.T) {
		memory := host.NewMemory()
		memory.ActAs(os.Geteuid(), os.Getegid())
		if err := memory.SetMeta("/", host.Meta{UID: new(os.Geteuid()), GID: new(os.Getegid())}); err != nil {
			t.Fatal(err)
		}
		slow, below := newRoot(t), newRoot(t)
		slow.Componentwise()
		hosts := map[string]host.Host{"Memory": memory, "root": newRoot(t), "component-wise": slow, "shadowed": below}
		step := func(count int) {
			for range count {
				name, do := genOp(t)
				want := do(memory)
				for other, h := range hosts {
					if h == host.Host(memory) {
						continue
					}
					if got := do(h); got != want {
						t.Fatalf("%s: Memory says %q, %s says %q", name, want, other, got)
					}
				}
			}
		}
		step(rapid.IntRange(0, 20).Draw(t, "before the shadow"))
		before := listing(below, "/")
		shadow := host.NewShadow(below)
		hosts["shadowed"] = shadow
		step(rapid.IntRange(0, 20).Draw(t, "on the shadow"))
		between := listing(shadow, "/")
		hosts["shadowed"] = shadow.Fork()
		step(rapid.IntRange(0, 20).Draw(t, "on the fork"))

		want := listing(memory, "/")
		for name, h := range hosts {
			if got := listing(h, "/"); got != want {
				t.Fatalf("%s holds\n%s\nMemory holds\n%s", name, got, want)
			}
		}
		if got := listing(below, "/"); got != before {
			t.Fatalf("a shadow changed its base from\n%s\nto\n%s", before, got)
		}
		if got := listing(shadow, "/"); got != between {
			t.Fatalf("a fork changed its base from\n%s\nto\n%s", between, got)
		}
		for range 10 {
			path := genPath(t, "changed")
			if !shadow.HasChanged(path) && seen(shadow, path) != seen(below, path) {
				t.Fatalf("%s is said to be unchanged, but was\n%s\nand is\n%s",
					path, seen(below, path), seen(shadow, path))
			}
		}
	})
}
