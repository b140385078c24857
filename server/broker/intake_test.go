package broker

import (
	"sync"
	"testing"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

func TestIntakeKeepsOrderAndTurns(t *testing.T) {
	var mu sync.Mutex
	got := map[link.Address][]byte{}
	busy := map[link.Address]bool{}
	held, begun := make(chan struct{}), make(chan struct{}, 1)
	slow := link.Address{Host: "slow", Instance: "1"}
	done := make(chan struct{}, 1000)
	i := NewIntake(func(from link.Address, p link.Packet) {
		mu.Lock()
		if busy[from] {
			t.Error("two packets of one address at once")
		}
		busy[from] = true
		mu.Unlock()
		if from == slow {
			begun <- struct{}{}
			<-held
		}
		mu.Lock()
		got[from] = append(got[from], p.Data...)
		busy[from] = false
		mu.Unlock()
		done <- struct{}{}
	})
	i.Put(slow, link.Packet{Data: []byte{0}})
	<-begun
	const hosts, packets = 20, 10
	for n := range packets { // while one host is slow, the others are not
		for h := range hosts {
			if !i.Put(link.Address{Host: trust.ID(rune('a' + h)), Instance: "1"}, link.Packet{Data: []byte{byte(n)}}) {
				t.Fatal("refused")
			}
		}
	}
	for range hosts * packets {
		<-done
	}
	close(held)
	<-done
	for h := range hosts {
		data := got[link.Address{Host: trust.ID(rune('a' + h)), Instance: "1"}]
		if string(data) != "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09" {
			t.Errorf("host %d: %v", h, data)
		}
	}
	i.Close()
	if i.Put(slow, link.Packet{}) {
		t.Error("a closed intake takes a packet")
	}
	if len(i.waiting) != 0 || i.all != 0 {
		t.Errorf("%v %d are counted as waiting", i.waiting, i.all)
	}
}

func TestIntakeIsBounded(t *testing.T) {
	held := make(chan struct{})
	i := NewIntake(func(link.Address, link.Packet) { <-held })
	flood, other := link.Address{Host: "flood"}, link.Address{Host: "other"}
	taken := 0
	for n := range 3 * MaxWaiting / (64 << 10) { // spread over instances, which the host names as it likes
		flood.Instance = string(rune('a' + n%20))
		if i.Put(flood, link.Packet{Data: make([]byte, 64<<10)}) {
			taken += 64 << 10
		}
	}
	if taken > MaxWaiting || taken < MaxWaiting/2 {
		t.Errorf("%d bytes of one host wait", taken)
	}
	if !i.Put(other, link.Packet{Data: make([]byte, link.MaxPacket)}) {
		t.Error("another host's first packet is refused, however large")
	}
	hosts := 0
	for i.Put(link.Address{Host: trust.ID(rune('А' + hosts))}, link.Packet{Data: make([]byte, link.MaxPacket)}) {
		hosts++
		if hosts > 100 {
			break
		}
	}
	if i.all > maxWaitingAll {
		t.Errorf("%d bytes wait", i.all)
	}
	if i.workers > maxReceivers {
		t.Errorf("%d receivers", i.workers)
	}
	close(held)
	i.Close()
}
