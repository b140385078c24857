package control

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// pair is a server and one of its agents.
type pair struct {
	testing.TB
	owner  trust.PrivateKey
	server *Server
	row    *Host
	agent  *Agent
}

func newKey(t testing.TB) trust.PrivateKey {
	k, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newPair(t testing.TB) *pair {
	p := &pair{TB: t, owner: newKey(t)}
	recovery := newKey(t)
	signed, err := trust.Sign(trust.KindDocument, &trust.Document{Generation: 1, Number: 1, Recovery: recovery.Public(), Keys: []trust.Delegated{
		{Key: p.owner.Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust, trust.VerbAssign}}}}, recovery, p.owner)
	if err != nil {
		t.Fatal(err)
	}
	chain := func() *trust.Chain {
		c, err := trust.ParseChain([]*trust.Signed{signed})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	id := newKey(t).ID()
	p.server = &Server{Term: 5, Epoch: 1, Chain: chain()}
	p.row = &Host{ID: id, Targets: map[string]Target{}}
	p.agent = &Agent{Identity: id, Sealing: "age1", Chain: chain(), Held: map[string]*Assigned{}, Queue: NewQueue("stream", 1, nil),
		Clock: func() time.Time { return time.Unix(0, 0) }}
	return p
}

// sign signs an assignment for a host.
func (p *pair) sign(host trust.ID, at trust.Position, by trust.PrivateKey) *trust.Signed {
	text := fmt.Appendf(nil, "%s", at)
	signed, err := trust.Sign(trust.KindAssignment, &trust.Assignment{Format: trust.AssignmentFormat, Host: host, Site: "a", Position: at, Recipient: "age1",
		Bundle: trust.Content{SHA256: trust.DigestOf(text), Size: 1}, Identity: trust.DigestOf(text), Until: time.Unix(1, 0)}, by)
	if err != nil {
		p.Fatal(err)
	}
	return signed
}

// assign makes something the server's target.
func (p *pair) assign() trust.Position {
	at := p.server.Assign(p.row, "a")
	p.row.Targets["a"] = Target{Position: at, Signed: p.sign(p.row.ID, at, p.owner)}
	return at
}

// hello gives the Hello of an output.
func (p *pair) hello(out Output) *Hello {
	p.Helper()
	for _, m := range out.Send {
		if h, ok := m.(*Hello); ok {
			return h
		}
	}
	p.Fatalf("no Hello, but %T", out.Send)
	return nil
}

// answer gives the server's Answer to a Hello.
func (p *pair) answer(h *Hello) *Answer {
	p.Helper()
	a, ok := p.server.Hello(p.row, h).(*Answer)
	if !ok {
		p.Fatal("the server refuses the Hello")
	}
	return a
}

// open connects, and puts both sides in order.
func (p *pair) open() {
	out := p.agent.Connect(0)
	for {
		i := slices.IndexFunc(out.Send, func(m Message) bool { _, ok := m.(*Hello); return ok })
		if i < 0 {
			return
		}
		out = p.agent.Receive(0, p.answer(out.Send[i].(*Hello)))
	}
}

func TestWakeWhileAnswerIsOnItsWay(t *testing.T) {
	p := newPair(t)
	answer := p.answer(p.hello(p.agent.Connect(0)))
	at := p.assign()
	if out := p.agent.Receive(0, &Wake{}); len(out.Send) > 0 {
		t.Fatal("asks twice")
	}
	again := p.answer(p.hello(p.agent.Receive(0, answer)))
	if out := p.agent.Receive(0, again); len(out.Adopt) != 1 || out.Adopt[0].Position != at || len(out.Keep) != 1 {
		t.Errorf("%+v", out)
	}
}

func TestWakeWhileBatchIsOnItsWay(t *testing.T) {
	p := newPair(t)
	p.open()
	p.agent.Queue.Append(1)
	p.agent.Append(0)
	p.agent.Receive(0, &Wake{})
	p.hello(p.agent.Receive(0, &Stored{Session: p.agent.session, Term: 5, Stream: "stream", Through: 1}))
}

func TestWhatIsNotOfTheSessionDoesNotCount(t *testing.T) {
	p := newPair(t)
	p.assign()
	old := p.answer(p.hello(p.agent.Connect(0)))
	p.agent.Connect(0)
	if out := p.agent.Receive(0, old); len(out.Adopt)+len(out.Send) > 0 {
		t.Error("an answer to an earlier session counts")
	}
	p.open()
	p.agent.Queue.Append(1)
	p.agent.Append(0)
	if out := p.agent.Receive(0, &Stored{Session: old.Session, Term: 5, Stream: "stream", Through: 1}); len(out.Send) > 0 || p.agent.Queue.stored != 0 {
		t.Error("an acknowledgement of an earlier session counts")
	}
	if out := p.agent.Receive(0, old); len(out.Adopt)+len(out.Send) > 0 {
		t.Error("a second answer counts")
	}
	p.agent.Disconnect()
	for _, m := range []Message{&Wake{}, old, &Answer{}, &Stored{}, &Stored{Stream: "stream"}} {
		if out := p.agent.Receive(0, m); len(out.Send)+len(out.Keep) > 0 {
			t.Errorf("without a session it sends after %T", m)
		}
	}
}

func TestAcknowledgements(t *testing.T) {
	for name, c := range map[string]struct {
		stored Stored
		hello  bool
		want   uint64
	}{
		"next":               {Stored{Term: 5, Stream: "stream", Through: 2}, false, 2},
		"of another server":  {Stored{Term: 6, Stream: "stream", Through: 2}, true, 1},
		"late":               {Stored{Term: 5, Stream: "stream", Through: 0}, false, 1},
		"known":              {Stored{Term: 5, Stream: "stream", Through: 1}, false, 1},
		"of what is not":     {Stored{Term: 5, Stream: "stream", Through: 99}, false, 1},
		"of another stream":  {Stored{Term: 5, Stream: "other", Through: 2}, false, 1},
		"of another session": {Stored{Term: 5, Stream: "stream", Through: 2, Session: "x"}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.agent.Queue = NewQueue("stream", 1, []int64{1, MaxBatchBytes, 1})
			p.row.Streams = []Stream{{ID: "stream", Stored: 1}}
			p.open()
			if c.stored.Session == "" {
				c.stored.Session = p.agent.session
			}
			out := p.agent.Receive(0, &c.stored)
			if p.agent.Queue.stored != c.want && !c.hello {
				t.Errorf("stored through %d", p.agent.Queue.stored)
			}
			if c.hello {
				p.hello(out)
			}
		})
	}
}

