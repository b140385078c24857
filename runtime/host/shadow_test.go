package host_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// base is a small machine in memory.
func base(t *testing.T) *host.Memory {
	t.Helper()
	m := host.NewMemory()
	for path, text := range map[string]string{
		"/etc/passwd":      "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n",
		"/etc/group":       "root:x:0:\nann:x:1000:\nteam:x:50:ann,bob\n",
		"/etc/nginx/a":     "a",
		"/etc/nginx/sub/b": "b",
	} {
		if err := m.Add(path, text); err != nil {
			t.Fatal(err)
		}
	}
	m.Handle("look", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("seen")}, nil
	})
	return m
}

func write(t *testing.T, h host.Host, path, text string) {
	t.Helper()
	if err := h.WriteFile(t.Context(), path, host.Text(text), host.Meta{}); err != nil {
		t.Fatal(err)
	}
}

func TestShadowRunsNothing(t *testing.T) {
	m := base(t)
	m.Handle("act", func(context.Context, host.Command) (host.Result, error) {
		t.Error("the program runs")
		return host.Result{}, nil
	})
	s := host.NewShadow(m)
	for _, h := range []host.Host{s, s.View(nil), s.View(host.Everything), s.Fork()} {
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{"act"}}); !errors.Is(err, host.ErrUnforeseeable) {
			t.Errorf("error %v", err)
		}
	}
}

func TestShadowQuery(t *testing.T) {
	look := func(h host.Host, reads ...string) error {
		r, err := h.Query(t.Context(), host.Query{Command: host.Command{Argv: []string{"look"}}, Reads: reads})
		if err == nil && string(r.Stdout) != "seen" {
			t.Errorf("output %q", r.Stdout)
		}
		return err
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, h host.Host) error
		reads  string
		hidden bool
	}{
		"nothing":          {func(*testing.T, host.Host) error { return nil }, "/etc/nginx", false},
		"elsewhere":        {func(t *testing.T, h host.Host) error { write(t, h, "/etc/other", ""); return nil }, "/etc/nginx", false},
		"neighbour":        {func(t *testing.T, h host.Host) error { write(t, h, "/etc/nginx/a", ""); return nil }, "/etc/nginx/sub", false},
		"itself":           {func(t *testing.T, h host.Host) error { write(t, h, "/etc/nginx/a", ""); return nil }, "/etc/nginx/a", true},
		"below":            {func(t *testing.T, h host.Host) error { write(t, h, "/etc/nginx/sub/new", ""); return nil }, "/etc", true},
		"removed":          {func(t *testing.T, h host.Host) error { return h.Remove("/etc/nginx/a") }, "/etc/nginx/a", true},
		"removed below":    {func(t *testing.T, h host.Host) error { return h.Remove("/etc/nginx/a") }, "/etc/nginx", true},
		"mode":             {func(t *testing.T, h host.Host) error { return h.SetMeta("/etc/nginx/a", host.Meta{UID: new(7)}) }, "/etc/nginx", true},
		"mode of the way":  {func(t *testing.T, h host.Host) error { return h.SetMeta("/etc", host.Meta{UID: new(7)}) }, "/etc/nginx", false},
		"link on the way":  {func(t *testing.T, h host.Host) error { return h.Symlink("/etc/nginx", "/srv", host.Meta{}) }, "/srv/a", true},
		"made and removed": {func(t *testing.T, h host.Host) error { write(t, h, "/etc/x", ""); return h.Remove("/etc/x") }, "/etc", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := host.NewShadow(base(t))
			if err := c.change(t, s); err != nil {
				t.Fatal(err)
			}
			for _, h := range []host.Host{s, s.Fork()} {
				if err := look(h, c.reads); errors.Is(err, host.ErrUnforeseeable) != c.hidden || err != nil && !c.hidden {
					t.Errorf("error %v", err)
				}
				if err := look(h); err != nil {
					t.Errorf("reading nothing: %v", err)
				}
			}
			if s.HasChanged(c.reads) != c.hidden {
				t.Errorf("Changed(%s) is %v", c.reads, !c.hidden)
			}
			if err := look(s.View(host.Everything)); !errors.Is(err, host.ErrUnforeseeable) {
				t.Errorf("behind the unforeseeable: %v", err)
			}
		})
	}
}

// Behind something unforeseeable, missing directories are implied; a file in
// the way is not.
func TestShadowOpaqueView(t *testing.T) {
	s := host.NewShadow(base(t))
	if err := s.WriteFile(t.Context(), "/new/dir/f", host.Text("x"), host.Meta{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	v := s.View(host.Everything)
	write(t, v, "/new/dir/f", "x")
	if err := errors.Join(v.Mkdir("/other/dir", host.Meta{}), v.Symlink("f", "/third/dir/l", host.Meta{})); err != nil {
		t.Error(err)
	}
	if text, err := read(s, "/new/dir/f"); text != "x" || err != nil {
		t.Errorf("the shadow reads %q, %v", text, err)
	}
	if info, err := s.Lstat("/new/dir"); info.Kind != host.Directory || info.Mode != 0o755 || err != nil {
		t.Errorf("%v, %v", info, err)
	}
	if err := v.WriteFile(t.Context(), "/etc/passwd/f", host.Text(""), host.Meta{}); err == nil {
		t.Error("written below a file")
	}
	if err := v.SetMeta("/none/at/all", host.Meta{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := v.Remove("/gone/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Lstat("/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removal made its directory: %v", err)
	}
}

// A shadow knows the accounts that were written in it, those of the base that
// were not touched, and those that the base knows from elsewhere.
func TestShadowAccounts(t *testing.T) {
	h := directory{base(t)}
	s := host.NewShadow(h)
	lookup := func(h host.Host, names ...string) {
		t.Helper()
		for _, name := range names {
			if u, err := h.User(name); err != nil || u.Name != name {
				t.Errorf("%s: %v, %v", name, u, err)
			}
		}
	}
	lookup(s, "root", "ann", "ldap")
	write(t, s, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\ndeploy:x:1001:50::/srv:/bin/sh\n")
	for _, h := range []host.Host{s, s.Fork(), s.View(host.Everything)} {
		lookup(h, "root", "deploy", "ldap")
		if u, err := h.UserID(1001); u.Name != "deploy" || err != nil {
			t.Errorf("1001: %v, %v", u, err)
		}
		if u, err := h.User("ann"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ann was removed: %v, %v", u, err)
		}
		if g, err := h.Group("team"); g.GID != 50 || len(g.Members) != 2 || err != nil {
			t.Errorf("team: %v, %v", g, err)
		}
	}
	write(t, s, "/etc/group", "team:x:51:\n")
	write(t, s, "/etc/passwd", "later:x:7:7::/:\n")
	lookup(s, "later")
	if g, err := s.GroupID(51); g.Name != "team" || err != nil {
		t.Errorf("51: %v, %v", g, err)
	}
	if _, err := s.GroupID(50); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("50: %v", err)
	}
	if _, err := h.User("deploy"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the base knows deploy: %v", err)
	}
}

// directory is a host that knows one user from elsewhere.
type directory struct{ *host.Memory }

func (d directory) User(name string) (host.User, error) {
	if name == "ldap" {
		return host.User{Name: name, UID: 9000}, nil
	}
	return d.Memory.User(name)
}
