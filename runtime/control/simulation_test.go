package control

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/trust"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "300") }

// world is a server and its hosts, and what is between them.
type world struct {
	*rapid.T
	now    time.Duration
	owner  trust.PrivateKey
	signed *trust.Signed // the trust document
	server *server
	backup *server
	hosts  []*host
	line   []letter
	// reached is how far each stream was stored since the server was last taken back.
	reached map[string]uint64
	// assigned is every assignment that was ever signed, by its content.
	assigned map[trust.Digest]bool
}

// letter is a message on its way.
type letter struct {
	host     int
	toServer bool
	Message
}

// server is what is durable of one.
type server struct {
	Server
	hosts map[trust.ID]*Host
	items map[string]map[uint64]string // by stream; an empty text is a gap
}

// host is what is durable of one, and the agent that runs there.
type host struct {
	id     trust.ID
	chain  []*trust.Signed
	held   map[string]*Assigned
	stream string
	first  uint64
	sizes  []int64
	items  map[uint64]string // that were ever told, by number

	agent   *Agent
	adopted map[string]trust.Position
}

func (w *world) key() trust.PrivateKey {
	k, err := trust.GenerateKey()
	if err != nil {
		w.Fatal(err)
	}
	return k
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t, reached: map[string]uint64{}, assigned: map[trust.Digest]bool{}}
	w.owner = w.key()
	recovery := w.key()
	document := &trust.Document{Generation: 1, Number: 1, Recovery: recovery.Public(), Keys: []trust.Delegated{
		{Key: w.owner.Public(), Name: "server", Verbs: []trust.Verb{trust.VerbTrust, trust.VerbAssign}}}}
	var err error
	if w.signed, err = trust.Sign(trust.KindDocument, document, recovery, w.owner); err != nil {
		t.Fatal(err)
	}
	w.server = &server{Server: Server{Term: 1, Epoch: 1, Chain: w.chain()}, hosts: map[trust.ID]*Host{}, items: map[string]map[uint64]string{}}
	for range rapid.IntRange(1, 4).Draw(t, "hosts") {
		h := &host{id: w.key().ID(), held: map[string]*Assigned{}, items: map[uint64]string{}, first: 1, adopted: map[string]trust.Position{}}
		h.chain, h.stream = []*trust.Signed{w.signed}, "stream-"+h.id.Short()
		w.hosts = append(w.hosts, h)
		w.server.hosts[h.id] = &Host{ID: h.id, Targets: map[string]Target{}}
		w.start(len(w.hosts) - 1)
	}
	w.backup = w.server.clone()
	return w
}