// Of a server that says that it has what was never told another stream is told, in which nothing is taken for told; but no stream after stream.
func TestAnswerIsBounded(t *testing.T) {
	p := newPair(t)
	lie := func(now time.Duration, h *Hello) Output {
		return p.agent.Receive(now, &Answer{Version: Version, Session: h.Session, Term: 1, Stored: 1 << 60})
	}
	if out := lie(0, p.hello(p.agent.Connect(0))); !out.Behind {
		t.Fatalf("it goes on with the stream: %+v", out)
	}
	h := p.hello(p.agent.Restream(0, NewQueue("another", 1, nil)))
	if out := lie(0, h); h.Stream != "another" || out.Behind {
		t.Fatalf("%s, then another one at once: %v", h.Stream, out.Behind)
	}
	p.agent.Queue.Append(1)
	if out := p.agent.Append(0); len(out.Send) != 1 || out.Send[0].(*Batch).First != 1 {
		t.Errorf("what is new is told as %+v", out)
	}
	p.agent.Receive(0, &Stored{Session: h.Session, Term: 1, Stream: h.Stream, Through: 1})
	if out := p.agent.Tick(restreamEvery - time.Second); len(out.Send) > 0 {
		t.Errorf("before its time: %+v", out.Send[0])
	}
	h = p.hello(p.agent.Tick(restreamEvery)) // what the server has is asked again
	if out := lie(restreamEvery, h); !out.Behind {
		t.Error("another stream is never begun again")
	}
}

