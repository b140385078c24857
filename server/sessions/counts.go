package sessions

import "sync/atomic"

// Counts are sums over all hosts.
type Counts struct {
	Connected, Silent, Lost int // agents; who is silent does not count as lost yet
	Pending                 int // hosts and sites of which something is wanted that the host does not hold yet
	Objecting               int // those among Pending of which the host has told why
	Loops                   map[string]float64
	Relays                  int // connections
	Received, Sent          int64
	Failed                  int64 // messages that could not be taken in
	Limited                 int   // hosts from which nothing is taken in until later
	Refused                 int64 // batches of hosts, for that
}

// traffic counts messages.
type traffic struct{ received, sent, failed, limited atomic.Int64 }

// Counts adds up how hosts stand that may report, without asking the store: of one that was revoked nothing is awaited.
func (s *Sessions) Counts() Counts {
	c := Counts{Loops: map[string]float64{}, Received: s.traffic.received.Load(), Sent: s.traffic.sent.Load(), Failed: s.traffic.failed.Load(), Relays: s.relays.count(), Refused: s.traffic.limited.Load()}
	now := s.Clock()
	for _, h := range s.all() {
		if !s.Hosts.MayReport(h.core.ID) {
			continue
		}
		h.mu.Lock()
		switch {
		case s.connected(h, now):
			c.Connected++
		case h.instance == "" && h.seen.IsZero(): // nothing is known of it but what it is to be
		case s.lost(h.seen):
			c.Lost++
		default:
			c.Silent++
		}
		if h.limit != nil {
			c.Limited++
		}
		for site, t := range h.targets {
			if held, ok := h.core.Held[site]; !ok || held.Position.Compare(t.Position) < 0 {
				c.Pending++
				if h.objection(site, t.Position) != nil {
					c.Objecting++
				}
			}
		}
		for _, l := range h.loops {
			c.Loops[string(l.Phase)]++
		}
		h.mu.Unlock()
	}
	return c
}

// count is how many connections there are.
func (r *relays) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}
