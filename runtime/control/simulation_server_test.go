package control

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
)

// database is what lasts of servers.
type database struct {
	term       uint64 // of the server that may write
	epoch      uint64
	recovering bool
	seen       uint64
	chain      *trust.Chain
	rows       map[trust.ID]*row
	items      map[string]map[uint64]string // by stream; an empty text is a gap
}

// row is what lasts of a host.
type row struct {
	Host
	renewals trust.Renewals
	locked   bool
}

func (r *row) clone() *row {
	c := *r
	c.Host = *copyHost(&r.Host)
	return &c
}

// copyHost copies what a server keeps of a host.
func copyHost(h *Host) *Host {
	c := *h
	c.Streams, c.Targets, c.Held, c.Accepted = slices.Clone(h.Streams), maps.Clone(h.Targets), maps.Clone(h.Held), maps.Clone(h.Accepted)
	return &c
}

func (d *database) clone() *database {
	c := *d
	c.rows, c.items = map[trust.ID]*row{}, map[string]map[uint64]string{}
	for id, r := range d.rows {
		c.rows[id] = r.clone()
	}
	for stream, items := range d.items {
		c.items[stream] = maps.Clone(items)
	}
	return &c
}

// server is the process of one, with what it has read of the database.
type server struct {
	Server
	hosts   map[trust.ID]*Host
	stopped bool // it does nothing, and does not know of it
}

// elect starts a server, which is the active one from then on.
func (w *world) elect() {
	w.db.term++
	w.servers = append(w.servers, &server{hosts: map[trust.ID]*Host{},
		Server: Server{Term: w.db.term, Epoch: w.db.epoch, Recovering: w.db.recovering, Seen: w.db.seen, Chain: w.db.chain}})
}

// active is the server that may write.
func (w *world) active() *server {
	i := slices.IndexFunc(w.servers, func(s *server) bool { return s.Term == w.db.term })
	return w.servers[i]
}

func (w *world) end(s *server) {
	w.servers = slices.DeleteFunc(w.servers, func(other *server) bool { return other == s })
}

// host gives one as a server knows it: it reads it once.
func (w *world) host(s *server, id trust.ID) *Host {
	h := s.hosts[id]
	if h == nil {
		h = copyHost(&w.db.rows[id].Host)
		h.Session, h.Trust = "", Trust{} // they are not kept
		s.hosts[id] = h
	}
	return h
}

// write commits what a server changes. One that does not lead any more writes nothing, and ends. A crash may come before the commit, and after it.
func (w *world) write(s *server, change func()) bool {
	if s.Term != w.db.term {
		w.end(s)
		return false
	}
	if w.chance(3) {
		w.end(s)
		w.elect()
		return false
	}
	change()
	if w.chance(3) {
		w.end(s)
		w.elect()
		return false
	}
	return true
}

// serve has a server take a letter in, and answer it after the commit.
func (w *world) serve(s *server, l letter) {
	id := l.machine.id
	h := w.host(s, id)
	h.Locked = w.db.rows[id].locked
	before := copyHost(h)
	keep := func() {
		w.db.rows[id].Streams, w.db.rows[id].Held, w.db.rows[id].Spoken = slices.Clone(h.Streams), maps.Clone(h.Held), h.Spoken
	}
	var answer Message
	switch m := l.Message.(type) {
	case *Hello:
		answer = s.Hello(h, m)
		if a, ok := answer.(*Answer); ok && (h.Locked || s.Recovering) && len(a.Assignments) > 0 {
			w.Fatalf("%s gets %d assignments though it is locked, or the server recovers", id.Short(), len(a.Assignments))
		}
		isChanged := !maps.Equal(before.Held, h.Held) || !slices.Equal(before.Streams, h.Streams) || before.Spoken != h.Spoken
		if isChanged && !w.write(s, keep) {
			return
		}
	case *Pulse:
		answer = s.Pulse(h, m)
	case *Shown:
		was := s.Server
		if s.Shown(h, m); (was.Recovering != s.Recovering || was.Seen != s.Seen) && !w.write(s, func() { w.db.recovering, w.db.seen = s.Recovering, s.Seen }) {
			return
		}
	case *Batch:
		var taken bool
		taken, answer = s.Batch(h, m)
		if taken && !w.write(s, func() { keep(); w.store(m) }) {
			return
		}
	}
	if stored, ok := answer.(*Stored); ok && stored.Through > uint64(len(w.db.items[stored.Stream])) {
		w.Fatalf("%s: it is said that it is stored through %d, and there are %d items", stored.Stream, stored.Through, len(w.db.items[stored.Stream]))
	}
	if answer != nil {
		w.line = append(w.line, letter{machine: l.machine, Message: answer})
	}
}

