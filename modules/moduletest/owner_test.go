package moduletest_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/deferred"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/internal/owner"
	"github.com/tenetcm/tenet/runtime/host"
)

func toRoot() host.Meta { return host.Meta{UID: new(0), Mode: new(fs.FileMode(0o644))} }

// What an account writes between the look at its file and the change of owner does not
// become root's unseen.
func TestOwnerChangedBeforeHandover(t *testing.T) {
	t.Parallel()
	h := fake.Host(t)
	for name, known := range map[string]host.Content{
		"inline": host.Text("good"), "large": host.Stream(4, host.Text("good").Sum(), nil),
	} {
		fake.Put(t, h, "/srv/a", "evil", 0o644)
		fake.Alice(t, h, "/srv/a", 0o644)
		if err := owner.SetMeta(t.Context(), h, "/srv/a", toRoot(), &known); err == nil {
			t.Errorf("%s: no error", name)
		}
		fake.HasMode("/srv/a", 1000, 0o644)(t, h, nil)
		fake.Put(t, h, "/srv/a", "good", 0o644)
		fake.Alice(t, h, "/srv/a", 0o644)
		if err := owner.SetMeta(t.Context(), h, "/srv/a", toRoot(), &known); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fake.HasMode("/srv/a", 0, 0o644)(t, h, nil)
	}
}

// A plan gives away what only the apply will hold, and directories and links as ever.
func TestOwnerOtherHandovers(t *testing.T) {
	t.Parallel()
	m := fake.Host(t)
	fake.Dir(t, m, "/srv/dir", 0o755)
	fake.Link(t, m, "/nowhere", "/srv/link")
	h := host.NewShadow(m)
	if err := h.WriteFile(t.Context(), "/srv/later", deferred.Content("about"), host.Meta{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/srv/dir", "/srv/link", "/srv/later"} {
		err := h.SetMeta(name, host.Meta{UID: new(1000)})
		if err = errors.Join(err, owner.SetMeta(t.Context(), h, name, toRoot(), nil)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := h.Lstat(name); err != nil || info.UID != 0 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	_, err := h.Open("/srv/later")
	if about, ok := deferred.About[string](err); !ok || about != "about" {
		t.Errorf("what is known of it is lost: %v", err)
	}
}
