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

// Version of the protocol. A server and an agent speak the highest that both know (see Hello.Versions), and never again one that comes before what they
// have spoken.
const Version = 1

// Times of an agent. All are of its monotonic clock.
const (
	Heartbeat = 60 * time.Second // between two signs of life, at most
	maxJitter = 10 * time.Second // by how much less it may be
	Patience  = 20 * time.Second // until what was not answered is sent again
)

// Message is one of the types below, as a pointer.
type Message interface {
	kind() string // as it is written
}

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
	// Program is the one that runs; nil: an agent from before programs were told of.
	Program *trust.Running `json:"program,omitempty"`
	// Trial says that this is a program that is tried beside the one that runs: it is answered, and begins no session.
	Trial bool `json:"trial,omitempty"`
	// Refused is what the agent has not taken up, and why: see Objections.
	Refused []Objection `json:"refused,omitempty"`
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
	// Program is the version of the server's program; empty: a server from before that was told.
	Program string `json:"program,omitempty"`
	// Offer is the release that the host is to run, where it runs another one.
	Offer *Offer `json:"offer,omitempty"`
}

// Offer is a release that a host is to run.
type Offer struct {
	// Number grows with each time that somebody wants it: what has failed before is tried again then.
	Number  int64         `json:"number"`
	Release *trust.Signed `json:"release"`
}

// Refusal is the answer to a Hello that comes to nothing now, or to a batch that the server does not take in now.
type Refusal struct {
	Session    string        `json:"session"`
	Why        string        `json:"why"`
	RetryAfter time.Duration `json:"retry_after,omitempty"` // 0: as the agent does by itself
	// Offer is what the host is to run, and Documents are those that the agent lacks, by which it judges that: an agent that is too old for the
	// server gets nothing else of it.
	Offer     *Offer          `json:"offer,omitempty"`
	Documents []*trust.Signed `json:"documents,omitempty"`
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

// Claim asks for a turn to fetch contents. Whoever drives an agent sends it: it has no part in what is durable. Without contents the turn is over.
type Claim struct {
	Session  string         `json:"session"`
	Site     string         `json:"site"`               // empty: the release that is offered
	Contents []trust.Digest `json:"contents,omitempty"` // that the assignment of the site, or the release, names
}

// Turn answers a Claim: with tickets, which let the host fetch for a while, or with when to claim again.
type Turn struct {
	Session    string                  `json:"session"`
	Site       string                  `json:"site"`
	Tickets    map[trust.Digest]string `json:"tickets,omitempty"`
	RetryAfter time.Duration           `json:"retry_after,omitempty"`
	Why        string                  `json:"why,omitempty"` // there are no tickets, and will be none
}

func (*Claim) kind() string   { return "claim" }
func (*Turn) kind() string    { return "turn" }
func (*Hello) kind() string   { return "hello" }
func (*Answer) kind() string  { return "answer" }
func (*Refusal) kind() string { return "refusal" }
func (*Batch) kind() string   { return "batch" }
func (*Stored) kind() string  { return "stored" }
func (*Wake) kind() string    { return "wake" }
func (*Pulse) kind() string   { return "pulse" }
func (*Shown) kind() string   { return "shown" }