func TestServerRefuses(t *testing.T) {
	good := func() *Hello { return &Hello{Versions: []int{1}, Session: "s", Stream: "t", First: 1} }
	for name, change := range map[string]func(*Hello){
		"version":  func(h *Hello) { h.Versions = []int{2} },
		"versions": func(h *Hello) { h.Versions = append(make([]int, 100), 1) },
		"session":  func(h *Hello) { h.Session = "" },
		"stream":   func(h *Hello) { h.Stream = string(make([]byte, 201)) },
		"first":    func(h *Hello) { h.First = 0 },
		"beyond":   func(h *Hello) { h.First, h.Last = 3, 1 },
		"far":      func(h *Hello) { h.Last = 1<<64 - 1 },
		"sites": func(h *Hello) {
			h.Held = map[string]Holding{}
			for i := range maxSites + 1 {
				h.Held[fmt.Sprint(i)] = Holding{}
			}
		},
	} {
		p, h := newPair(t), good()
		if _, ok := p.server.Hello(p.row, h).(*Answer); !ok {
			t.Fatal("a good Hello is refused")
		}
		before := p.row.Session
		change(h)
		h.Session += "x"
		if name == "session" {
			h.Session = ""
		}
		if r, ok := p.server.Hello(p.row, h).(*Refusal); !ok || r.Why == "" || p.row.Session != before {
			t.Errorf("%s: it is not refused", name)
		}
	}
	for _, b := range []*Batch{
		{First: 0, Last: 0}, {First: 2, Last: 1}, {First: 1, Last: 1}, {First: 1, Last: 1, Items: make([][]byte, 2)},
		{First: 1, Last: 1<<64 - 1, Gap: true}, {First: 1, Last: 1, Gap: true, Items: make([][]byte, 1)}, {First: 1, Last: 2000, Items: make([][]byte, 2000)},
	} {
		p := newPair(t)
		p.server.Hello(p.row, good())
		b.Session, b.Stream = "s", "t"
		if taken, answer := p.server.Batch(p.row, b); taken || answer != nil || p.row.Streams[0].Stored != 0 {
			t.Errorf("%d to %d, %d items: it is taken", b.First, b.Last, len(b.Items))
		}
	}
}

func TestBatchIsTakenInOrder(t *testing.T) {
	p := newPair(t)
	p.open()
	batch := func(session string, first, last uint64) (bool, Message) {
		return p.server.Batch(p.row, &Batch{Session: session, Stream: "stream", First: first, Last: last, Items: make([][]byte, last-first+1)})
	}
	for _, c := range []struct {
		first, last uint64
		taken       bool
		through     uint64
	}{{2, 3, false, 0}, {1, 2, true, 2}, {1, 2, false, 2}, {2, 3, false, 2}, {4, 4, false, 2}, {3, 3, true, 3}} {
		taken, answer := batch(p.row.Session, c.first, c.last)
		if taken != c.taken || answer.(*Stored).Through != c.through {
			t.Errorf("%d to %d: taken %v, %+v", c.first, c.last, taken, answer)
		}
	}
	if taken, answer := batch("earlier", 4, 4); taken || answer != nil {
		t.Error("a batch of another session is taken")
	}
}

func TestPulse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pair, *Pulse)
		wake   bool
	}{
		"in order":        {func(*pair, *Pulse) {}, false},
		"earlier session": {func(_ *pair, m *Pulse) { m.Session = "x" }, true},
		"earlier server":  {func(p *pair, _ *Pulse) { p.server.Term++ }, true},
		"not stored":      {func(_ *pair, m *Pulse) { m.Last++ }, true},
		"assigned":        {func(p *pair, _ *Pulse) { p.assign() }, true},
		"recovering": {func(p *pair, _ *Pulse) {
			p.assign()
			p.server.Recovering = true
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.assign()
			p.open()
			out := p.agent.Tick(Heartbeat)
			m, ok := out.Send[0].(*Pulse)
			if !ok {
				t.Fatalf("%T", out.Send[0])
			}
			c.change(p, m)
			if answer := p.server.Pulse(p.row, m); (answer != nil) != c.wake {
				t.Errorf("%T", answer)
			}
		})
	}
}

