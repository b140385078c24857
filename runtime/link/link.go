// Package link is the way between an agent and its server: what goes over it, and how an agent connects. It keeps nothing, and promises
// little: a packet comes whole or not at all, and those of one sender in their order, as long as a connection lasts. What must not be lost is
// told again by those at its ends.
package link

import (
	"errors"

	"github.com/tenetcm/tenet/runtime/trust"
)

// MaxPacket is how many bytes the data of a packet may have. What is larger than the broker takes at once is sent in pieces.
const MaxPacket = 16 << 20

// ErrFull is what Send answers while too much waits to be sent: the connection is slower than the sender, or broken.
var ErrFull = errors.New("too much waits to be sent over this connection")

// Address is one end of the link: a process that speaks for a host. Two of one host are told apart by it, as when a disk was cloned.
type Address struct {
	Host     trust.ID
	Instance string // random, of the process
}

// Packet is what is sent at once.
type Packet struct {
	// Session is the interactive session that it belongs to, by the name that its beginner has given it; empty: Data is a message of the
	// protocol, as package control encodes it.
	Session string
	Data    []byte
}

// Handler is told what happens on an agent's link, one thing at a time. No function of it waits for the link. Disconnected is also told why
// there is no connection yet.
type Handler struct {
	Connected    func()
	Disconnected func(reason error)
	Receive      func(Packet)
}

// Link is an agent's way to its server. It connects, and connects again, by itself.
type Link interface {
	// Send sends a packet, or says at once why not. It may be called by several goroutines.
	Send(Packet) error
	// Close ends the link. No function of the Handler is called after it has returned, so none of them may call it.
	Close() error
}
