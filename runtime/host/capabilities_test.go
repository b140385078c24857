package host_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

// wrappers are all of this package, with what each of them answers by itself.
var wrappers = map[string]struct {
	wrap func(h host.Host) host.Host
	but  []string
}{
	"watched": {func(h host.Host) host.Host {
		return host.Watched(h, host.Watcher{Change: func(host.Place) error { return nil }, Run: func() {}})
	}, nil},
	"by path": {host.NoFollowByPath, []string{"NoFollow", "OpenNoFollow", "OpenDir"}},
	"shadow": {func(h host.Host) host.Host { return host.NewShadow(h) }, []string{
		"ForRun", "TempName", "Sync", "EndStrayProcesses", "Sleep", "Tune", "Init", "Network", "NoFollow", "OpenNoFollow"}},
	"traced": {func(h host.Host) host.Host { return host.NewShadow(h).Traced(&host.Trace{}) }, []string{
		"ForRun", "TempName", "Sync", "EndStrayProcesses", "Sleep", "Tune", "Init", "Network", "NoFollow", "OpenNoFollow"}},
	"opaque": {func(h host.Host) host.Host { return host.NewShadow(h).View(host.Everything) }, []string{
		"ForRun", "TempName", "Sync", "EndStrayProcesses", "Sleep", "Tune", "Init", "Network", "NoFollow", "OpenNoFollow"}},
}

// No wrapper forgets what the host below it can do.
func TestCapabilities(t *testing.T) {
	for name, w := range wrappers {
		t.Run(name, func(t *testing.T) {
			hosttest.Capabilities(t, func(_ *testing.T, h host.Host) host.Host { return w.wrap(h) }, w.but...)
		})
	}
}

// What a host remembers of a file, and what a plan knows of it, goes through wrappers.
func TestKnowledgeThroughWrappers(t *testing.T) {
	for name, w := range wrappers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/f", []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			h := w.wrap(local(t, ""))
			made := 0
			for range 2 {
				if _, err := host.Cached(h, "key", []string{"/etc/passwd"}, func() (int, error) { made++; return made, nil }); err != nil {
					t.Fatal(err)
				}
			}
			if made != 1 {
				t.Errorf("the same was made %d times", made)
			}
			shadow := host.NewShadow(local(t, ""))
			h = w.wrap(shadow)
			if err := shadow.WriteFile(t.Context(), dir+"/f", host.Text(strings.Repeat("a", 9)), host.Meta{}); err != nil {
				t.Fatal(err)
			}
			if name == "watched" || name == "by path" {
				if !host.Foreseen(h, dir+"/f") {
					t.Error("what a plan has written is not foreseen")
				}
				err := host.Obscure(h, dir)
				if _, lerr := h.Lstat(dir + "/f"); err != nil || !errors.Is(lerr, host.ErrUnforeseeable) {
					t.Errorf("what is mounted over is seen: %v, %v", err, lerr)
				}
			}
		})
	}
}
