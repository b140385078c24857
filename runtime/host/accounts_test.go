package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

func TestParsePasswd(t *testing.T) {
	got := host.ParsePasswd(strings.Join([]string{
		"root:x:0:0:root:/root:/bin/bash", "# comment:x:1:1:::", "+nis::::::", "", "short:x:1:1",
		"bad:x:one:1:::", "negative:x:-1:1:::", ":x:1:1:::", "ö k:x:4294967295:2:Ö,,:/home/ö:", "-x:x:5:5:::", "last:x:6:7:::",
	}, "\n"))
	want := []host.User{
		{Name: "root", Comment: "root", Home: "/root", Shell: "/bin/bash"},
		{Name: "ö k", UID: 4294967295, GID: 2, Comment: "Ö,,", Home: "/home/ö"},
		{Name: "last", UID: 6, GID: 7},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestParseGroup(t *testing.T) {
	got := host.ParseGroup("root:x:0:\n#c:x:1:\nteam:x:50:ann,,bob\nshort:x:1\nbad:x::a\n")
	want := []host.Group{{Name: "root"}, {Name: "team", GID: 50, Members: []string{"ann", "bob"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// A line that is parsed is one that says the same when it is written again.
func FuzzParseAccounts(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/bash\nteam:x:50:ann,bob\n")
	f.Add("+::::::\n#\n:::\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, u := range host.ParsePasswd(text) {
			line := fmt.Sprintf("%s:x:%d:%d:%s:%s:%s\n", u.Name, u.UID, u.GID, u.Comment, u.Home, u.Shell)
			again := host.ParsePasswd(line)
			if len(again) != 1 || again[0] != u {
				t.Errorf("%+v became %+v", u, again)
			}
		}
		for _, g := range host.ParseGroup(text) {
			again := host.ParseGroup(fmt.Sprintf("%s:x:%d:%s\n", g.Name, g.GID, strings.Join(g.Members, ",")))
			if len(again) != 1 || !reflect.DeepEqual(again[0], g) {
				t.Errorf("%+v became %+v", g, again)
			}
		}
	})
}

// Accounts below a root are those of its own files, as they are now.
func TestRootAccounts(t *testing.T) {
	dir := t.TempDir()
	l := local(t, dir)
	if _, err := l.User("root"); !errors.Is(err, fs.ErrNotExist) || err.Error() != `there is no user "root"` {
		t.Errorf("without a file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Not through the host: if it left its root, the machine's file would be lost.
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, uid := range []int{1234567, 1234568} {
		put("passwd", fmt.Sprintf("only:x:%d:5::/:\nonly:x:1:1:::\n", uid))
		if u, err := l.User("only"); u.UID != uid || err != nil {
			t.Errorf("%v, %v", u, err)
		}
		if u, err := l.UserID(uid); u.Name != "only" || err != nil {
			t.Errorf("%v, %v", u, err)
		}
	}
	if _, err := l.UserID(0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the machine's own root: %v", err)
	}
	put("group", "g:x:77:only\n")
	if g, err := l.GroupID(77); g.Name != "g" || err != nil {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := l.Group("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A name that no service knows is missing; one of digits is no number.
func TestLocalAccounts(t *testing.T) {
	l := local(t, "")
	for _, name := range []string{"no-such-account", "-x", "0", "", "--help"} {
		if u, err := l.User(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("user %q: %v, %v", name, u, err)
		}
		if g, err := l.Group(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("group %q: %v, %v", name, g, err)
		}
	}
}
