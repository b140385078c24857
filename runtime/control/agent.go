package control

import (
	"bytes"
	"crypto/rand"
	"fmt"
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
	// Jitter gives something random of less than a limit, by which signs of life of many agents spread; nil: 0.
	Jitter  func(limit time.Duration) time.Duration
	Program *trust.Running // this one; nil: it is not told, and no release is taken up
	Trial   bool           // this program is tried beside the one that runs: see Hello.Trial
	Spoken  int            // the highest version of the protocol that was spoken with a server; 0: none was

	session      string // empty: not connected
	term         uint64 // of the server that has answered; 0: none has in this session
	sent         time.Duration
	pulse        time.Duration // when the last sign of life was
	spread       time.Duration // how much earlier than a Heartbeat after it the next one comes
	awaitsAnswer bool          // something is out that the server is to answer: the Hello, or a batch
	hasWake      bool          // a Wake came meanwhile
	again        time.Duration // no Hello is said again before, since the server has said so
	quiet        time.Duration // nothing of the stream is told before; 0: nobody has said so
	quietTerm    uint64        // the term of the server that has

	isBehind      bool          // the server has more of the stream than there is
	restreamed    time.Duration // when the present stream was begun, if that was by Restream
	hasRestreamed bool

	judged []Objection          // to what the newest answer has brought
	unkept map[string]Objection // of what could not be made durable, by site; "" is for what is of none
	untold *Objection           // why nothing more can be told by the stream; nil: it can
}

// Assigned is an assignment that an agent has accepted.
type Assigned struct {
	trust.Assignment
	Signed *trust.Signed
}

// Output is what an agent is to do. What Keep, Documents and Spoken name is durable before anything is sent or adopted: an agent that dies in between
// has either taken up nothing, or knows what it has taken up.
type Output struct {
	Keep      []*Assigned     // instead of what is held of their sites
	Documents []*trust.Signed // added to the chain
	Spoken    int             // the version of the protocol that is spoken from now on; 0: the one that was
	Send      []Message
	Adopt     []*Assigned // for the loop: that this is wanted from now on
	Offered   *Offered    // a release that this host is to run
	// Behind says that the server has more of the stream than there is: the host was taken back in time, or copied. Its numbers were used by then, so that
	// another stream is begun, and Restream called.
	Behind    bool
	Withdrawn bool // there is no such release: what was offered before, and is not run yet, is not to be run any more
	// Refused are messages, or parts of them, that were not accepted, and why. Nothing was changed by them.
	Refused []error
}

// Offered is a release that a host is to run, as far as its agent can judge it.
type Offered struct {
	Number  int64
	Release trust.Digest   // of what was signed
	Version string         // empty: it cannot be read
	Program *trust.Program // the one for this host; nil: the release is refused
	Err     error          // why it is refused
}

// Connect begins a session on a new connection.
func (a *Agent) Connect(now time.Duration) Output {
	a.session, a.term, a.hasWake, a.again = rand.Text(), 0, false, 0
	return Output{Send: []Message{a.hello(now)}}
}

// Disconnect ends the session.
func (a *Agent) Disconnect() { a.session, a.term, a.awaitsAnswer, a.hasWake = "", 0, false, false }

// Session names the present session; empty: there is none.
func (a *Agent) Session() string { return a.session }

// hello tells what the agent has.
func (a *Agent) hello(now time.Duration) *Hello {
	h := &Hello{Versions: []int{Version}, Session: a.session, Boot: a.Boot, Held: map[string]Holding{},
		Stream: a.Queue.Stream, First: a.Queue.First(), Last: a.Queue.Last(), Able: a.Able,
		Program: a.Program, Trial: a.Trial, Refused: a.objections()}
	for site, held := range a.Held {
		h.Held[site] = holdingOf(held)
	}
	if d := a.Chain.Newest(); d != nil {
		h.Trust = Trust{d.Generation, d.Number}
	}
	a.awaitsAnswer, a.sent = true, now
	a.live(now)
	return h
}

func holdingOf(a *Assigned) Holding {
	return Holding{Position: a.Position, Revision: a.Revision, Content: trust.DigestOf(a.Signed.Content), Absent: a.Absent}
}

// live notes a sign of life, and when the next one is due.
func (a *Agent) live(now time.Duration) {
	a.pulse, a.spread = now, 0
	if a.Jitter != nil {
		a.spread = a.Jitter(maxJitter)
	}
}

// Append says that an item has been added to the queue.
func (a *Agent) Append(now time.Duration) Output { return Output{Send: a.tell(now)} }

