package nats

import (
	"sync"

	"github.com/tenetcm/tenet/runtime/link"
)

// maxWaiting is how many bytes may wait to be sent, beside one packet.
const maxWaiting = 4 << 20

// packetCost is what a packet without data counts.
const packetCost = 256

// maxAcks is how many acknowledgements may wait: more than a server sends pieces without any.
const maxAcks = 64

// queue is what waits to be sent over a connection. While there is none, it takes nothing.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	open    bool
	closed  bool // for good
	packets []link.Packet
	waiting int // bytes, with the packet that is being sent
	acks    [][]byte
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

func (q *queue) put(p link.Packet) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	cost := len(p.Data) + packetCost
	switch {
	case q.closed:
		return link.ErrClosed
	case !q.open || q.waiting > 0 && q.waiting+cost > maxWaiting:
		return link.ErrFull
	}
	q.packets = append(q.packets, link.Packet{Session: p.Session, Data: append([]byte{}, p.Data...)})
	q.waiting += cost
	q.changed.Signal()
	return nil
}

// acknowledge has a frame sent before all packets.
func (q *queue) acknowledge(frame []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open && len(q.acks) < maxAcks {
		q.acks = append(q.acks, frame)
		q.changed.Signal()
	}
}

// next waits for acknowledgements or a packet; false: the connection has ended. Former is the packet that was sent meanwhile.
func (q *queue) next(former *link.Packet) (acks [][]byte, p *link.Packet, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if former != nil && q.open {
		q.waiting -= len(former.Data) + packetCost
	}
	for q.open && len(q.acks) == 0 && len(q.packets) == 0 {
		q.changed.Wait()
	}
	if !q.open {
		return nil, nil, false
	}
	acks, q.acks = q.acks, nil
	if len(q.packets) > 0 {
		first := q.packets[0]
		q.packets[0] = link.Packet{}
		q.packets = q.packets[1:]
		p = &first
	}
	return acks, p, true
}

// takeAcks gives the acknowledgements alone, between the pieces of a packet.
func (q *queue) takeAcks() (acks [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	acks, q.acks = q.acks, nil
	return acks
}

// set says whether there is a connection. What waited for the former one is dropped: the protocol tells it again where it matters.
func (q *queue) set(open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = open && !q.closed
	q.packets, q.acks, q.waiting = nil, nil, 0
	q.changed.Broadcast()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.set(false)
}
