package memory

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/server/broker/brokertest"
)

func TestBroker(t *testing.T) {
	brokertest.Run(t, func(testing.TB) *brokertest.Setup {
		b := New()
		return &brokertest.Setup{
			Broker: b,
			Dial:   func(_ testing.TB, a link.Address, h link.Handler) link.Link { return b.Dial(a, h) },
			Refused: map[string]func(testing.TB, link.Address, link.Handler) link.Link{
				"unknown": func(_ testing.TB, a link.Address, h link.Handler) link.Link {
					b.Admit(func(asks link.Address) error {
						if asks == a {
							return errors.New("unknown")
						}
						return nil
					})
					return b.Dial(a, h)
				},
			},
		}
	})
}

func TestLoseAndAdmit(t *testing.T) {
	b := New()
	a := link.Address{Host: brokertest.Host(t), Instance: "i"}
	var told []string
	next := make(chan struct{})
	note := func(what string) { told = append(told, what); next <- struct{}{} }
	l := b.Dial(a, link.Handler{
		Connected:    func() { note("connected") },
		Disconnected: func(reason error) { note(reason.Error()) },
		Receive:      func(p link.Packet) { note(string(p.Data)) },
	})
	<-next
	b.Lose(func(d link.Direction, _ link.Address, p link.Packet) bool {
		return d == link.Down && string(p.Data) == "lost"
	})
	for _, text := range []string{"one", "lost", "two"} {
		if err := b.Send(a, link.Packet{Data: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	<-next
	<-next
	b.Admit(func(link.Address) error { return errors.New("cut") })
	<-next
	if err := l.Send(link.Packet{}); !errors.Is(err, link.ErrFull) {
		t.Errorf("without a connection: %v", err)
	}
	if err := b.Send(a, link.Packet{Data: []byte("meanwhile")}); err != nil {
		t.Fatal(err)
	}
	b.Admit(nil)
	<-next
	if err := errors.Join(l.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	want := []string{"connected", "one", "two", "cut", "connected"}
	if len(told) != len(want) {
		t.Fatalf("%q", told)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("%q comes in place of %q", told[i], want[i])
		}
	}
}
