package memory

import (
	"errors"
	"sync"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/server/broker"
)

// agent is the link of an agent. What its handler is told waits in a queue, from which one goroutine takes it.
type agent struct {
	b       *Broker
	address link.Address
	h       link.Handler

	mu        sync.Mutex
	changed   sync.Cond
	events    []event
	waiting   int // bytes of packets among the events
	connected bool
	closed    bool // by its owner
	ended     bool // run has returned
}

// event is one call of the handler: a packet, or if there is none the begin of a connection, or its end for a reason.
type event struct {
	packet *link.Packet
	reason error
}

func newAgent(b *Broker, address link.Address, h link.Handler) *agent {
	a := &agent{b: b, address: address, h: h}
	a.changed.L = &a.mu
	return a
}

func (a *agent) connect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.connected {
		a.connected = true
		a.add(event{})
	}
}

// disconnect ends the connection: what was still on its way is lost.
func (a *agent) disconnect(reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.connected {
		return
	}
	a.connected = false
	kept := a.events[:0]
	for _, e := range a.events {
		if e.packet == nil {
			kept = append(kept, e)
		}
	}
	a.events, a.waiting = kept, 0
	a.add(event{reason: reason})
}

// refuse says why there is no connection.
func (a *agent) refuse(reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(event{reason: reason})
}

// push has a packet received. The answer is false where too much waits already.
func (a *agent) push(p link.Packet) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	cost := len(p.Data) + packetCost
	if !a.connected {
		return true
	}
	if a.waiting+cost > broker.MaxWaiting {
		return false
	}
	a.waiting += cost
	a.add(event{packet: &p})
	return true
}

func (a *agent) add(e event) {
	a.events = append(a.events, e)
	a.changed.Broadcast()
}

// run calls the handler, until the link is closed.
func (a *agent) run() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for len(a.events) == 0 && !a.closed {
			a.changed.Wait()
		}
		if a.closed {
			a.ended = true
			a.changed.Broadcast()
			return
		}
		e := a.events[0]
		a.events = a.events[1:]
		a.mu.Unlock()
		a.tell(e)
		a.mu.Lock()
		if e.packet != nil { // counted until it is received; a disconnect has counted all as gone
			a.waiting = max(0, a.waiting-len(e.packet.Data)-packetCost)
		}
	}
}

func (a *agent) tell(e event) {
	switch {
	case e.packet != nil:
		if a.h.Receive != nil {
			a.h.Receive(*e.packet)
		}
	case e.reason != nil:
		if a.h.Disconnected != nil {
			a.h.Disconnected(e.reason)
		}
	case a.h.Connected != nil:
		a.h.Connected()
	}
}

// Send is Link's.
func (a *agent) Send(p link.Packet) error {
	if err := errors.Join(a.address.Check(), p.Check()); err != nil {
		return err
	}
	a.mu.Lock()
	connected, closed := a.connected, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return link.ErrClosed
	case !connected:
		return link.ErrFull
	}
	return a.b.take(a.address, p)
}

// Close is Link's.
func (a *agent) Close() error {
	a.b.forget(a)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.changed.Broadcast()
	for !a.ended {
		a.changed.Wait()
	}
	return nil
}
