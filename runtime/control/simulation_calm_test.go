package control

import (
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
)

// check looks at what must hold of a host at any time.
func (w *world) check(h *host) {
	for _, stream := range w.db.rows[h.id].Streams {
		items := w.db.items[stream.ID]
		if uint64(len(items)) != stream.Stored {
			w.Fatalf("%s: stored through %d, and there are %d items", stream.ID, stream.Stored, len(items))
		}
		for n := range stream.Stored {
			if text, ok := items[n+1]; !ok || text != "" && !h.told[stream.ID][n+1][text] {
				w.Fatalf("%s: %d is %q, and %v was told", stream.ID, n+1, text, h.told[stream.ID][n+1])
			}
		}
		if stream.Stored < w.reached[stream.ID] {
			w.Fatalf("%s: stored through %d, after %d", stream.ID, stream.Stored, w.reached[stream.ID])
		}
		w.reached[stream.ID] = stream.Stored
	}
	for _, m := range h.machines {
		for site, held := range m.held {
			if was := m.adopted[site]; was.Compare(held.Position) > 0 {
				w.Fatalf("%s holds %s of %s, and had adopted %s", h.id.Short(), held.Position, site, was)
			}
		}
	}
}

// part ends the copies, which must be noticed before: both have renewed since there are two of them.
func (w *world) part() {
	for _, h := range w.hosts {
		r := w.db.rows[h.id]
		if len(h.machines) > 1 {
			for range 2 {
				for _, m := range h.machines {
					w.renew(m)
				}
			}
			if !r.locked {
				w.Fatalf("%s has a copy, and nobody has noticed", h.id.Short())
			}
			h.machines = []*machine{sample(w, h.machines)}
		}
		w.renew(h.machines[0])
		if r.locked { // a person looks at it
			r.locked, r.renewals.Any = false, true
		}
		w.renew(h.machines[0])
		if r.locked {
			w.Fatalf("%s is locked again", h.id.Short())
		}
	}
	w.line = slices.DeleteFunc(w.line, func(l letter) bool { return !slices.Contains(l.machine.machines, l.machine) })
}

// calm lets everything arrive, puts clocks right, and wants both sides to be in order then.
func (w *world) calm() {
	w.calmly = true
	w.servers = slices.DeleteFunc(w.servers, func(s *server) bool { return s.Term != w.db.term }) // they find that others have taken over
	w.active().stopped = false
	w.part()
	for range 40 {
		for letters := 0; len(w.line) > 0; letters++ {
			if letters > 20000 {
				w.Fatalf("the line does not fall silent: %T", w.line[0].Message)
			}
			l := w.line[0]
			w.line = w.line[1:]
			w.receive(l)
			w.check(l.machine.host)
		}
		if w.db.recovering {
			w.resume()
		}
		for _, h := range w.hosts {
			h.machines[0].skew = 0
			w.pass(0, h)
			w.assignAnew(h)
		}
		w.now += Heartbeat
	}
	for _, h := range w.hosts {
		w.checkOrder(h.machines[0])
	}
}

// assignAnew is what a deployment does with what a host has not taken up in its time.
func (w *world) assignAnew(h *host) {
	m := h.machines[0]
	for site, t := range w.db.rows[h.id].Targets {
		a, err := w.db.chain.ShownAssignment(t.Signed, h.id)
		if err != nil {
			w.Fatal(err)
		}
		if held := m.held[site]; (held == nil || held.Position.Compare(t.Position) < 0) && w.wall().After(a.Until) {
			w.assign(w.active(), h, site)
		}
	}
}

// checkOrder wants a host and the server to know the same of one another.
func (w *world) checkOrder(m *machine) {
	row := w.db.rows[m.id]
	if newest := w.db.chain.Newest().Number; m.agent.Chain.Newest().Number != newest || uint64(len(m.chain)) != newest {
		w.Fatalf("%s trusts document %d, keeps %d, and %d is the newest", m.id.Short(), m.agent.Chain.Newest().Number, len(m.chain), newest)
	}
	if at := row.stream(m.stream).Stored; at != m.agent.Queue.Last() {
		w.Fatalf("%s: stored through %d of %d", m.stream, at, m.agent.Queue.Last())
	}
	for _, o := range m.agent.objections() {
		if o.Site == "" || o.Position == row.Targets[o.Site].Position { // others are about what somebody has put in, and nobody asks for them
			w.Fatalf("%s still objects %+v", m.id.Short(), o)
		}
	}
	for site, t := range row.Targets {
		held := m.held[site]
		if held == nil || trust.DigestOf(held.Signed.Content) != trust.DigestOf(t.Signed.Content) {
			w.Fatalf("%s does not hold %s of %s", m.id.Short(), t.Position, site)
		}
		if row.Held[site].Position != t.Position {
			w.Fatalf("the server does not know that %s holds %s of %s", m.id.Short(), t.Position, site)
		}
	}
}
