package moduletest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/home"
	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/runtime/host"
)

// newHome is a real directory with a user's home, of the user who tests.
func newHome(t *testing.T) host.Host {
	t.Helper()
	h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := h.Actor()
	for _, dir := range []string{"/etc", "/home", "/home/alice", "/other"} {
		must(t, h.Mkdir(dir, host.Meta{}))
	}
	passwd := fmt.Sprintf("alice:x:%d:%d::/home/alice:/bin/sh\nnone:x:7:7:::/bin/sh\nall:x:8:8::/:/bin/sh\n", uid, gid)
	must(t, h.WriteFile(t.Context(), "/etc/passwd", host.Text(passwd), host.Meta{}))
	return h
}

// A link that comes between two looks leads nowhere, whatever comes next.
func TestHomeSwappedForALink(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"save", "make", "load", "remove"} {
		h := newHome(t)
		must(t, h.WriteFile(t.Context(), "/other/keys", host.Text("theirs\n"), host.Meta{}))
		if act != "make" {
			must(t, h.Mkdir("/home/alice/.ssh", host.Meta{}))
		}
		f, err := home.Open(h, "alice", ".ssh")
		must(t, err)
		if act != "make" {
			must(t, h.Remove("/home/alice/.ssh"))
		}
		must(t, h.Symlink("/other", "/home/alice/.ssh", host.Meta{}))
		switch act {
		case "load":
			_, _, _, err = f.Load("keys")
		case "remove":
			err = f.Remove("keys")
		default:
			err = f.Save(t.Context(), "keys", lines.Parse("mine\n"))
		}
		if err == nil || !strings.Contains(err.Error(), "a symbolic link is not followed") {
			t.Errorf("%s: %v", act, err)
		}
		if text, err := lines.Load(h, "/other/keys"); err != nil || text.String() != "theirs\n" {
			t.Errorf("%s: the other file holds %q, %v", act, text, err)
		}
		if entries, err := h.ReadDir("/other"); err != nil || len(entries) != 1 {
			t.Errorf("%s: there are %v, %v", act, entries, err)
		}
	}
}

func TestNoHome(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for user, want := range map[string]string{"none": `has no home directory ("")`, "all": `has no home directory ("/")`, "nobody-here": "no user named"} {
		if _, err := home.Open(h, user, ".ssh"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", user, err)
		}
	}
}