func (w *world) chain() *trust.Chain {
	c, err := trust.ParseChain([]*trust.Signed{w.signed})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (s *server) clone() *server {
	c := &server{Server: s.Server, hosts: map[trust.ID]*Host{}, items: map[string]map[uint64]string{}}
	for id, h := range s.hosts {
		c.hosts[id] = &Host{ID: h.ID, Session: h.Session, Streams: slices.Clone(h.Streams), Targets: maps.Clone(h.Targets), Held: maps.Clone(h.Held), Trust: h.Trust}
	}
	for stream, items := range s.items {
		c.items[stream] = maps.Clone(items)
	}
	return c
}

// start begins an agent from what is durable, as after a crash.
func (w *world) start(i int) {
	h := w.hosts[i]
	chain, err := trust.ParseChain(h.chain)
	if err != nil {
		w.Fatal(err)
	}
	h.agent = &Agent{Identity: h.id, Sealing: "age1-" + h.id.Short(), Chain: chain, Held: maps.Clone(h.held),
		Queue: NewQueue(h.stream, h.first, slices.Clone(h.sizes)), Clock: func() time.Time { return time.Unix(0, 0).Add(w.now) }}
	for _, held := range h.held {
		w.adopt(h, held)
	}
	w.carry(i, h.agent.Connect(w.now))
}

func (w *world) adopt(h *host, a *Assigned) {
	if kept := h.held[a.Site]; kept == nil || kept.Position != a.Position {
		w.Fatalf("%s adopts %s, which is not durable", h.id.Short(), a.Position)
	}
	if a.Position.Compare(h.adopted[a.Site]) < 0 {
		w.Fatalf("%s adopts %s after %s", h.id.Short(), a.Position, h.adopted[a.Site])
	}
	if !w.assigned[trust.DigestOf(a.Signed.Content)] {
		w.Fatalf("%s adopts what nobody assigned", h.id.Short())
	}
	h.adopted[a.Site] = a.Position
}

// carry does what an agent wants to be done. A crash may come before what is kept is durable, and after it.
func (w *world) carry(i int, out Output) {
	h := w.hosts[i]
	durable := len(out.Keep) > 0 || len(out.Documents) > 0
	if durable && w.chance("crash before it is kept", 10) {
		w.start(i)
		return
	}
	for _, a := range out.Keep {
		if was := h.held[a.Site]; was != nil && a.Position.Compare(was.Position) <= 0 {
			w.Fatalf("%s keeps %s, and had %s", h.id.Short(), a.Position, was.Position)
		}
		h.held[a.Site] = a
	}
	h.chain = append(h.chain, out.Documents...)
	if durable && w.chance("crash after it was kept", 10) {
		w.start(i)
		return
	}
	for _, a := range out.Adopt {
		w.adopt(h, a)
	}
	for _, m := range out.Send {
		if b, ok := m.(*Batch); ok && !b.Gap {
			for n := b.First; n <= b.Last; n++ {
				b.Items = append(b.Items, []byte(h.items[n]))
			}
		}
		w.line = append(w.line, letter{host: i, toServer: true, Message: m})
	}
}

func (w *world) chance(what string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(w.T, what) < percent
}

// serve has the server take a letter in: in one transaction, which a crash undoes, and whose answer it may lose.
func (w *world) serve(l letter) {
	before := w.server
	s := before.clone()
	h := s.hosts[w.hosts[l.host].id]
	var answer Message
	switch m := l.Message.(type) {
	case *Hello:
		answer = s.Hello(h, m)
	case *Pulse:
		answer = s.Pulse(h, m)
	case *Shown:
		s.Shown(h, m)
	case *Batch:
		var taken bool
		if taken, answer = s.Batch(h, m); taken {
			w.store(s, m)
		}
	}
	if w.chance("server crash before the commit", 2) {
		w.server.Term++
		return
	}
	w.server = s
	if w.chance("server crash after the commit", 2) {
		w.server.Term++
		return
	}
	if answer != nil {
		w.line = append(w.line, letter{host: l.host, Message: answer})
	}
	if s.Recovering && !before.Recovering {
		w.Log("the server recovers")
	}
}

func (w *world) store(s *server, b *Batch) {
	items := s.items[b.Stream]
	if items == nil {
		items = map[uint64]string{}
		s.items[b.Stream] = items
	}
	for n := b.First; n <= b.Last; n++ {
		text := ""
		if !b.Gap {
			text = string(b.Items[n-b.First])
		}
		if _, twice := items[n]; twice {
			w.Fatalf("%s: %d is stored twice", b.Stream, n)
		}
		items[n] = text
	}
}

// check looks at what must hold at any time.
func (w *world) check() {
	for _, h := range w.hosts {
		for _, stream := range w.server.hosts[h.id].Streams {
			items := w.server.items[stream.ID]
			if uint64(len(items)) != stream.Stored {
				w.Fatalf("%s: stored through %d, and there are %d items", stream.ID, stream.Stored, len(items))
			}
			for n := range stream.Stored {
				if text, ok := items[n+1]; !ok || text != "" && text != h.items[n+1] {
					w.Fatalf("%s: %d is %q, and %q was told", stream.ID, n+1, text, h.items[n+1])
				}
			}
			if stream.Stored < w.reached[stream.ID] {
				w.Fatalf("%s: stored through %d, after %d", stream.ID, stream.Stored, w.reached[stream.ID])
			}
			w.reached[stream.ID] = stream.Stored
		}
		for site, held := range h.held {
			if was := h.adopted[site]; was.Compare(held.Position) > 0 {
				w.Fatalf("%s holds %s of %s, and had adopted %s", h.id.Short(), held.Position, site, was)
			}
		}
	}
}

// assign gives a host something new.
func (w *world) assign(h *host, site string) {
	row := w.server.hosts[h.id]
	a := trust.Assignment{Format: trust.AssignmentFormat, Host: h.id, Site: site, Position: w.server.Assign(row, site), Recipient: h.agent.Sealing,
		Revision: fmt.Sprint(len(w.assigned)), Until: time.Unix(1<<36, 0)}
	if rapid.IntRange(0, 4).Draw(w.T, "absent") == 0 {
		a.Absent = true
	} else {
		a.Bundle, a.Identity = trust.Content{SHA256: trust.DigestOf([]byte(a.Revision)), Size: 1}, trust.DigestOf([]byte(a.Revision))
	}
	signed, err := trust.Sign(trust.KindAssignment, &a, w.owner)
	if err != nil {
		w.Fatal(err)
	}
	w.assigned[trust.DigestOf(signed.Content)] = true
	row.Targets[site] = Target{Position: a.Position, Signed: signed}
}

// tell adds something to a host's stream; a large item makes older ones go.
func (w *world) tell(i int) {
	h := w.hosts[i]
	size := rapid.SampledFrom([]int64{10, 10, 10, MaxBatchBytes, MaxKept / 2}).Draw(w.T, "size")
	number, first := h.agent.Queue.Append(size)
	h.items[number] = fmt.Sprintf("%s %d %d", h.stream, number, w.now)
	h.sizes = append(h.sizes, size)
	h.sizes, h.first = h.sizes[uint64(len(h.sizes))-(number-first+1):], first
	w.carry(i, h.agent.Append(w.now))
}

// receive has a letter arrive.
func (w *world) receive(l letter) {
	if l.toServer {
		w.serve(l)
		return
	}
	w.carry(l.host, w.hosts[l.host].agent.Receive(w.now, l.Message))
}

// resume is what a person does with a server that recovers: its state is what counts.
func (w *world) resume() {
	w.server.Resume()
	for _, h := range w.hosts {
		row := w.server.hosts[h.id]
		for _, site := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(row.Unknown(), maps.Keys(row.Targets))))) {
			w.assign(h, site)
		}
	}
}

