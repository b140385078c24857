// Package control is what a server and its agents say to one another: the messages, and what each side makes of them. It is
// pure: messages and time go in, messages and writes come out, so that whole fleets can be simulated. Whoever drives it makes writes
// durable before anything that comes with them is sent or done.
//
// Both ends are durable, and nothing between them is: messages may be lost, doubled, delayed and reordered. A Hello begins a
// session, and its Answer puts both sides in order; from then on a lost message costs a repetition and no more.
package control

import (
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Version of the protocol. A server and an agent speak the highest that both know; see Hello.Versions.
const Version = 1

// Times of an agent. All are of its monotonic clock.
const (
	Heartbeat = 60 * time.Second // between two signs of life
	Patience  = 20 * time.Second // until what was not answered is sent again
)

// Message is one of the types below, as a pointer.
type Message interface{ isMessage() }

// Hello begins a session: an agent sends it on each new connection, and whenever it finds that the server has begun anew.
type Hello struct {
	Versions []int  `json:"versions"`
	Session  string `json:"session"` // random: answers to earlier ones are told apart by it
	Boot     string `json:"boot"`    // id of the host's present boot
	// Held are the assignments that the agent has, by site.
	Held map[string]Holding `json:"held"`
	// Stream is what the agent has to tell; First to Last is what it still has of it.
	Stream string   `json:"stream"`
	First  uint64   `json:"first"`
	Last   uint64   `json:"last"`
	Trust  Trust    `json:"trust"`
	Able   []string `json:"able,omitempty"` // capabilities
}

// Holding is an assignment that a host has.
type Holding struct {
	trust.Position
	Revision string       `json:"revision"`
	Content  trust.Digest `json:"content"` // of what was signed
	Absent   bool         `json:"absent,omitempty"`
}

// Trust names the newest trust document that somebody has.
type Trust struct {
	Generation uint64 `json:"generation"`
	Number     uint64 `json:"number"`
}

// Answer is the server's to a Hello.
type Answer struct {
	Session string `json:"session"` // of the Hello
	Version int    `json:"version"`
	Term    uint64 `json:"term"`   // grows with each start of the active server
	Stored  uint64 `json:"stored"` // so far it has the stream
	// Documents are those after the agent's newest, in order.
	Documents []*trust.Signed `json:"documents,omitempty"`
	// Assignments are those that the agent has not, one a site at most. What is not here stays as it is.
	Assignments []*trust.Signed `json:"assignments,omitempty"`
	// Unknown are sites of which the agent holds an assignment that the server does not know: it wants to see them.
	Unknown []string `json:"unknown,omitempty"`
}

// Refusal is the answer to a Hello that comes to nothing now.
type Refusal struct {
	Session    string        `json:"session"`
	Why        string        `json:"why"`
	RetryAfter time.Duration `json:"retry_after,omitempty"` // 0: as the agent does by itself
}

// Batch is what an agent has to tell, from First to Last.
type Batch struct {
	Session string   `json:"session"`
	Stream  string   `json:"stream"`
	First   uint64   `json:"first"`
	Last    uint64   `json:"last"`
	Items   [][]byte `json:"items,omitempty"`
	Gap     bool     `json:"gap,omitempty"` // the agent no longer has them: there are no Items
}

// Stored says how far the server has a stream. It deletes nothing on the agent.
type Stored struct {
	Session string `json:"session"`
	Term    uint64 `json:"term"`
	Stream  string `json:"stream"`
	Through uint64 `json:"through"`
}

// Wake says that there is something for the agent: it says Hello. Its content is of no account, so nobody need sign it.
type Wake struct{}

// Pulse is an agent's sign of life.
type Pulse struct {
	Session string `json:"session"`
	Term    uint64 `json:"term"` // of the server that the agent knows
	Last    uint64 `json:"last"` // of its stream
}

// Shown are assignments that the server did not know, as they were signed.
type Shown struct {
	Session     string          `json:"session"`
	Assignments []*trust.Signed `json:"assignments"`
}

func (*Hello) isMessage()   {}
func (*Answer) isMessage()  {}
func (*Refusal) isMessage() {}
func (*Batch) isMessage()   {}
func (*Stored) isMessage()  {}
func (*Wake) isMessage()    {}
func (*Pulse) isMessage()   {}
func (*Shown) isMessage()   {}