// Restream has the agent tell another stream from now on.
func (a *Agent) Restream(now time.Duration, q *Queue) Output {
	a.Queue, a.isBehind, a.restreamed, a.hasRestreamed = q, false, now, true
	if a.session == "" {
		return Output{}
	}
	return a.Connect(now)
}

// restreamEvery is how often another stream may be begun. A server that says of a new one that it has more of it than there is says what is false, and
// would have the agent begin streams without end. Until the next one what is new is told by the present one all the same.
const restreamEvery = time.Minute

func (a *Agent) mayRestream(now time.Duration) bool {
	return !a.hasRestreamed || now-a.restreamed >= restreamEvery
}

// Untold says that nothing can be added to the queue, and why; nil: again it can. The server learns it by a Hello.
func (a *Agent) Untold(now time.Duration, err error) Output {
	was := a.objections()
	if a.untold = nil; err != nil {
		a.untold = &Objection{Code: ObjectionStorage, Why: shorten("what is to be told cannot be written: " + err.Error())}
	}
	if a.session == "" || !differs(was, a.objections()) {
		return Output{}
	}
	return a.Connect(now)
}

// Tick says that time has passed: what was not answered is sent again, and a sign of life is due now and then.
func (a *Agent) Tick(now time.Duration) Output {
	switch {
	case a.session == "":
		return Output{}
	case a.awaitsAnswer && now < a.again:
	case a.awaitsAnswer && now-a.sent >= Patience:
		// Whatever was lost, and whoever serves by now: a new session puts it in order.
		return a.Connect(now)
	case a.isBehind && !a.awaitsAnswer && now-a.sent >= Patience && a.mayRestream(now):
		return a.Connect(now) // the answer says so again
	case a.quiet != 0 && now >= a.quiet && !a.awaitsAnswer:
		a.quiet = 0
		return Output{Send: a.tell(now)}
	case !a.awaitsAnswer && now-a.pulse >= Heartbeat-a.spread:
		a.live(now)
		return Output{Send: []Message{&Pulse{Session: a.session, Term: a.term, Last: a.Queue.Last()}}}
	}
	return Output{}
}