// calm lets everything arrive, and wants both sides to be in order then.
func (w *world) calm() {
	for range 40 {
		for letters := 0; len(w.line) > 0; letters++ {
			if letters > 20000 {
				w.Fatalf("the line does not fall silent: %T", w.line[0].Message)
			}
			l := w.line[0]
			w.line = w.line[1:]
			w.receive(l)
			w.check()
		}
		w.now += Heartbeat
		if w.server.Recovering {
			w.resume()
		}
		for i, h := range w.hosts {
			w.carry(i, h.agent.Tick(w.now))
		}
	}
	for _, h := range w.hosts {
		row := w.server.hosts[h.id]
		if newest := w.server.Chain.Newest().Number; h.agent.Chain.Newest().Number != newest || uint64(len(h.chain)) != newest {
			w.Fatalf("%s trusts document %d, keeps %d, and %d is the newest", h.id.Short(), h.agent.Chain.Newest().Number, len(h.chain), newest)
		}
		if at := row.stream(h.stream).Stored; at != h.agent.Queue.Last() {
			w.Fatalf("%s: stored through %d of %d", h.stream, at, h.agent.Queue.Last())
		}
		for site, t := range row.Targets {
			if held := h.held[site]; held == nil || trust.DigestOf(held.Signed.Content) != trust.DigestOf(t.Signed.Content) {
				w.Fatalf("%s does not hold %s of %s", h.id.Short(), t.Position, site)
			}
			if row.Held[site].Position != t.Position {
				w.Fatalf("the server does not know that %s holds %s of %s", h.id.Short(), t.Position, site)
			}
		}
	}
}

// Whatever is lost, doubled, delayed and reordered, whoever dies or is taken back in time: hosts take up ever later assignments, which are durable
// before, what the server says that it has is there, and in the end both sides are in order.
func TestSimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			i := rapid.IntRange(0, len(w.hosts)-1).Draw(t, "host")
			switch step := rapid.IntRange(0, 31).Draw(t, "step"); {
			case step < 14:
				if len(w.line) == 0 {
					break
				}
				at := rapid.IntRange(0, len(w.line)-1).Draw(t, "letter")
				l := w.line[at]
				if !w.chance("doubled", 10) {
					w.line = slices.Delete(w.line, at, at+1)
				}
				if !w.chance("lost", 10) {
					w.receive(l)
				}
			case step < 18:
				w.tell(i)
			case step < 22:
				if !w.server.Recovering {
					w.assign(w.hosts[i], rapid.SampledFrom([]string{"a", "b"}).Draw(t, "site"))
					w.line = append(w.line, letter{host: i, Message: &Wake{}})
				}
			case step < 24:
				w.now += rapid.SampledFrom([]time.Duration{time.Second, Patience, Heartbeat}).Draw(t, "time")
				w.carry(i, w.hosts[i].agent.Tick(w.now))
			case step == 24:
				w.start(i)
			case step == 25:
				w.hosts[i].agent.Disconnect()
				w.carry(i, w.hosts[i].agent.Connect(w.now))
			case step == 26:
				w.server.Term++
			case step == 27:
				w.backup = w.server.clone()
			case step == 28:
				chain := w.server.Chain // hosts give it trust documents back that it has lost, when they renew
				w.server, w.reached = w.backup.clone(), map[string]uint64{}
				w.server.Chain = chain
				w.server.Epoch++
				w.server.Recovering = rapid.IntRange(0, 3).Draw(t, "silently") > 0
			case step == 29:
				if w.server.Recovering {
					w.resume()
				}
			case step > 29:
				w.trust(i)
			}
			w.check()
		}
		w.calm()
	})
}
