package embedded

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/tenetcm/tenet/runtime/link"
)

// The server's own connection may end, as when more waits for it than may: it comes back, and with it all that agents send.
func TestTheServersOwnConnectionComesBack(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	got := make(chan link.Address, 10_000)
	must(t, s.Listen(func(from link.Address, _ link.Packet) { got <- from }))
	m := works(t, s)
	all, err := s.server.Connz(&server.ConnzOptions{})
	must(t, err)
	ended := 0
	for _, c := range all.Conns {
		if c.Name == "tenet server" {
			must(t, s.server.DisconnectClientByID(c.Cid))
			ended++
		}
	}
	if ended != 1 {
		t.Fatalf("%d connections are the server's own", ended)
	}
	heard, hears := false, false
	for deadline := time.Now().Add(patience); !heard || !hears; {
		if time.Now().After(deadline) {
			t.Fatalf("the agent is heard: %v, and hears: %v", heard, hears)
		}
		must(t, m.Send(link.Packet{Data: []byte("up")})) // what is sent meanwhile is lost
		if err := s.Send(m.address, link.Packet{Data: []byte("down")}); err != nil && !errors.Is(err, link.ErrFull) {
			t.Fatal(err)
		}
		select {
		case <-got:
			heard = true
		case <-m.packets:
			hears = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	if len(m.disconnected) > 0 {
		t.Error("the agent was disconnected")
	}
}