// Receive takes a message in.
func (a *Agent) Receive(now time.Duration, m Message) Output {
	switch m := m.(type) {
	case *Wake:
		switch {
		case a.awaitsAnswer: // the answer may have been on its way before
			a.hasWake = true
		case a.session != "":
			return a.Connect(now)
		}
	case *Answer:
		if a.session != "" && m.Session == a.session && a.term == 0 {
			return a.answered(now, m)
		}
	case *Refusal:
		if a.session != "" && m.Session == a.session && a.term != 0 {
			return a.refused(now, m)
		}
		if a.session != "" && m.Session == a.session {
			out := Output{Withdrawn: m.Offer == nil}
			a.again = now + a.after(m)
			a.follow(m.Documents, &out)
			out.Offered = a.offered(m.Offer)
			return out
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
	if m.Version != Version { // it is asked again, should another server answer then
		out.Refused = append(out.Refused, fmt.Errorf("the server answers in version %d of the protocol, and this agent speaks %d", m.Version, Version))
		return out
	}
	if err := checkSpoken(m.Version, a.Spoken); err != nil {
		out.Refused = append(out.Refused, err)
		return out
	}
	if a.Program != nil {
		if err := CheckVersions(a.Program.Version, m.Program); err != nil {
			// Nothing of it is taken up; Hello is said again, since the server may be another one then.
			return Output{Refused: []error{err}, Offered: a.offered(m.Offer), Withdrawn: m.Offer == nil}
		}
	}
	if !a.Trial && m.Version != a.Spoken {
		a.Spoken, out.Spoken = m.Version, m.Version
	}
	a.term, a.awaitsAnswer = max(m.Term, 1), false
	if a.quietTerm != a.term { // another server, or the same after a start
		a.quiet = 0
	}
	// The server may have lost what it had, or have what this host, as it is now, has never told.
	a.isBehind = m.Stored > a.Queue.Last()
	out.Behind = a.isBehind && a.mayRestream(now)
	a.Queue.stored = min(m.Stored, a.Queue.Last())
	was := a.objections()
	a.judged, a.unkept = nil, nil // whoever cannot make durable what comes now says so
	a.follow(m.Documents, &out)
	if len(out.Refused) > 0 {
		a.judged = append(a.judged, Objection{Code: ObjectionTrust, Why: shorten(out.Refused[0].Error())})
	}
	for _, s := range m.Assignments {
		if taken := a.take(s, &out); taken != nil {
			// Of one site there is one, unless somebody has put another one in.
			out.Keep = append(slices.DeleteFunc(out.Keep, func(former *Assigned) bool { return former.Site == taken.Site }), taken)
		}
	}
	out.Adopt = slices.Clone(out.Keep)
	out.Offered, out.Withdrawn = a.offered(m.Offer), m.Offer == nil
	if shown := a.show(m.Unknown); len(shown) > 0 {
		out.Send = append(out.Send, &Shown{Session: a.session, Assignments: shown})
	}
	// The server learns by it what is held, and what is not taken up: once, since the next answer brings the same.
	if len(out.Keep) > 0 || len(out.Documents) > 0 || a.hasWake || differs(was, a.objections()) {
		out.Send = append(out.Send, a.Connect(now).Send...)
		return out
	}
	out.Send = append(out.Send, a.tell(now)...)
	return out
}

// follow accepts trust documents that come after those that the agent has. Whoever has its chain reads it meanwhile, so that becomes another one.
func (a *Agent) follow(documents []*trust.Signed, out *Output) {
	if len(documents) == 0 {
		return
	}
	chain := a.Chain.Clone()
	before := len(chain.Signed())
	for _, s := range documents {
		if slices.ContainsFunc(a.Chain.Signed(), func(held *trust.Signed) bool { return bytes.Equal(held.Content, s.Content) }) {
			continue // a renewal has brought it meanwhile
		}
		if err := chain.Add(s); err != nil {
			out.Refused = append(out.Refused, err)
			break // the others come after it
		}
	}
	a.Chain, out.Documents = chain, chain.Signed()[before:]
}

// Trust has the agent judge by a chain that was kept meanwhile, if that has documents which its own lacks. It says Hello then: the server learns what
// the host has, and says again what was refused.
func (a *Agent) Trust(now time.Duration, chain *trust.Chain) Output {
	if !a.Chain.IsBehind(chain) {
		return Output{}
	}
	a.Chain = chain
	if a.session == "" {
		return Output{}
	}
	return a.Connect(now)
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
		o := objectionTo(s, err)
		if held := a.Held[o.Site]; held != nil && o.Position.Compare(held.Position) <= 0 {
			return nil // nobody waits for it
		}
		if o.IsNew(a.judged) && len(a.judged) < maxObjections {
			a.judged = append(a.judged, o)
		}
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
	a.Queue.stored, a.awaitsAnswer = m.Through, false
	if a.hasWake {
		return a.Connect(now)
	}
	return Output{Send: a.tell(now)}
}

// tell gives the next batch, unless one is under way.
func (a *Agent) tell(now time.Duration) []Message {
	if a.session == "" || a.term == 0 || a.awaitsAnswer || now < a.quiet {
		return nil
	}
	b := a.Queue.next()
	if b == nil {
		return nil
	}
	b.Session = a.session
	a.awaitsAnswer, a.sent = true, now
	a.live(now)
	return []Message{b}
}

// maxQuiet bounds for how long a server can have an agent wait before it asks again.
const maxQuiet = time.Hour

// after is for how long a refusal has the agent wait, a little longer than it says, so that many agents do not come back at once.
func (a *Agent) after(m *Refusal) time.Duration {
	if m.RetryAfter <= 0 {
		return 0
	}
	d := min(m.RetryAfter, maxQuiet)
	if a.Jitter != nil {
		d += a.Jitter(maxJitter)
	}
	return d
}

// refused keeps what it has to tell, since the server does not take it in for a while. Everything else goes on.
func (a *Agent) refused(now time.Duration, m *Refusal) Output {
	a.awaitsAnswer, a.quiet, a.quietTerm = false, now+max(a.after(m), Patience), a.term
	if a.hasWake {
		return a.Connect(now)
	}
	return Output{}
}

// offered judges a release that the host is to run: by the trust documents that it has by now.
func (a *Agent) offered(o *Offer) *Offered {
	if o == nil || o.Release == nil || a.Program == nil || a.Trial {
		return nil
	}
	out := &Offered{Number: o.Number, Release: trust.DigestOf(o.Release.Content)}
	release, err := a.Chain.OpenRelease(o.Release)
	if err == nil {
		out.Version = release.Version
		out.Program, err = release.Follow(a.Program)
	}
	out.Err = err
	return out
}

// Answered tells whether the server has answered in the present session.
func (a *Agent) Answered() bool { return a.session != "" && a.term != 0 }
