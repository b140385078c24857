//go:build lab

package runtime_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A file system that is really mounted below, and one that is the same device seen by
// another path, stay as they are, whatever part walks there; plan and apply tell it.
func TestMountedBelowByRoot(t *testing.T) {
	mounts := map[string]func(source, at string) error{
		"tmpfs": func(_, at string) error { return unix.Mount("tenet-test", at, "tmpfs", 0, "size=1m,mode=0755") },
		"bind":  func(source, at string) error { return unix.Mount(source, at, "", unix.MS_BIND, "") },
	}
	parts := map[string]struct{ before, part string }{
		"owner": {part: "directory \"/srv/app\" {\n owner = \"deploy\"\n group = \"4711\"\n recurse = true"},
	}
	for name, walker := range walkers {
		parts[name] = walker
	}
	for name, walker := range parts {
		for kind, mount := range mounts {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := newSwapped(t)
				folder, err := journal.Open(filepath.Join(s.dir, "state"))
				if err != nil {
					t.Fatal(err)
				}
				if walker.before != "" {
					if err := os.RemoveAll(s.dir + "/srv/app"); err != nil {
						t.Fatal(err)
					}
					first := swappedFiles(t, shop+walker.before)
					s.apply(folder, compileFiles(t, modules.Standard(), first).Run, first, func(int) {})
				}
				at := s.dir + "/srv/app/sub/deep"
				if err := mount(s.dir+"/outside", at); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
						t.Error(err)
					}
				})
				// As tenet has made it, where it has made something there.
				if err := errors.Join(os.WriteFile(at+"/secret", []byte("new"), 0o644), os.WriteFile(at+"/mine", []byte("root's"), 0o600)); err != nil {
					t.Fatal(err)
				}
				s.keepsMount(folder, walker.part, at)
			})
		}
	}
}

// keepsMount plans and applies a part, and looks at what is mounted.
func (s *swapped) keepsMount(folder *journal.Folder, part, at string) {
	s.t.Helper()
	site := shop
	if part != "" {
		site += part + "\n}\n"
	}
	files := swappedFiles(s.t, site)
	run := compileFiles(s.t, modules.Standard(), files).Run
	run.Prune = true
	h, err := host.NewLocal(host.LocalOptions{Root: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	managed, err := folder.Managed()
	if err != nil {
		s.t.Fatal(err)
	}
	record, err := folder.Start(s.t.Context(), journal.Meta{Run: run})
	if err != nil {
		s.t.Fatal(err)
	}
	before, outside := describeTree(s.t, at), s.describeOutside()
	planned := carry(s.t, runtime.Plan, run, runtime.Options{Host: h, Site: files, Managed: managed})
	applied := carry(s.t, runtime.Apply, run, runtime.Options{Host: h, Site: files, Journal: record})
	if err := record.Finish(journal.End{State: journal.Done}); err != nil {
		s.t.Error(err)
	}
	for what, out := range map[string]outcome{"plan": planned, "apply": applied} {
		if said := mountMessages(out); !strings.Contains(said, "/srv/app/sub/deep") {
			s.t.Errorf("the %s says of the mount: %q", what, said)
		}
	}
	if planned.Failed != applied.Failed {
		s.t.Errorf("the plan failed: %t, the apply: %t", planned.Failed, applied.Failed)
	}
	if after := describeTree(s.t, at); after != before {
		s.t.Errorf("what is mounted is\n%s, and was\n%s", after, before)
	}
	if after := s.describeOutside(); after != outside {
		s.t.Errorf("outside is\n%s, and was\n%s", after, outside)
	}
}

// mountMessages are the notes and errors of a run that say that something is mounted.
func mountMessages(out outcome) string {
	var list []string
	for _, ev := range out.events {
		text := ""
		switch {
		case ev.Error != nil:
			text = ev.Error.Message
		case ev.Type == states.EventSaid:
			text = ev.Reason
		}
		if strings.Contains(text, host.ErrMount.Error()) {
			list = append(list, text)
		}
	}
	return strings.Join(list, "\n")
}
