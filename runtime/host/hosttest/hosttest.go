// Package hosttest is the suite that every host passes, so that a module
// cannot tell one from another.
package hosttest

import (
	"errors"
	"io/fs"
	"path"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Open makes a host for one test, and names an empty directory on it.
type Open func(t *testing.T) (h host.Host, dir string)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, group := range []map[string]func(*tester){
		writing(), replacing(), opening(), directories(), symlinks(), meta(), removing(), paths(), rights(),
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				h, dir := open(t)
				test(newTester(t, h, dir))
			})
		}
	}
}

// tester is a host under test, with what a test needs.
type tester struct {
	*testing.T
	host.Host
	dir      string
	uid, gid int // the acting user
	other    int // a group that the acting user may give files to
}

func newTester(t *testing.T, h host.Host, dir string) *tester {
	x := &tester{T: t, Host: h, dir: dir}
	x.uid, x.gid = h.Actor()
	x.other = x.gid
	if x.uid == 0 {
		x.other = 12345
	}
	return x
}

// at is the path of a name in the test's directory.
func (x *tester) at(name string) string { return path.Join(x.dir, name) }

// must ends the test on an error.
func (x *tester) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// fails demands an error about the path that is the wanted one.
func (x *tester) fails(err, want error, path string) {
	x.Helper()
	if !errors.Is(err, want) {
		x.Fatalf("error %v, want %v", err, want)
	}
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		x.Fatalf("error %v is no *fs.PathError", err)
	}
	if e.Path != path {
		x.Errorf("error is about %s, want %s", e.Path, path)
	}
}

// write writes a file of the test's directory.
func (x *tester) write(name, text string) {
	x.Helper()
	x.must(x.WriteFile(x.Context(), x.at(name), host.Text(text), host.Meta{}))
}

func (x *tester) mkdir(name string) {
	x.Helper()
	x.must(x.Mkdir(x.at(name), host.Meta{}))
}

func (x *tester) symlink(target, name string) {
	x.Helper()
	x.must(x.Symlink(target, x.at(name), host.Meta{}))
}

func (x *tester) lstat(name string) host.Info {
	x.Helper()
	info, err := x.Lstat(x.at(name))
	x.must(err)
	return info
}

// holds demands that the path leads to a file with the text.
func (x *tester) holds(name, text string) {
	x.Helper()
	data, err := host.ReadText(x, x.at(name))
	x.must(err)
	if data != text {
		x.Errorf("%s holds %q, want %q", name, data, text)
	}
}

// gone demands that nothing is at the path.
func (x *tester) gone(name string) {
	x.Helper()
	_, err := x.Lstat(x.at(name))
	x.fails(err, fs.ErrNotExist, x.at(name))
}

// names demands that a directory holds exactly these, in this order.
func (x *tester) names(dir string, want ...host.Entry) {
	x.Helper()
	got, err := x.ReadDir(x.at(dir))
	x.must(err)
	if len(got) != len(want) {
		x.Fatalf("%s holds %v, want %v", dir, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			x.Fatalf("%s holds %v, want %v", dir, got, want)
		}
	}
}

// meta demands kind, mode and owner.
func (x *tester) meta(name string, kind host.Kind, mode fs.FileMode, uid, gid int) {
	x.Helper()
	got := x.lstat(name)
	if got.Kind != kind || got.Mode != mode || got.UID != uid || got.GID != gid {
		x.Errorf("%s is a %s %v of %d:%d, want a %s %v of %d:%d",
			name, got.Kind, got.Mode, got.UID, got.GID, kind, mode, uid, gid)
	}
}