func TestSilenceChangesNothing(t *testing.T) {
	p := newPair(t)
	at := p.assign()
	p.open()
	delete(p.row.Targets, "a") // lost, or never there
	p.open()
	if held := p.agent.Held["a"]; held == nil || held.Position != at || held.Absent {
		t.Errorf("%+v", held)
	}
}

func TestUnknownAssignmentEndsDelivery(t *testing.T) {
	p := newPair(t)
	shown := p.sign(p.row.ID, trust.Position{Epoch: 7, N: 3}, p.owner)
	position := trust.Position{Epoch: 7, N: 3}
	hello := &Hello{Versions: []int{1}, Session: "s", Stream: "t", First: 1, Held: map[string]Holding{"a": {Position: position, Content: trust.DigestOf(shown.Content)}}}
	p.assign()
	a := p.answer(hello)
	if !slices.Equal(a.Unknown, []string{"a"}) || len(a.Assignments) > 0 || p.server.Recovering {
		t.Fatalf("%+v", a)
	}
	other := newKey(t)
	for name, m := range map[string]*Shown{
		"of another session": {Session: "x", Assignments: []*trust.Signed{shown}},
		"by a stranger":      {Session: "s", Assignments: []*trust.Signed{p.sign(p.row.ID, position, other)}},
		"of another host":    {Session: "s", Assignments: []*trust.Signed{p.sign(other.ID(), position, p.owner)}},
		"another":            {Session: "s", Assignments: []*trust.Signed{p.sign(p.row.ID, trust.Position{Epoch: 9, N: 1}, p.owner)}},
	} {
		p.server.Shown(p.row, m)
		if p.server.Recovering {
			t.Fatalf("%s: the server recovers", name)
		}
	}
	p.server.Shown(p.row, &Shown{Session: "s", Assignments: []*trust.Signed{shown}})
	if !p.server.Recovering || p.server.Seen != 7 {
		t.Fatalf("%+v", p.server)
	}
	if a := p.answer(&Hello{Versions: []int{1}, Session: "s2", Stream: "t", First: 1}); len(a.Assignments) > 0 {
		t.Error("a server that recovers delivers")
	}
	p.server.Resume()
	if at := p.assign(); at != (trust.Position{Epoch: 8, N: 1}) {
		t.Errorf("assigned as %s", at)
	}
}

// Two assignments of one number that differ: one of them is of a server that was taken back.
func TestTwoOfOneNumber(t *testing.T) {
	p := newPair(t)
	at := p.assign()
	a := p.answer(&Hello{Versions: []int{1}, Session: "s", Stream: "t", First: 1, Held: map[string]Holding{"a": {Position: at, Content: trust.DigestOf(nil)}}})
	if !slices.Equal(a.Unknown, []string{"a"}) || len(a.Assignments) > 0 {
		t.Errorf("%+v", a)
	}
}

func TestDocumentsAreFollowed(t *testing.T) {
	p := newPair(t)
	newest := *p.server.Chain.Newest()
	newest.Number++
	next, err := trust.Sign(trust.KindDocument, &newest, p.owner)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.server.Chain.Add(next); err != nil {
		t.Fatal(err)
	}
	out := p.agent.Receive(0, p.answer(p.hello(p.agent.Connect(0))))
	if len(out.Documents) != 1 || out.Documents[0] != next || len(out.Refused) > 0 {
		t.Errorf("%+v", out)
	}
	if a := p.answer(p.hello(p.agent.Connect(0))); len(a.Documents) > 0 {
		t.Error("they are sent again")
	}
}

func TestStreamsAreBounded(t *testing.T) {
	p := newPair(t)
	for i := range 3 * maxStreams {
		p.answer(&Hello{Versions: []int{1}, Session: "s", Stream: fmt.Sprint(i), First: 1})
	}
	if n := len(p.row.Streams); n != maxStreams || p.row.Streams[n-1].ID != fmt.Sprint(3*maxStreams-1) {
		t.Errorf("%+v", p.row.Streams)
	}
}
