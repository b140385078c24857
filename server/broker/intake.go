package broker

import (
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Limits of what an Intake keeps until it is received.
const (
	// MaxWaiting is how many bytes of one host may wait, or wait for it: the largest packet, and what comes beside it.
	MaxWaiting = link.MaxPacket + 4<<20
	// maxWaitingAll is how many of all may: a flood of many hosts fills it, but not the memory.
	maxWaitingAll = 256 << 20
	// maxReceivers is how many packets are received at once.
	maxReceivers = 128
	// packetCost is what a packet without data counts.
	packetCost = 256
)

// Intake hands packets on: those of an address one at a time and in order, those of many addresses at once, each in its turn.
type Intake struct {
	receive Receive

	mu      sync.Mutex
	idle    sync.Cond // no receiver is at work
	lanes   map[link.Address]*lane
	ready   []link.Address   // whose next packet nobody receives yet
	waiting map[trust.ID]int // bytes of each host
	all     int              // bytes
	workers int
	closed  bool
}

// lane is what waits of one address.
type lane struct{ packets []link.Packet }

// NewIntake hands packets to a function.
func NewIntake(receive Receive) *Intake {
	i := &Intake{receive: receive, lanes: map[link.Address]*lane{}, waiting: map[trust.ID]int{}}
	i.idle.L = &i.mu
	return i
}

// Put takes a packet, whose data is from now on the receiver's. It never waits: where too much waits already, the answer is false, and the
// packet is lost.
func (i *Intake) Put(from link.Address, p link.Packet) bool {
	cost := len(p.Data) + packetCost
	i.mu.Lock()
	defer i.mu.Unlock()
	if w := i.waiting[from.Host]; i.closed || w+cost > MaxWaiting || i.all+cost > maxWaitingAll {
		return false
	}
	i.waiting[from.Host] += cost
	i.all += cost
	l := i.lanes[from]
	if l != nil {
		l.packets = append(l.packets, p)
		return true
	}
	i.lanes[from] = &lane{packets: []link.Packet{p}}
	i.ready = append(i.ready, from)
	if i.workers < maxReceivers {
		i.workers++
		fault.Go(i.work)
	}
	return true
}

// work receives packets until none is ready.
func (i *Intake) work() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.ready) > 0 && !i.closed {
		from := i.ready[0]
		i.ready[0] = link.Address{}
		i.ready = i.ready[1:]
		l := i.lanes[from]
		p := l.packets[0]
		l.packets[0] = link.Packet{}
		l.packets = l.packets[1:]
		i.mu.Unlock()
		i.receive(from, p)
		i.mu.Lock()
		i.done(from, l, len(p.Data)+packetCost)
	}
	i.workers--
	if i.workers == 0 {
		i.idle.Broadcast()
	}
}

// done counts a packet as received: what it took is free only now. The address has its next turn after all others.
func (i *Intake) done(from link.Address, l *lane, cost int) {
	i.all -= cost
	i.waiting[from.Host] -= cost
	if i.waiting[from.Host] == 0 {
		delete(i.waiting, from.Host)
	}
	if len(l.packets) == 0 {
		delete(i.lanes, from)
	} else {
		i.ready = append(i.ready, from)
	}
}

// Close drops what waits. Nothing is received any more when it returns.
func (i *Intake) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for i.workers > 0 {
		i.idle.Wait()
	}
	i.ready, i.lanes = nil, nil
}
