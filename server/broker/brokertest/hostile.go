package brokertest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
)

// A host says nothing as another one, and hears nothing of it, whatever subjects it names.
func forged(t *testing.T, s *Setup) {
	if s.Raw == nil {
		return
	}
	up, victim, evil := listen(t, s), dial(t, s, address(t)), address(t)
	heard := make(chan []byte, 1000)
	other := link.Address{Host: victim.address.Host, Instance: "evil"}
	for _, subject := range []string{
		">", "*.>", "tenet.>", "tenet.down.>", "tenet.down.*.*.c", "tenet.up.>", link.Subject(link.Down, victim.address, ""), link.Subjects(link.Down, other),
		link.Subjects(link.Down, link.Address{Host: victim.address.Host}), link.Subjects(link.Up, victim.address), "$SYS.>", "_INBOX.>",
	} {
		raw := s.Raw(t, evil)
		raw.Subscribe(subject, func(data []byte) { heard <- data })
		raw.Subscribe(subject+" group", func(data []byte) { heard <- data })
		raw.Flush()
		defer raw.Close()
	}
	for _, subject := range []string{
		link.Subject(link.Up, victim.address, ""), link.Subject(link.Up, other, ""), link.Subject(link.Up, victim.address, "s"),
		link.Subject(link.Down, victim.address, ""), link.Subject(link.Down, evil, ""), "tenet.up.x.y.c", "tenet.up", "$SYS.REQ.SERVER.PING", "_INBOX.x",
	} {
		raw := s.Raw(t, evil)
		raw.Publish(subject, []byte("\x00forged"))
		raw.Flush()
		raw.Close()
	}
	must(t, s.Broker.Send(victim.address, numbered(1)))
	same(t, await(t, victim.packets, "a packet for the victim"), numbered(1))
	must(t, victim.Send(numbered(2)))
	got := await(t, up, "a packet of the victim")
	same(t, got.Packet, numbered(2))
	if got.from != victim.address {
		t.Errorf("from %v", got.from)
	}
	if len(heard) > 0 {
		t.Errorf("somebody hears %q", <-heard)
	}
}

// An agent that sends garbage harms itself at most.
func garbage(t *testing.T, s *Setup) {
	if s.Raw == nil {
		return
	}
	up, other, evil := listen(t, s), dial(t, s, address(t)), address(t)
	for n, content := range [][]byte{nil, {0}, {1}, {2}, {3}, {255}, data(17, 1), data(1000, 2), data(1<<20, 3), make([]byte, 3<<20), make([]byte, 40<<20)} {
		raw := s.Raw(t, evil)
		raw.Publish(link.Subject(link.Up, evil, ""), content)
		raw.Publish(link.Subject(link.Up, evil, "session"), content)
		raw.Flush()
		raw.Close()
		must(t, other.Send(numbered(n)))
		for {
			got := await(t, up, "a packet of another agent")
			if got.from == other.address {
				same(t, got.Packet, numbered(n))
				break
			}
			if got.from != evil {
				t.Errorf("from %v", got.from)
			}
		}
	}
	if len(other.disconnected) > 0 {
		t.Error("another agent is disconnected")
	}
}

// push sends more than may wait anywhere. What is too much is refused or lost.
func push(t *testing.T, send func(link.Packet) error) {
	t.Helper()
	for n := range 96 {
		p := link.Packet{Data: data(1<<20, n)}
		if err := send(p); err != nil && !errors.Is(err, link.ErrFull) {
			t.Fatal(err)
		}
	}
}

// A server that does not receive what one agent sends receives from others, and from that agent later.
func slowServer(t *testing.T, s *Setup) {
	held, got := make(chan struct{}), make(chan received, 100_000)
	slow, other := address(t), address(t)
	must(t, s.Broker.Listen(func(from link.Address, p link.Packet) {
		if from == slow {
			<-held
		}
		got <- received{from, p}
	}))
	a, b := dial(t, s, slow), dial(t, s, other)
	push(t, a.Send)
	must(t, b.Send(numbered(1)))
	same(t, await(t, got, "a packet of another agent").Packet, numbered(1))
	close(held)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_ = a.Send(link.Packet{Session: "later"}) // may be refused while the rest is on its way
		select {
		case r := <-got:
			if r.Session == "later" {
				return
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("nothing comes from the agent any more")
}

// An agent that does not receive keeps no other from receiving.
func slowAgent(t *testing.T, s *Setup) {
	held, got := make(chan struct{}), make(chan link.Packet, 100_000)
	slow := address(t)
	connected := make(chan struct{}, 1000)
	a := s.Dial(t, slow, link.Handler{Connected: func() { connected <- struct{}{} }, Receive: func(p link.Packet) { <-held; got <- p }})
	defer func() { must(t, a.Close()) }()
	await(t, connected, "a connection")
	b := dial(t, s, address(t))
	push(t, func(p link.Packet) error { return s.Broker.Send(slow, p) })
	begun := time.Now()
	must(t, s.Broker.Send(b.address, numbered(1)))
	same(t, await(t, b.packets, "a packet for another agent"), numbered(1))
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("another agent waits for %s", took)
	}
	close(held)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := s.Broker.Send(slow, link.Packet{Session: "later"}); err != nil && !errors.Is(err, link.ErrFull) {
			t.Fatal(err)
		}
		select {
		case p := <-got:
			if p.Session == "later" {
				return
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("nothing comes to the agent any more")
}

func closing(t *testing.T, s *Setup) {
	up, a := listen(t, s), dial(t, s, address(t))
	must(t, a.Send(numbered(1)))
	await(t, up, "a packet")
	stop := make(chan struct{})
	var group fault.Group
	defer group.Wait()
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = a.Send(numbered(2)) // errors are what is to come
			}
		}
	})
	must(t, s.Broker.Close())
	seen := len(up)
	if !s.Outlives {
		await(t, a.disconnected, "the end of the connection")
	}
	end()
	group.Wait()
	if s.Broker.Send(a.address, numbered(3)) == nil {
		t.Error("a closed broker sends")
	}
	must(t, s.Broker.Close())
	must(t, a.Close())
	if len(up) != seen {
		t.Error("something is received after Close")
	}
}

func closingLink(t *testing.T, s *Setup) {
	up := listen(t, s)
	a, b := dial(t, s, address(t)), dial(t, s, address(t))
	must(t, a.Close())
	told := len(a.connected) + len(a.disconnected) + len(a.packets)
	if err := a.Send(numbered(1)); !errors.Is(err, link.ErrClosed) {
		t.Errorf("a closed link sends: %v", err)
	}
	must(t, s.Broker.Send(a.address, numbered(2)))
	must(t, b.Send(numbered(3)))
	same(t, await(t, up, "a packet of another agent").Packet, numbered(3))
	must(t, a.Close())
	if len(a.connected)+len(a.disconnected)+len(a.packets) != told {
		t.Error("the handler of a closed link is called")
	}
}
