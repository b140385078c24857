package host_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// An echo is answered by the machine itself, and by nobody at an address for documentation; who may not send one is told so.
func TestEcho(t *testing.T) {
	n := network(t, local(t, ""))
	for _, address := range []string{"127.0.0.1", "::1"} {
		c, err := n.Dial(t.Context(), host.Echo, address)
		if errors.Is(err, host.ErrUnsupported) {
			if os.Getuid() == 0 && !strings.Contains(err.Error(), "CAP_NET_RAW") {
				t.Error(err)
			}
			continue
		}
		if address == "::1" && err != nil { // this machine has no IPv6
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if size, err := c.Read(make([]byte, 1)); size != 0 || err == nil {
			t.Errorf("%d bytes, error %v", size, err)
		}
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("something can be sent")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := n.Dial(ctx, host.Echo, "198.51.100.254"); err == nil {
		t.Error("nobody has answered")
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := n.Dial(t.Context(), host.Echo, "localhost"); err == nil || !strings.Contains(err.Error(), "no IP address") {
		t.Error(err)
	}
}

// On a shadow an echo is answered as on its host, until network devices are changed: by them the machine is found.
func TestEchoOfShadow(t *testing.T) {
	h := host.NewMemory()
	h.SetNetwork(answersAll{})
	h.SetLinks(links.NewMemory(links.Link{Name: "eth0"}))
	shadow := host.NewShadow(h)
	if _, err := network(t, shadow).Dial(t.Context(), host.Echo, "192.0.2.7"); err != nil {
		t.Error(err)
	}
	devices, err := shadow.Links(t.Context())
	if err == nil {
		err = devices.Add(t.Context(), links.Link{Name: "br0", Kind: "bridge"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := network(t, shadow).Dial(t.Context(), host.Echo, "192.0.2.7"); !errors.Is(err, host.ErrUnanswerable) {
		t.Error(err)
	}
}

type answersAll struct{ host.Network }

func (answersAll) Dial(context.Context, string, string) (io.ReadWriteCloser, error) {
	return nil, nil
}
