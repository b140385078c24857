package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/internal/systemd"
	"github.com/tenetcm/tenet/runtime/host"
)

// swappingPlace is a host on which somebody acts once a directory was looked at: by the
// first look at what is in the way, and by the second one at what it is.
type swappingPlace struct {
	*host.Memory
	at    string
	looks int // that are left
	then  func()
}

func (s *swappingPlace) NoFollow() host.Host { return host.NoFollowByPath(s) }

func (s *swappingPlace) Lstat(name string) (host.Info, error) {
	info, err := s.Memory.Lstat(name)
	if name == s.at && s.then != nil {
		if s.looks--; s.looks == 0 {
			s.then()
		}
	}
	return info, err
}

// An account that puts a link in the way once its directories were looked at gets no
// file elsewhere, and loses none.
func TestSystemdPlaceSwappedForALink(t *testing.T) {
	t.Parallel()
	const dir = "/home/alice/.config/systemd/user"
	for _, act := range []string{"read", "write", "remove"} {
		h := &swappingPlace{Memory: fake.Host(t), at: dir, looks: 2}
		fake.Put(t, h, dir+"/app.service", "mine", 0o644)
		fake.Put(t, h, "/etc/cron.d/app.service", "theirs", 0o644)
		place, err := systemd.PlaceOf(h, new("alice"))
		if err != nil {
			t.Fatal(err)
		}
		h.then = func() {
			fake.Put(t, h.Memory, "/home/alice/.config/systemd/old/app.service", "mine", 0o644)
			for _, name := range []string{dir + "/app.service", dir} {
				if err := h.Memory.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			fake.Link(t, h.Memory, "/etc/cron.d", dir)
		}
		switch act {
		case "read":
			_, _, err = place.Read("app.service")
		case "write":
			err = place.Write(t.Context(), "app.service", host.Text("evil"))
		case "remove":
			err = place.Remove("app.service")
		}
		if !host.IsLink(err) {
			t.Errorf("%s: %v", act, err)
		}
		if text := fake.Text(h.Memory, "/etc/cron.d/app.service"); text != "theirs" {
			t.Errorf("%s: the other file holds %q", act, text)
		}
	}
}

// A home that somebody else decides about is no place for units.
func TestSystemdPlaceOfAnothersHome(t *testing.T) {
	t.Parallel()
	h := fake.Host(t)
	if err := h.SetMeta("/home/alice", host.Meta{UID: new(33)}); err != nil {
		t.Fatal(err)
	}
	if place, err := systemd.PlaceOf(h, new("alice")); err == nil {
		t.Errorf("the place is %s", place.Dir)
	}
}

// A home that is reached by links of root's own is one.
func TestSystemdPlaceBehindALink(t *testing.T) {
	t.Parallel()
	h := fake.Host(t)
	if err := h.Mkdir("/data", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	if err := h.Mkdir("/data/alice", host.Meta{UID: new(1000), GID: new(1000)}); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove("/home/alice"); err != nil {
		t.Fatal(err)
	}
	if err := h.Symlink("/data/alice", "/home/alice", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	place, err := systemd.PlaceOf(h, new("alice"))
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Write(t.Context(), "app.service", host.Text("x")); err != nil {
		t.Fatal(err)
	}
	if text := fake.Text(h, "/home/alice/.config/systemd/user/app.service"); text != "x" {
		t.Errorf("it holds %q", text)
	}
}
