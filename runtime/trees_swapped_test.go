package runtime_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/become"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// walkers are parts that work in all that is below /srv/app, with what was applied before:
// all of them have to do with /srv/app/sub and what is in it.
var walkers = map[string]struct{ before, part string }{
	"recurse": {part: `directory "/srv/app" {
 mode = "0711"
 recurse = true
 file_mode = "0640"`},
	"purge": {part: `directory "/srv/app" {
 purge = true`},
	"force": {part: `directory "/srv/app" {
 ensure = "absent"
 force = true`},
	"absent": {part: `absent "/srv/app" {
 force = true`},
	"tree": {part: `tree "/srv/app" {
 source = "www"
 purge = true
 file_mode = "0644"
 dir_mode = "0755"`},
	"tree that goes": {before: "tree \"/srv/app\" {\n source = \"www\"\n}\n", part: `tree "/srv/app" {
 ensure = "absent"
 source = "www"`},
	"archive": {part: `archive "/srv/app" {
 source = "app.tar"
 purge = true`},
	"prune":         {before: "tree \"/srv/app\" {\n source = \"www\"\n}\n"},
	"prune archive": {before: "archive \"/srv/app\" {\n source = \"app.tar\"\n}\n"},
}

// around are the ways in which a part is carried out; %s is the part.
var around = map[string]string{
	"alone":              "%s\n}\n",
	"become":             "%s\nbecome = \"deploy\"\n}\n",
	"confirm":            "block \"b\" {\nconfirm {\ncommand = [\"true\"]\ntimeout = \"5s\"\n}\n%s\n}\n}\n",
	"confirm and become": "block \"b\" {\nconfirm {\ncommand = [\"true\"]\ntimeout = \"5s\"\n}\n%s\nbecome = \"deploy\"\n}\n}\n",
	"put back":           "block \"b\" {\nconfirm {\ncommand = [\"false\"]\ntimeout = \"1ms\"\n}\n%s\n}\n}\n",
	"rescue":             "block \"b\" {\nassert \"a\" {\nthat = false\n}\nrescue {\n%s\n}\n}\n}\n",
}

// swapped is a machine on which /srv/app/sub is swapped for a link to /outside.
type swapped struct {
	t   *testing.T
	dir string
}

