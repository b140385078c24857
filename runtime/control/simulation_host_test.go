package control

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// host is an identity, and the machines that have it: one, unless it was copied.
type host struct {
	id       trust.ID
	machines []*machine
	told     map[string]map[uint64]map[string]bool // what was ever told, by stream and number: copies may tell otherwise
	streams  int
	wasTaken bool // it was copied, or taken back in time, or the server was without knowing: to be locked is right
}

// durable is what a machine has on its disk.
type durable struct {
	chain       []*trust.Signed
	held        map[string]*Assigned
	stream      string
	first       uint64
	sizes       []int64
	items       map[uint64]string
	value, next []byte // of renewals; nil: no renewal is unanswered
}

func (d durable) clone() durable {
	d.chain, d.held, d.sizes, d.items = slices.Clone(d.chain), maps.Clone(d.held), slices.Clone(d.sizes), maps.Clone(d.items)
	return d
}

// machine has a disk, and an agent that runs there.
type machine struct {
	*host
	durable
	agent    *Agent
	started  time.Duration // when the agent was: its monotonic clock counts from then on
	skew     time.Duration // by how much its clock is wrong
	adopted  map[string]trust.Position
	snapshot *durable // that the machine can be taken back to; nil: none was made
	full     bool     // its disk takes nothing
}

func (m *machine) time(w *world) time.Duration { return w.now - m.started }

func (w *world) streamName(h *host) string {
	h.streams++
	return fmt.Sprintf("stream-%s-%d", h.id.Short(), h.streams)
}

func (w *world) value() []byte {
	w.values++
	return fmt.Appendf(nil, "value %d", w.values)
}

// start begins an agent from what is durable, as after a crash.
func (w *world) start(m *machine) {
	chain, err := trust.ParseChain(m.chain)
	if err != nil {
		w.Fatal(err)
	}
	m.started, m.adopted = w.now, maps.Clone(m.adopted)
	m.agent = &Agent{Identity: m.id, Sealing: "age1-" + m.id.Short(), Chain: chain, Held: maps.Clone(m.held),
		Queue: NewQueue(m.stream, m.first, slices.Clone(m.sizes)), Clock: func() time.Time { return w.wall().Add(m.skew) }}
	for _, held := range m.held {
		w.adopt(m, held)
	}
	w.carry(m, m.agent.Connect(m.time(w)))
}

func (w *world) adopt(m *machine, a *Assigned) {
	if kept := m.held[a.Site]; kept == nil || kept.Position != a.Position {
		w.Fatalf("%s adopts %s, which is not durable", m.id.Short(), a.Position)
	}
	if a.Position.Compare(m.adopted[a.Site]) < 0 {
		w.Fatalf("%s adopts %s after %s", m.id.Short(), a.Position, m.adopted[a.Site])
	}
	if a.Host != m.id {
		w.Fatalf("%s adopts what is for another host", m.id.Short())
	}
	if !w.assigned[trust.DigestOf(a.Signed.Content)] {
		w.Fatalf("%s adopts what nobody assigned", m.id.Short())
	}
	if m.adopted == nil {
		m.adopted = map[string]trust.Position{}
	}
	m.adopted[a.Site] = a.Position
}

// carry does what an agent wants to be done. A crash may come before what is kept is durable, and after it, and the disk may be full.
func (w *world) carry(m *machine, out Output) {
	durable := len(out.Keep) > 0 || len(out.Documents) > 0
	if durable && w.chance(8) {
		w.start(m)
		return
	}
	if m.full = w.chance(8); m.full && durable {
		m.agent.CannotKeep(&out, errors.New("no space left"))
		w.forget(m)
		return
	}
	for _, a := range out.Keep {
		if was := m.held[a.Site]; was != nil && a.Position.Compare(was.Position) <= 0 {
			w.Fatalf("%s keeps %s, and had %s", m.id.Short(), a.Position, was.Position)
		}
		if a.Until.Before(w.wall().Add(m.skew)) {
			w.Fatalf("%s keeps what it was to accept until %s, at %s", m.id.Short(), a.Until, w.wall().Add(m.skew))
		}
		m.held[a.Site] = a
	}
	m.chain = append(m.chain, out.Documents...)
	if durable && w.chance(8) {
		w.start(m)
		return
	}
	for _, a := range out.Adopt {
		w.adopt(m, a)
	}
	w.send(m, out.Send)
	if out.Behind {
		m.stream, m.first, m.sizes, m.items = w.streamName(m.host), 1, nil, nil
		w.send(m, m.agent.Restream(m.time(w), NewQueue(m.stream, 1, nil)).Send)
	}
}

