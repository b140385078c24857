package control

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Agent is a host's side. Times are readings of its monotonic clock, but for those that Clock gives.
type Agent struct {
	Identity trust.ID
	Sealing  string // the public half of the key that its secrets are encrypted to
	Boot     string
	Chain    *trust.Chain
	Held     map[string]*Assigned // by site
	Queue    *Queue
	Clock    func() time.Time // the time of day
	Able     []string

	session string // empty: not connected
	term    uint64 // of the server that has answered; 0: none has in this session
	sent    time.Duration
	pulse   time.Duration // when the last sign of life was
	asked   bool          // something is out that the server is to answer: the Hello, or a batch
	woken   bool          // a Wake came meanwhile
}

// Assigned is an assignment that an agent has accepted.
type Assigned struct {
	trust.Assignment
	Signed *trust.Signed
}

// Output is what an agent is to do. What Keep and Documents name is durable before anything is sent or adopted: an agent that dies in between
// has either taken up nothing, or knows what it has taken up.
type Output struct {
	Keep      []*Assigned     // instead of what is held of their sites
	Documents []*trust.Signed // added to the chain
	Send      []Message
	Adopt     []*Assigned // for the loop: that this is wanted from now on
	// Refused are messages, or parts of them, that were not accepted, and why. Nothing was changed by them.
	Refused []error
}

// Connect begins a session on a new connection.
func (a *Agent) Connect(now time.Duration) Output {
	a.session, a.term, a.woken = rand.Text(), 0, false
	return Output{Send: []Message{a.hello(now)}}
}

// Disconnect ends the session.
func (a *Agent) Disconnect() { a.session, a.term, a.asked, a.woken = "", 0, false, false }

// hello tells what the agent has.
func (a *Agent) hello(now time.Duration) *Hello {
	h := &Hello{Versions: []int{Version}, Session: a.session, Boot: a.Boot, Held: map[string]Holding{},
		Stream: a.Queue.Stream, First: a.Queue.First(), Last: a.Queue.Last(), Able: a.Able}
	for site, held := range a.Held {
		h.Held[site] = holdingOf(held)
	}
	if d := a.Chain.Newest(); d != nil {
		h.Trust = Trust{d.Generation, d.Number}
	}
	a.asked, a.sent, a.pulse = true, now, now
	return h
}

func holdingOf(a *Assigned) Holding {
	return Holding{Position: a.Position, Revision: a.Revision, Content: trust.DigestOf(a.Signed.Content), Absent: a.Absent}
}

// Append says that an item has been added to the queue.
func (a *Agent) Append(now time.Duration) Output { return Output{Send: a.tell(now)} }

// Tick says that time has passed: what was not answered is sent again, and a sign of life is due now and then.
func (a *Agent) Tick(now time.Duration) Output {
	switch {
	case a.session == "":
		return Output{}
	case a.asked && now-a.sent >= Patience:
		// Whatever was lost, and whoever serves by now: a new session puts it in order.
		return a.Connect(now)
	case !a.asked && now-a.pulse >= Heartbeat:
		a.pulse = now
		return Output{Send: []Message{&Pulse{Session: a.session, Term: a.term, Last: a.Queue.Last()}}}
	}
	return Output{}
}

// Receive takes a message in.
func (a *Agent) Receive(now time.Duration, m Message) Output {
	switch m := m.(type) {
	case *Wake:
		switch {
		case a.asked: // the answer may have been on its way before
			a.woken = true
		case a.session != "":
			return a.Connect(now)
		}
	case *Answer:
		if a.session != "" && m.Session == a.session && a.term == 0 {
			return a.answered(now, m)
		}
	case *Stored:
		if a.session != "" && m.Session == a.session && m.Stream == a.Queue.Stream && a.term != 0 {
			return a.acknowledged(now, m)
		}
	}
	return Output{}
}

// answered puts the agent in order with the server.
func (a *Agent) answered(now time.Duration, m *Answer) (out Output) {
	a.term, a.asked = max(m.Term, 1), false
	// The server may have lost what it had, or say that it has what was never told.
	a.Queue.stored = min(m.Stored, a.Queue.Last())
	for _, s := range m.Documents {
		before := len(a.Chain.Signed())
		if err := a.Chain.Add(s); err != nil {
			out.Refused = append(out.Refused, err)
			break // the others come after it
		}
		out.Documents = append(out.Documents, a.Chain.Signed()[before:]...)
	}
	for _, s := range m.Assignments {
		if taken := a.take(s, &out); taken != nil {
			out.Keep, out.Adopt = append(out.Keep, taken), append(out.Adopt, taken)
		}
	}
	if shown := a.show(m.Unknown); len(shown) > 0 {
		out.Send = append(out.Send, &Shown{Session: a.session, Assignments: shown})
	}
	if len(out.Keep) > 0 || a.woken { // the server learns by it what is held
		out.Send = append(out.Send, a.Connect(now).Send...)
		return out
	}
	out.Send = append(out.Send, a.tell(now)...)
	return out
}

// take accepts an assignment, unless there is a reason not to.
func (a *Agent) take(s *trust.Signed, out *Output) *Assigned {
	to := trust.Recipient{Host: a.Identity, Sealing: a.Sealing, Now: a.Clock()}
	assignment, err := a.Chain.OpenAssignment(s, to, func(site string) trust.Position {
		if held := a.Held[site]; held != nil {
			return held.Position
		}
		return trust.Position{}
	})
	if err != nil {
		out.Refused = append(out.Refused, err)
		return nil
	}
	taken := &Assigned{Assignment: *assignment, Signed: s}
	a.Held[assignment.Site] = taken
	return taken
}

// show gives the assignments of sites, as they were signed.
func (a *Agent) show(sites []string) []*trust.Signed {
	var shown []*trust.Signed
	for _, site := range sites {
		if held := a.Held[site]; held != nil && !slices.Contains(shown, held.Signed) {
			shown = append(shown, held.Signed)
		}
	}
	return shown
}

// acknowledged goes on with the stream.
func (a *Agent) acknowledged(now time.Duration, m *Stored) Output {
	if m.Term != a.term { // another server, or the same after a start: what it has must be asked anew
		return a.Connect(now)
	}
	if m.Through <= a.Queue.stored || m.Through > a.Queue.Last() {
		return Output{} // late, or absurd
	}
	a.Queue.stored, a.asked = m.Through, false
	if a.woken {
		return a.Connect(now)
	}
	return Output{Send: a.tell(now)}
}

// tell gives the next batch, unless one is under way.
func (a *Agent) tell(now time.Duration) []Message {
	if a.session == "" || a.term == 0 || a.asked {
		return nil
	}
	b := a.Queue.next()
	if b == nil {
		return nil
	}
	b.Session = a.session
	a.asked, a.sent, a.pulse = true, now, now
	return []Message{b}
}