func newSwapped(t *testing.T) *swapped {
	s := &swapped{t, t.TempDir()}
	for name, text := range map[string]string{
		"/srv/app/sub/secret": "theirs", "/srv/app/sub/deep/secret": "theirs", "/srv/app/sub/extra": "theirs", "/srv/app/top": "theirs",
		"/outside/secret": "root's", "/outside/deep/secret": "root's", "/outside/extra": "root's", "/outside/key": "root's",
		"/etc/passwd": "root:x:0:0::/root:/bin/sh\ndeploy:x:4711:4711::/srv:/bin/sh\n", "/etc/group": "root:x:0:\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(s.dir+name), 0o755), os.WriteFile(s.dir+name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// swap puts the link in place of the folder, or back.
func (s *swapped) swap() {
	sub, moved := s.dir+"/srv/app/sub", s.dir+"/srv/moved"
	if info, err := os.Lstat(sub); err == nil && info.Mode().Type() == fs.ModeSymlink {
		_ = errors.Join(os.Remove(sub), os.Rename(moved, sub)) // what is gone cannot be swapped
		return
	}
	if os.Rename(sub, moved) == nil {
		_ = os.Symlink("../../outside", sub)
	}
}

// describeOutside describes what nobody may touch.
func (s *swapped) describeOutside() string { return describeTree(s.t, s.dir+"/outside") }

// describeTree gives names, modes, owners and contents of a directory and all below it.
func describeTree(t *testing.T, dir string) string {
	var list strings.Builder
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		text := []byte(nil)
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		st, _ := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&list, strings.TrimPrefix(name, dir), info.Mode(), st.Uid, st.Gid, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func swappedFiles(t *testing.T, site string) fstest.MapFS {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	files := www("sub/secret=new", "sub/deep/secret=new", "sub/made=new", "top=new")
	for _, name := range []string{"sub/secret", "sub/deep/secret", "sub/made", "top"} {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 3})
		if _, werr := w.Write([]byte("new")); err != nil || werr != nil {
			t.Fatal(err, werr)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files["app.tar"] = &fstest.MapFile{Data: packed.Bytes(), Mode: 0o644}
	files["site.hcl"] = &fstest.MapFile{Data: []byte(site), Mode: 0o644}
	return files
}

// apply applies a site while somebody meddles, and gives how many operations it took.
func (s *swapped) apply(folder *journal.Folder, run *states.StateRun, files fs.FS, act func(int)) int {
	l, err := host.NewLocal(host.LocalOptions{Root: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	m := &meddling{act: act}
	h := &meddled{l, m}
	o := runtime.Options{Host: h, Site: files, Registry: modules.Standard(),
		Become: func(context.Context, string) (host.Host, error) { return servedHost(s.t, h), nil }}
	if o.Journal, err = folder.Start(s.t.Context(), journal.Meta{Run: run}); err != nil {
		s.t.Fatal(err)
	}
	_, err = runtime.Apply(s.t.Context(), run, o)
	if err = errors.Join(err, o.Journal.Finish(journal.End{State: journal.Done})); err != nil {
		s.t.Fatal(err)
	}
	return m.done
}

// servedHost is the host as another process serves it to who becomes another account.
func servedHost(t *testing.T, h host.Host) host.Host {
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- become.Serve(context.Background(), theirs, theirs, h) }()
	t.Cleanup(func() {
		if err := errors.Join(ours.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	m, err := become.Connect(ours, ours, h)
	if err != nil {
		t.Error(err)
	}
	return m
}

// Whenever a folder is swapped for a link, and back, nothing outside is read into it,
// changed or removed: by none of the parts that walk, and in none of the ways to run them.
// Without -all each pair of them is tried at some operations, others for each pair.
func TestSwappedFolders(t *testing.T) {
	nothing := func(int) {}
	for i, name := range slices.Sorted(maps.Keys(walkers)) {
		for k, way := range slices.Sorted(maps.Keys(around)) {
			walker, frame, nth := walkers[name], around[way], 3*i+k
			if walker.part == "" && way != "alone" {
				continue
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				site := shop
				if walker.part != "" {
					site += fmt.Sprintf(frame, walker.part)
				}
				files := swappedFiles(t, site)
				run := compileFiles(t, modules.Standard(), files).Run
				run.Prune = true
				changed := false
				round := func(act func(*swapped) func(int)) int {
					s := newSwapped(t)
					folder, err := journal.OpenWith(filepath.Join(s.dir, "state"), journal.Options{Volatile: true})
					if err != nil {
						t.Fatal(err)
					}
					if walker.before != "" {
						if err := os.RemoveAll(s.dir + "/srv/app"); err != nil {
							t.Fatal(err)
						}
						first := swappedFiles(t, shop+walker.before)
						s.apply(folder, compileFiles(t, modules.Standard(), first).Run, first, nothing)
					}
					before, inside := s.describeOutside(), s.describeInside()
					count := s.apply(folder, run, files, act(s))
					if after := s.describeOutside(); after != before {
						t.Fatalf("outside is\n%s, and was\n%s", after, before)
					}
					changed = changed || s.describeInside() != inside
					return count
				}
				total := round(func(*swapped) func(int) { return nothing })
				if !changed && way != "put back" {
					t.Fatal("the part does nothing")
				}
				stride := 1 + total/6
				if *all {
					stride = 1
				}
				for at := 1 + nth%stride; at <= total; at += stride {
					round(func(s *swapped) func(int) { // once
						return func(n int) {
							if n == at {
								s.swap()
							}
						}
					})
					round(func(s *swapped) func(int) { // and back, again and again
						return func(n int) {
							if n >= at && (n-at)%3 != 2 {
								s.swap()
							}
						}
					})
				}
			})
		}
	}
}

// describeInside describes what the part works on.
func (s *swapped) describeInside() string {
	var list strings.Builder
	_ = filepath.WalkDir(s.dir+"/srv/app", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone
		}
		info, err := os.Lstat(name)
		if err == nil {
			fmt.Fprintln(&list, name, info.Mode(), info.Size())
		}
		return nil
	})
	return list.String()
}
