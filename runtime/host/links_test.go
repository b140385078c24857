package host_test

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
	"github.com/tenetcm/tenet/runtime/host/links"
)

func newLinks() *links.Memory {
	devices := links.NewMemory(links.Link{Name: "lo", Up: new(true)}, links.Link{Name: "port0", Kind: "veth"})
	devices.Kinds = []string{"bridge"}
	return devices
}

func linksOf(t *testing.T, h host.Host) links.Devices {
	t.Helper()
	devices, err := host.LinksOf(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

func TestLinks(t *testing.T) {
	machine := func() *host.Memory {
		m := host.NewMemory()
		m.SetLinks(newLinks())
		return m
	}
	for name, open := range map[string]func() host.Host{
		"Memory":  func() host.Host { return machine() },
		"Shadow":  func() host.Host { return host.NewShadow(machine()) },
		"fork":    func() host.Host { return host.NewShadow(machine()).Fork() },
		"opaque":  func() host.Host { return host.NewShadow(machine()).View(host.Everything) },
		"watched": func() host.Host { return host.Watched(machine(), host.Watcher{Run: func() {}}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := open()
			_, real := h.(*host.Memory)
			hosttest.RunLinks(t, !real, func(t *testing.T) (links.Devices, string) { return linksOf(t, open()), "port0" })
		})
	}
}

// What a plan does with devices, nobody else sees.
func TestShadowOfLinks(t *testing.T) {
	base := newLinks()
	m := host.NewMemory()
	m.SetLinks(base)
	shadow := host.NewShadow(m)
	devices := linksOf(t, shadow)
	if err := devices.Add(t.Context(), links.Link{Name: "br0", Kind: "bridge"}); err != nil {
		t.Fatal(err)
	}
	fork := linksOf(t, shadow.Fork())
	if err := fork.Change(t.Context(), links.Link{Name: "port0"}, links.Link{Master: new("br0")}); err != nil {
		t.Fatal(err)
	}
	for want, l := range map[int]links.Devices{2: base, 3: devices} {
		list, err := l.List(t.Context())
		if err != nil || len(list) != want {
			t.Errorf("%d devices, want %d; %v", len(list), want, err)
		}
		if port, err := links.Find(list, "port0"); err != nil || *port.Master != "" {
			t.Errorf("the port is %+v, %v", port, err)
		}
	}
}

// A tree below a root has no devices of its own.
func TestNoLinksBelowRoot(t *testing.T) {
	for _, h := range []host.Host{local(t, t.TempDir()), host.NewShadow(local(t, t.TempDir())), host.NewMemory()} {
		if _, err := host.LinksOf(t.Context(), h); !errors.Is(err, host.ErrUnsupported) {
			t.Errorf("%T: %v", h, err)
		}
	}
}
