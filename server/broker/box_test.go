package broker

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

func host(t testing.TB) trust.ID {
	t.Helper()
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key.ID()
}

// first gives the first pieces of a packet of a host.
func first(t testing.TB, size, count int) [][]byte {
	t.Helper()
	var out [][]byte
	for i, frame := range (link.Splitter{}).Pieces(link.NewPacketID(), make([]byte, size)) {
		if i < count {
			out = append(out, frame)
		}
	}
	return out
}

// Hosts that begin large packets and never end them take no more memory than there is for all, and keep nobody else from ending theirs.
func TestInboxIsBounded(t *testing.T) {
	var whole [][]byte
	inbox := &Inbox{Packet: func(_ link.Address, p link.Packet) { whole = append(whole, p.Data) }}
	honest := link.Subject(link.Up, link.Address{Host: host(t), Instance: "i"}, "s")
	large := bytes.Repeat([]byte("honest"), 1<<20)
	part := first(t, 15<<20, 59)
	evil := host(t)
	sent := 0
	for _, frame := range (link.Splitter{}).Pieces(link.NewPacketID(), large) {
		inbox.Take(honest, frame)
		a := link.Address{Host: evil, Instance: "i"} // one that names itself anew each time, and others besides
		if sent++; sent%2 == 0 {
			a.Host = host(t)
		}
		a.Instance = string(rune('a' + sent%26))
		for _, frame := range part {
			inbox.Take(link.Subject(link.Up, a, ""), frame)
		}
		if inbox.held > maxJoinBytes {
			t.Fatalf("%d bytes are kept", inbox.held)
		}
		if inbox.hosts[evil] > maxJoins {
			t.Fatalf("%d packets of one host are begun", inbox.hosts[evil])
		}
	}
	if len(whole) != 1 || !bytes.Equal(whole[0], large) {
		t.Errorf("%d packets are whole", len(whole))
	}
	if len(inbox.joins) != inbox.order.Len() || inbox.held < maxJoinBytes/3 {
		t.Errorf("%d of %d, %d bytes", len(inbox.joins), inbox.order.Len(), inbox.held)
	}
}

func TestInboxDropsWhatItDoesNotKnow(t *testing.T) {
	inbox := &Inbox{
		Packet: func(from link.Address, p link.Packet) { t.Errorf("%v sends %q", from, p.Data) },
		Ack:    func(from link.Address, a link.Ack) { t.Errorf("%v acknowledges %v", from, a) },
	}
	a := link.Address{Host: host(t), Instance: "i"}
	frame := link.Splitter{}.Frame([]byte("data"))
	for _, subject := range []string{"", "tenet.up", link.Subject(link.Down, a, ""), link.Subject(link.Up, a, "") + ".x", "tenet.up.x.y.c"} {
		inbox.Take(subject, frame)
	}
	for _, data := range [][]byte{nil, {1}, {2, 0}, {9}, first(t, 1<<20, 4)[2]} {
		inbox.Take(link.Subject(link.Up, a, ""), data)
	}
	if len(inbox.joins) != 0 {
		t.Errorf("%d packets are begun", len(inbox.joins))
	}
}

// agentEnd joins what an Outbox sends to one agent, and acknowledges it when it is told to.
type agentEnd struct {
	frames  chan []byte
	joiner  link.Joiner
	packets [][]byte
}

func (a *agentEnd) take(t testing.TB, o *Outbox, from link.Address) {
	t.Helper()
	var frame []byte
	select {
	case frame = <-a.frames:
	case <-time.After(2 * time.Minute):
		t.Fatal("no frame comes")
	}
	f, err := link.ParseFrame(frame)
	if err != nil {
		t.Fatal(err)
	}
	data, ok := f.Whole()
	if !ok {
		var ack []byte
		data, ack = a.joiner.Add("", f)
		acked, err := link.ParseFrame(ack)
		if err != nil {
			t.Fatal(err)
		}
		what, _ := acked.Ack()
		o.Ack(from, what)
	}
	if data != nil {
		a.packets = append(a.packets, data)
	}
}

func TestOutboxWaitsForAcknowledgements(t *testing.T) {
	to, other := link.Address{Host: host(t), Instance: "i"}, link.Address{Host: host(t), Instance: "i"}
	slow, quick := &agentEnd{frames: make(chan []byte, 1000)}, &agentEnd{frames: make(chan []byte, 1000)}
	o := NewOutbox(link.Splitter{}, func(subject string, frame []byte) error {
		if subject == link.Subject(link.Down, to, "") {
			slow.frames <- frame
		} else {
			quick.frames <- frame
		}
		return nil
	})
	large := bytes.Repeat([]byte("large"), 2<<20)
	for _, data := range [][]byte{large, []byte("small")} {
		if err := o.Send(to, link.Packet{Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Send(other, link.Packet{Data: []byte("else")}); err != nil {
		t.Fatal(err)
	}
	quick.take(t, o, other)
	for range window { // no more come without an acknowledgement: there would be no room for them in the channel of a slow agent
		for len(slow.frames) == 0 {
			time.Sleep(time.Millisecond)
		}
		if n := len(slow.frames); n > window {
			t.Fatalf("%d pieces are under way", n)
		}
		o.Ack(to, link.Ack{ID: 1, Index: 1000}) // of another packet
		slow.take(t, o, to)
	}
	for len(slow.packets) < 2 {
		slow.take(t, o, to)
	}
	if !bytes.Equal(slow.packets[0], large) || string(slow.packets[1]) != "small" {
		t.Errorf("%d and %d bytes arrive", len(slow.packets[0]), len(slow.packets[1]))
	}
	o.Close()
	if o.all != 0 || len(o.lanes) != 0 {
		t.Errorf("%d bytes wait in %d lanes", o.all, len(o.lanes))
	}
	if err := o.Send(to, link.Packet{}); !errors.Is(err, link.ErrClosed) {
		t.Errorf("a closed outbox sends: %v", err)
	}
}

// For an agent that has gone nothing waits for ever, and never more than is allowed.
func TestOutboxGivesUp(t *testing.T) {
	to := link.Address{Host: host(t), Instance: "i"}
	o := NewOutbox(link.Splitter{}, func(string, []byte) error { return nil })
	o.patience = 500 * time.Millisecond
	full := false
	for range 4 {
		if err := o.Send(to, link.Packet{Data: make([]byte, 8<<20)}); errors.Is(err, link.ErrFull) {
			full = true
			break
		}
	}
	if !full {
		t.Error("anything may wait")
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		o.mu.Lock()
		lanes, all := len(o.lanes), o.all
		o.mu.Unlock()
		if lanes == 0 && all == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes wait", all)
		}
	}
	o = NewOutbox(link.Splitter{}, func(string, []byte) error { return nil })
	o.patience = time.Hour
	if err := o.Send(to, link.Packet{Data: make([]byte, 10<<20)}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	fault.Go(func() { o.Close(); close(done) })
	select {
	case <-done: // though nobody acknowledges
	case <-time.After(2 * time.Minute):
		t.Fatal("Close waits for the agent")
	}
}
