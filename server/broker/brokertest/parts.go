package brokertest

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/server/broker"
)

func sizes(t *testing.T, s *Setup) {
	up, a := listen(t, s), dial(t, s, address(t))
	for i, n := range []int{0, 1, 100, 64<<10 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 5, link.MaxPacket} {
		p := link.Packet{Data: data(n, i), Session: []string{"", "a-session_1"}[i%2]}
		sent := link.Packet{Data: slices.Clone(p.Data), Session: p.Session}
		must(t, a.Send(sent))
		got := await(t, up, "a packet of an agent")
		if got.from != a.address {
			t.Errorf("from %v", got.from)
		}
		same(t, got.Packet, p)
		must(t, s.Broker.Send(a.address, p))
		same(t, await(t, a.packets, "a packet for the agent"), p)
	}
}

func numbered(n int) link.Packet {
	return link.Packet{Data: binary.BigEndian.AppendUint32(nil, uint32(n))}
}

func order(t *testing.T, s *Setup) {
	const agents, packets = 5, 400
	up := listen(t, s)
	var all []*agent
	var group fault.Group
	for range agents {
		a := dial(t, s, address(t))
		all = append(all, a)
		group.Go(func() {
			for n := range packets {
				p := numbered(n)
				p.Session = []string{"", "x", "y"}[n%3]
				must(t, errors.Join(a.Send(p), s.Broker.Send(a.address, p)))
			}
		})
	}
	group.Wait()
	next := map[link.Address]uint32{}
	for range agents * packets {
		got := await(t, up, "a packet of an agent")
		if n := binary.BigEndian.Uint32(got.Data); n != next[got.from] || got.Session != []string{"", "x", "y"}[n%3] {
			t.Fatalf("%d of session %q comes in place of %d", n, got.Session, next[got.from])
		}
		next[got.from]++
	}
	for _, a := range all {
		for n := range uint32(packets) {
			if got := await(t, a.packets, "a packet for an agent"); binary.BigEndian.Uint32(got.Data) != n {
				t.Fatalf("%d comes in place of %d", binary.BigEndian.Uint32(got.Data), n)
			}
		}
	}
}

// What is sent right after a large packet comes after it, and what is sent to others does not wait for it.
func largeAmongSmall(t *testing.T, s *Setup) {
	up, a, b := listen(t, s), dial(t, s, address(t)), dial(t, s, address(t))
	large := link.Packet{Data: data(5<<20, 1)}
	for round := range 3 {
		for n := range 3 {
			p := numbered(n)
			if n == 1 {
				p = large
			}
			for _, send := range []func() error{func() error { return s.Broker.Send(a.address, p) }, func() error { return a.Send(p) }} {
				for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
					err := send()
					if err == nil {
						break
					}
					if !errors.Is(err, link.ErrFull) || time.Now().After(deadline) {
						t.Fatal(err)
					}
				}
			}
		}
		must(t, s.Broker.Send(b.address, numbered(round)))
		same(t, await(t, b.packets, "a packet for another agent"), numbered(round))
		for n := range 3 {
			want := numbered(n)
			if n == 1 {
				want = large
			}
			same(t, await(t, up, "a packet of the agent").Packet, want)
			same(t, await(t, a.packets, "a packet for the agent"), want)
		}
	}
}

// What a broker keeps for an agent comes, also all of it at once.
func burst(t *testing.T, s *Setup) {
	a := dial(t, s, address(t))
	const packets, size = 30, 100 << 10
	for n := range packets {
		must(t, s.Broker.Send(a.address, link.Packet{Data: data(size, n)}))
	}
	for n := range packets {
		select {
		case got := <-a.packets:
			same(t, got, link.Packet{Data: data(size, n)})
		case reason := <-a.disconnected:
			t.Fatal(reason)
		case <-time.After(patience):
			t.Fatalf("packet %d does not come", n)
		}
	}
}

