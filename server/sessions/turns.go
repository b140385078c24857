package sessions

import (
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Times of claims. An agent that waits for a turn takes silence for an answer that was lost, so it is told in time to claim again, and keeps its
// place.
const (
	holdClaim   = 10 * time.Second
	claimAgain  = 2 * time.Second
	forgetClaim = time.Minute // after it should have been made again
)

// claimQueue is the hosts that wait for a turn to fetch contents: who came first is first.
type claimQueue struct {
	mu    sync.Mutex
	order []*claimant
}

// claimant is a host that waits.
type claimant struct {
	from  link.Address
	claim control.Claim
	asked time.Time
	told  bool // to claim again, and has not yet: what it would be given now is lost
}

// put has a host wait. One that waits already keeps its place.
func (q *claimQueue) put(from link.Address, c *control.Claim, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := &claimant{from: from, claim: *c, asked: now}
	if i := q.find(from.Host); i >= 0 {
		q.order[i] = one
		return
	}
	q.order = append(q.order, one)
}

func (q *claimQueue) find(host trust.ID) int {
	return slices.IndexFunc(q.order, func(c *claimant) bool { return c.from.Host == host })
}

// drop has a host wait no longer.
func (q *claimQueue) drop(host trust.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order = slices.DeleteFunc(q.order, func(c *claimant) bool { return c.from.Host == host })
}

// renew takes up the session that an agent has begun meanwhile. Another process than the one that has claimed does not wait.
func (q *claimQueue) renew(from link.Address, session string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(from.Host)
	switch {
	case i < 0:
	case q.order[i].from != from:
		q.order = slices.Delete(q.order, i, i+1)
	default:
		q.order[i].claim.Session = session
	}
}

// grant serves hosts in their order, until the function says that there is no turn at present.
func (q *claimQueue) grant(serve func(*claimant) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := map[*claimant]bool{}
	for _, c := range q.order {
		if c.told {
			continue
		}
		if !serve(c) {
			break
		}
		done[c] = true
	}
	if len(done) > 0 {
		q.order = slices.DeleteFunc(q.order, func(c *claimant) bool { return done[c] })
	}
}

// tell gives those that have waited for as long as an agent is to wait for an answer, and forgets those that were told and did not come back.
func (q *claimQueue) tell(now time.Time) (list []claimant) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.order {
		if !c.told && now.Sub(c.asked) >= holdClaim {
			c.told = true
			list = append(list, *c)
		}
	}
	q.order = slices.DeleteFunc(q.order, func(c *claimant) bool { return now.Sub(c.asked) >= holdClaim+claimAgain+forgetClaim })
	return list
}

// claim gives a host a turn to fetch what is wanted of it, and nothing else, or has it wait for one.
func (s *Sessions) claim(h *host, from link.Address, c *control.Claim) {
	if c.Session != h.core.Session {
		return
	}
	if len(c.Contents) == 0 {
		s.Hosts.Done(from.Host)
		s.claims.drop(from.Host)
		s.grantClaims()
		return
	}
	if len(c.Contents) > control.MaxClaim || !h.mayFetch(c.Site, c.Contents) {
		s.send(from, &control.Turn{Session: c.Session, Site: c.Site, Why: "that is not wanted of this host"})
		return
	}
	if !s.serveClaim(&claimant{from: from, claim: *c}) {
		s.claims.put(from, c, s.Clock())
	}
}

// grantClaims gives the turns that are free to those that wait.
func (s *Sessions) grantClaims() { s.claims.grant(s.serveClaim) }

// serveClaim answers a claim; false: there is no turn at present.
func (s *Sessions) serveClaim(c *claimant) bool {
	turn := &control.Turn{Session: c.claim.Session, Site: c.claim.Site}
	tickets, err := s.Hosts.Ticket(c.from.Host, c.claim.Contents...)
	switch {
	case err == nil:
		turn.Tickets = tickets
	case diag.CodeOf(err) == "busy":
		return false
	default:
		turn.Why = err.Error()
	}
	s.send(c.from, turn)
	return true
}

// tellClaims answers those that have waited for long, and gives turns that have ended by themselves to others.
func (s *Sessions) tellClaims() {
	s.grantClaims()
	for _, c := range s.claims.tell(s.Clock()) {
		s.send(c.from, &control.Turn{Session: c.claim.Session, Site: c.claim.Site, RetryAfter: claimAgain})
	}
}