func (w *world) store(b *Batch) {
	items := w.db.items[b.Stream]
	if items == nil {
		items = map[uint64]string{}
		w.db.items[b.Stream] = items
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

// assign gives a host something new, if whoever gives it may write and does not recover.
func (w *world) assign(s *server, h *host, site string) {
	if s.stopped || s.Recovering {
		return
	}
	known := w.host(s, h.id)
	a := trust.Assignment{Format: trust.AssignmentFormat, Host: h.id, Site: site, Position: s.Assign(&w.db.rows[h.id].Host, site), Recipient: "age1-" + h.id.Short(),
		Revision: fmt.Sprint(len(w.assigned)), Until: w.wall().Add(validity)}
	if a.Absent = w.rng.IntN(5) == 0; !a.Absent {
		a.Bundle, a.Identity = trust.Content{SHA256: trust.DigestOf([]byte(a.Revision)), Size: 1}, trust.DigestOf([]byte(a.Revision))
	}
	signed, err := trust.Sign(trust.KindAssignment, &a, w.owner)
	if err != nil {
		w.Fatal(err)
	}
	target := Target{Position: a.Position, Signed: signed}
	if w.write(s, func() {
		w.assigned[trust.DigestOf(signed.Content)], w.former = true, append(w.former, signed)
		w.db.rows[h.id].Targets[site] = target
	}) {
		known.Targets[site] = target
		for _, m := range h.machines {
			w.line = append(w.line, letter{machine: m, Message: &Wake{}})
		}
	}
}

// takeRenewal has the active server take a renewal in: of whom it does not accept it, it locks the host.
func (w *world) takeRenewal(m *machine) bool {
	r := w.db.rows[m.id]
	after, ok := r.renewals.Accept(m.value, m.next)
	if !ok {
		if r.locked = true; !m.wasTaken {
			w.Fatalf("%s is taken for a copy, and is none", m.id.Short())
		}
		return false
	}
	r.renewals = after
	return true
}

// restore puts the database back from a backup: so that servers know it, or as somebody does who copies files.
func (w *world) restore() {
	chain, term := w.db.chain, w.db.term // hosts give it trust documents back that it has lost, when they renew
	w.db, w.reached, w.servers = w.backup.clone(), map[string]uint64{}, nil
	w.db.chain, w.db.term = chain, term // terms grow on, as by the clock
	isKnown := w.rng.IntN(4) > 0
	if isKnown {
		w.db.epoch++
		w.db.recovering = true
	}
	for _, h := range w.hosts {
		r := w.db.rows[h.id]
		if r.renewals.Any = isKnown; !isKnown {
			h.wasTaken = true
		}
	}
	w.elect()
}

// resume is what a person does with a server that recovers: its state is what counts.
func (w *world) resume() {
	s := w.active()
	s.stopped, s.hosts = false, map[trust.ID]*Host{}
	s.Recovering, s.Seen = w.db.recovering, w.db.seen
	s.Resume()
	w.db.epoch, w.db.recovering = s.Epoch, false
	for _, h := range w.hosts {
		r := w.db.rows[h.id]
		for _, site := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(r.Unknown(), maps.Keys(r.Targets))))) {
			w.assign(w.active(), h, site)
		}
	}
}
