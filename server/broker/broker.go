// Package broker passes packets between a server and the agents of its hosts. A broker stores nothing and proves nothing: it filters. Who
// may say what is decided where a packet is taken in.
package broker

import (
	"errors"

	"github.com/tenetcm/tenet/runtime/link"
)

// Receive takes a packet of an agent in. It is called for one packet of an address at a time, in order, and for many addresses at once.
type Receive func(from link.Address, p link.Packet)

// ErrListening is what a second Listen answers, and one after Close.
var ErrListening = errors.New("the broker has somebody to hand packets to already, or is closed")

// Broker passes packets on. It may be used by many goroutines.
type Broker interface {
	// Listen has packets of agents handed to a function, which is done once. What comes before is lost.
	Listen(Receive) error
	// Send sends a packet to an agent, if it is connected: nobody learns whether it arrives.
	Send(to link.Address, p link.Packet) error
	// Disconnect ends the connections of a host that are there now; no instance: of all its instances. They may come back, if they are
	// let in.
	Disconnect(host link.Address) error
	// Close ends all of it. Nothing is received any more when it returns, so the function that receives must not call it.
	Close() error
}