// forget goes back to what the disk has, as an agent does that could not write.
func (w *world) forget(m *machine) {
	chain, err := trust.ParseChain(m.chain)
	if err != nil {
		w.Fatal(err)
	}
	m.agent.Held, m.agent.Chain = maps.Clone(m.held), chain
	m.agent.Disconnect()
	m.agent.Connect(m.time(w))
}

// send puts what an agent says on its way.
func (w *world) send(m *machine, list []Message) {
	for _, one := range list {
		if b, ok := one.(*Batch); ok && !b.Gap {
			for n := b.First; n <= b.Last; n++ {
				b.Items = append(b.Items, []byte(m.items[n]))
			}
		}
		w.line = append(w.line, letter{machine: m, toServer: true, Message: one})
	}
}

// tell adds something to a machine's stream; a large item makes older ones go.
func (w *world) tell(m *machine) {
	size := sample(w, []int64{10, 10, 10, MaxBatchBytes, MaxKept / 2})
	number, first := m.agent.Queue.Append(size)
	if m.items == nil {
		m.items = map[uint64]string{}
	}
	m.items[number] = fmt.Sprintf("%s %d %d %p", m.stream, number, w.now, m)
	m.sizes = append(m.sizes, size)
	m.sizes, m.first = slices.Clone(m.sizes[uint64(len(m.sizes))-(number-first+1):]), first
	stream := m.told[m.stream]
	if stream == nil {
		stream = map[uint64]map[string]bool{}
		m.told[m.stream] = stream
	}
	if stream[number] == nil {
		stream[number] = map[string]bool{}
	}
	stream[number][m.items[number]] = true
	w.carry(m, m.agent.Append(m.time(w)))
}

// copy copies a machine, makes a snapshot of it, or takes it back to one.
func (w *world) copy(m *machine) {
	switch w.rng.IntN(3) {
	case 0:
		if len(m.machines) == 1 {
			twin := &machine{host: m.host, durable: m.clone(), skew: m.skew, adopted: maps.Clone(m.adopted)}
			m.machines, m.wasTaken = append(m.machines, twin), true
			w.start(twin)
		}
	case 1:
		d := m.clone()
		m.snapshot = &d
	case 2:
		if m.snapshot != nil {
			m.durable, m.adopted, m.wasTaken = m.snapshot.clone(), nil, true
			w.start(m)
		}
	}
}

// renew renews a machine: what it will say is durable before, and the way there and the answer may be lost.
func (w *world) renew(m *machine) {
	if m.next == nil {
		m.next = w.value()
	}
	if w.chance(20) {
		return
	}
	if w.takeRenewal(m) && !w.chance(20) {
		m.value, m.next = m.next, nil
	}
}

// trust has the server know of another trust document. A machine may get it by a renewal.
func (w *world) trust(m *machine) {
	next := *w.db.chain.Newest()
	next.Number++
	signed, err := trust.Sign(trust.KindDocument, &next, w.owner)
	if err != nil {
		w.Fatal(err)
	}
	chain := w.db.chain.Clone()
	if err := chain.Add(signed); err != nil {
		w.Fatal(err)
	}
	w.db.chain = chain
	for _, s := range w.servers {
		if !s.stopped {
			s.Chain = chain
		}
	}
	switch w.rng.IntN(3) {
	case 0:
		m.chain = slices.Clone(chain.Signed())
		renewed, err := trust.ParseChain(m.chain)
		if err != nil {
			w.Fatal(err)
		}
		w.carry(m, m.agent.Trust(m.time(w), renewed))
	case 1:
		w.line = append(w.line, letter{machine: m, Message: &Wake{}})
	}
}