func instances(t *testing.T, s *Setup) {
	up := listen(t, s)
	host := Host(t)
	one, two := dial(t, s, link.Address{Host: host, Instance: "one"}), dial(t, s, link.Address{Host: host, Instance: "two"})
	for i, a := range []*agent{one, two} {
		must(t, a.Send(numbered(i)))
		if got := await(t, up, "a packet of an instance"); got.from != a.address {
			t.Errorf("%v for %v", got.from, a.address)
		}
		must(t, s.Broker.Send(a.address, numbered(i)))
		same(t, await(t, a.packets, "a packet for an instance"), numbered(i))
	}
	if len(one.packets)+len(two.packets) > 0 {
		t.Error("an instance gets what is for the other one")
	}
	must(t, s.Broker.Disconnect(one.address))
	await(t, one.disconnected, "the end of the connection")
	await(t, one.connected, "a new connection")
	must(t, s.Broker.Send(two.address, numbered(7)))
	same(t, await(t, two.packets, "a packet for the instance that stayed"), numbered(7))
	if len(two.disconnected) > 0 {
		t.Error("the other instance is disconnected, too")
	}
}

func nobody(t *testing.T, s *Setup) {
	must(t, s.Broker.Send(address(t), numbered(1)))
	must(t, s.Broker.Disconnect(address(t)))
	a := dial(t, s, address(t))
	must(t, s.Broker.Send(link.Address{Host: a.address.Host, Instance: "other"}, numbered(1)))
	must(t, s.Broker.Send(a.address, numbered(2)))
	same(t, await(t, a.packets, "a packet"), numbered(2))
}

func invalid(t *testing.T, s *Setup) {
	a := dial(t, s, address(t))
	for _, p := range []link.Packet{{Data: make([]byte, link.MaxPacket+1)}, {Session: "a.b"}, {Session: ">"}, {Session: "a b"}} {
		if a.Send(p) == nil || s.Broker.Send(a.address, p) == nil {
			t.Errorf("session %q with %d bytes is sent", p.Session, len(p.Data))
		}
	}
	for _, to := range []link.Address{{}, {Host: a.address.Host}, {Host: a.address.Host, Instance: "*"}, {Host: "*", Instance: "a"}, {Host: ">", Instance: "a"}} {
		if s.Broker.Send(to, numbered(1)) == nil {
			t.Errorf("something is sent to %q", to)
		}
	}
}

func disconnect(t *testing.T, s *Setup) {
	up, a, b := listen(t, s), dial(t, s, address(t)), dial(t, s, address(t))
	for range 3 {
		must(t, s.Broker.Disconnect(link.Address{Host: a.address.Host}))
		if reason := await(t, a.disconnected, "the end of the connection"); reason == nil {
			t.Error("without a reason")
		}
		await(t, a.connected, "a new connection")
		must(t, a.Send(numbered(1)))
		same(t, await(t, up, "a packet of the agent").Packet, numbered(1))
		must(t, s.Broker.Send(a.address, numbered(2)))
		same(t, await(t, a.packets, "a packet for the agent"), numbered(2))
	}
	must(t, b.Send(numbered(3)))
	same(t, await(t, up, "a packet of another agent").Packet, numbered(3))
	if len(b.disconnected) > 0 {
		t.Error("another host is disconnected, too")
	}
}

func refused(t *testing.T, s *Setup) {
	up, known := listen(t, s), dial(t, s, address(t))
	for name, dial := range s.Refused {
		t.Run(name, func(t *testing.T) {
			a, h := newAgent(link.Address{Host: known.address.Host, Instance: "stranger"})
			a.Link = dial(t, a.address, h)
			defer func() { must(t, a.Close()) }()
			if reason := await(t, a.disconnected, "a refusal"); reason == nil {
				t.Error("without a reason")
			}
			if a.Send(numbered(1)) == nil {
				t.Error("it can send")
			}
			must(t, s.Broker.Send(a.address, numbered(2)))
			must(t, known.Send(numbered(3)))
			if got := await(t, up, "a packet of the host that is known"); got.from != known.address {
				t.Errorf("%v has sent", got.from)
			}
			if len(a.connected)+len(a.packets) > 0 {
				t.Error("it is connected")
			}
		})
	}
	if len(s.Refused) == 0 {
		t.Error("nobody is refused")
	}
}

func listening(t *testing.T, s *Setup) {
	a := dial(t, s, address(t))
	must(t, a.Send(numbered(0))) // nobody listens: it may be lost
	up := listen(t, s)
	if err := s.Broker.Listen(func(link.Address, link.Packet) {}); !errors.Is(err, broker.ErrListening) {
		t.Errorf("a second Listen: %v", err)
	}
	must(t, a.Send(numbered(1)))
	for got := await(t, up, "a packet"); binary.BigEndian.Uint32(got.Data) != 1; {
		got = await(t, up, "a packet")
	}
}
