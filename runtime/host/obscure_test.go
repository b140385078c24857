package host_test

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Below a mount that is planned nothing is known, and beside it everything.
func TestObscure(t *testing.T) {
	m := host.NewMemory()
	for _, dir := range []string{"/srv", "/srv/data", "/srv/data/old", "/srv/other"} {
		if err := m.Mkdir(dir, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	shadow := host.NewShadow(m)
	if err := host.Obscure(shadow.View(host.Everything), "/srv/data"); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]host.Host{"shadow": shadow, "fork": shadow.Fork(), "opaque": shadow.View(host.Everything)} {
		_, lstat := h.Lstat("/srv/data")
		_, below := h.Lstat("/srv/data/old")
		_, list := h.ReadDir("/srv/data")
		_, open := h.Open("/srv/data/new/file")
		for what, err := range map[string]error{
			"lstat": lstat, "lstat below": below, "readdir": list, "open": open,
			"write":  h.WriteFile(t.Context(), "/srv/data/x", host.Text("x"), host.Meta{}),
			"mkdir":  h.Mkdir("/srv/data/x/y", host.Meta{}),
			"chown":  h.SetMeta("/srv/data", host.Meta{UID: new(1)}),
			"remove": h.Remove("/srv/data"),
		} {
			if !errors.Is(err, host.ErrUnforeseeable) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if list, err := h.ReadDir("/srv"); err != nil || len(list) != 2 {
			t.Errorf("%s: beside it: %v, %v", name, list, err)
		}
	}
	if !shadow.HasChanged("/srv/data/old") || shadow.HasChanged("/srv/other") {
		t.Error("what is below counts as unchanged, or what is beside it as changed")
	}
	if _, err := m.Lstat("/srv/data/old"); err != nil {
		t.Errorf("the base has changed: %v", err)
	}
	if err := host.Obscure(shadow, "/none"); err == nil {
		t.Error("a path where nothing is")
	}
	if err := host.Obscure(m, "/srv/data"); err != nil {
		t.Error(err)
	}
}

// A tree of files has no mounts.
func TestRunning(t *testing.T) {
	machine, tree := local(t, ""), local(t, t.TempDir())
	for want, hosts := range map[bool][]host.Host{
		true:  {machine, host.NewMemory(), host.NewShadow(machine), host.NewShadow(machine).View(host.Everything)},
		false: {tree, host.NewShadow(tree), host.Watched(tree, host.Watcher{}), tree.ForRun("1")},
	} {
		for _, h := range hosts {
			if host.Running(h) != want {
				t.Errorf("%T: running is not %v", h, want)
			}
		}
	}
}
