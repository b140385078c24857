// Package memory is a broker within one process, with links of its own. It is for tests, which say whom it lets in and what it loses, and
// for hosts that are simulated.
package memory

import (
	"errors"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/server/broker"
)

var (
	// ErrDisconnected is the reason that a link is told when Disconnect ended its connection.
	ErrDisconnected = errors.New("the server has ended the connection")
	// ErrSlow is the reason when more waited for an agent than may.
	ErrSlow = errors.New("the agent receives more slowly than the server sends")
)

// packetCost is what a packet without data counts.
const packetCost = 256

// Broker is a broker in memory.
type Broker struct {
	mu     sync.Mutex
	links  map[link.Address]map[*agent]bool
	intake *broker.Intake
	admits func(link.Address) error
	loses  func(link.Direction, link.Address, link.Packet) bool
	closed bool
}

var _ broker.Broker = (*Broker)(nil)

// New makes a broker that lets everyone in and loses nothing.
func New() *Broker { return &Broker{links: map[link.Address]map[*agent]bool{}} }

// Admit says from now on who may be connected; nil: everyone. It is asked at once about all links: those that are refused are disconnected
// with the error as reason, and connect again after a later Admit lets them in. It must not call the broker.
func (b *Broker) Admit(admits func(link.Address) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admits = admits
	for _, agents := range b.links {
		for a := range agents {
			if reason := b.refusal(a.address); reason != nil {
				a.disconnect(reason)
			} else {
				a.connect()
			}
		}
	}
}

// Lose says from now on which packets are lost on their way, without anybody being told; nil: none. It must not call the broker.
func (b *Broker) Lose(loses func(link.Direction, link.Address, link.Packet) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loses = loses
}

func (b *Broker) refusal(a link.Address) error {
	if b.closed {
		return link.ErrClosed
	}
	if b.admits == nil {
		return nil
	}
	return b.admits(a)
}

func (b *Broker) isLost(d link.Direction, a link.Address, p link.Packet) bool {
	return b.loses != nil && b.loses(d, a, p)
}

// Listen is Broker's.
func (b *Broker) Listen(receive broker.Receive) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.intake != nil {
		return broker.ErrListening
	}
	b.intake = broker.NewIntake(receive)
	return nil
}

// Send is Broker's.
func (b *Broker) Send(to link.Address, p link.Packet) error {
	if err := errors.Join(to.Check(), p.Check()); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return link.ErrClosed
	}
	if b.isLost(link.Down, to, p) {
		return nil
	}
	for a := range b.links[to] {
		if !a.push(clone(p)) { // it is rid of what waits, and connects again
			a.disconnect(ErrSlow)
			a.connect()
		}
	}
	return nil
}

// Disconnect is Broker's. The links connect again at once, if Admit lets them.
func (b *Broker) Disconnect(host link.Address) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for address, agents := range b.links {
		if address.Host != host.Host || host.Instance != "" && host != address {
			continue
		}
		for a := range agents {
			a.disconnect(ErrDisconnected)
			if b.refusal(address) == nil {
				a.connect()
			}
		}
	}
	return nil
}

// Close is Broker's. Links learn that their connection has ended, and stay for their owners to close.
func (b *Broker) Close() error {
	b.mu.Lock()
	b.closed = true
	intake := b.intake
	for _, agents := range b.links {
		for a := range agents {
			a.disconnect(link.ErrClosed)
		}
	}
	b.mu.Unlock()
	if intake != nil {
		intake.Close()
	}
	return nil
}

// Dial makes the link of an agent. It connects at once, if Admit lets it.
func (b *Broker) Dial(address link.Address, h link.Handler) link.Link {
	a := newAgent(b, address, h)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.links[address] == nil {
		b.links[address] = map[*agent]bool{}
	}
	b.links[address][a] = true
	if reason := b.refusal(address); reason == nil {
		a.connect()
	} else {
		a.refuse(reason)
	}
	fault.Go(a.run)
	return a
}

// take takes a packet of an agent.
func (b *Broker) take(from link.Address, p link.Packet) error {
	b.mu.Lock()
	intake, lost := b.intake, b.isLost(link.Up, from, p)
	b.mu.Unlock()
	if intake == nil || lost { // nobody listens: nobody knows
		return nil
	}
	if !intake.Put(from, clone(p)) {
		return link.ErrFull
	}
	return nil
}

func (b *Broker) forget(a *agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.links[a.address], a)
	if len(b.links[a.address]) == 0 {
		delete(b.links, a.address)
	}
}

// clone keeps what is sent from what its sender does with it later.
func clone(p link.Packet) link.Packet {
	return link.Packet{Session: p.Session, Data: append([]byte{}, p.Data...)}
}
