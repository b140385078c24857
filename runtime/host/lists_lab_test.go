//go:build lab

package host_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Whom another account has let in does not get in when a file is not that account's any more,
// on whatever way it becomes another's.
func TestListOfFormerOwnerByRoot(t *testing.T) {
	in := func(act func(host.Dir, host.Meta) error) func(*host.Local, host.Meta) error {
		return func(l *host.Local, m host.Meta) error {
			d, err := l.OpenDir("/")
			if err != nil {
				return err
			}
			defer d.Close()
			return act(d, m)
		}
	}
	ways := map[string]func(*host.Local, host.Meta) error{
		"owner":           func(l *host.Local, m host.Meta) error { return l.SetMeta("/x", m) },
		"owner, held":     in(func(d host.Dir, m host.Meta) error { return d.SetMeta("x", m) }),
		"directory":       func(l *host.Local, m host.Meta) error { return l.SetMeta("/x", m) },
		"directory, held": in(func(d host.Dir, m host.Meta) error { return d.SetMeta("x", m) }),
		"content":         func(l *host.Local, m host.Meta) error { return l.WriteFile(t.Context(), "/x", host.Text("new"), m) },
		"content, held":   in(func(d host.Dir, m host.Meta) error { return d.WriteFile(t.Context(), "x", host.Text("new"), m, false) }),
	}
	for name, act := range ways {
		for _, c := range []struct {
			from, to int
			mode     *fs.FileMode
			stays    bool
			want     fs.FileMode
		}{
			{4711, 0, nil, false, 0o750}, {4711, 0, new(fs.FileMode(0o640)), false, 0o640}, {4711, 4712, nil, false, 0o750},
			{4711, 4711, nil, true, 0o770}, {0, 4711, nil, true, 0o770}, {0, 0, new(fs.FileMode(0o640)), true, 0o640},
		} {
			root := t.TempDir()
			at, isDir := filepath.Join(root, "x"), strings.HasPrefix(name, "directory")
			listed(t, at, isDir)
			if err := os.Chown(at, c.from, c.from); err != nil {
				t.Fatal(err)
			}
			l := local(t, root)
			if err := act(l, host.Meta{UID: &c.to, Mode: c.mode}); err != nil {
				t.Fatal(err)
			}
			info, err := l.Lstat("/x")
			if err != nil || info.Mode != c.want || info.UID != c.to {
				t.Errorf("%s, %d → %d: %+v, %v, want mode %v", name, c.from, c.to, info, err, c.want)
			}
			if got := hasList(t, at, accessList); got != c.stays {
				t.Errorf("%s, %d → %d: it has a list %t", name, c.from, c.to, got)
			}
			if isDir && hasList(t, at, defaultList) != c.stays {
				t.Errorf("%s, %d → %d: it has a default list %t", name, c.from, c.to, !c.stays)
			}
		}
	}
}
