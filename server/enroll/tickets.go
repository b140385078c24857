package enroll

import (
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

// ticketValidity is how long a ticket counts for requests that begin: what has begun goes on.
const ticketValidity = 5 * time.Minute

// Ticket lets a host fetch contents, and nothing else, for five minutes: it gives a ticket for each. It takes a start slot, which Done gives
// back, or else the end of the ticket: where too many hosts fetch at once the error has the code "busy", and the host is told later.
func (r *Registry) Ticket(host trust.ID, digests ...trust.Digest) (map[trust.Digest]string, error) {
	if !r.MayReceive(host) {
		return nil, &diag.HintError{Code: CodeState, Message: "the host " + host.Short() + " gets nothing new", Hint: "it is pending, locked or revoked: look at the host"}
	}
	now := r.now()
	until := now.Add(ticketValidity)
	if !r.starts.take(host, r.options.Starts, now, until) {
		return nil, &diag.HintError{Code: CodeBusy, Message: "too many hosts fetch contents at present", Hint: "it goes on by itself"}
	}
	tickets := make(map[trust.Digest]string, len(digests))
	for _, d := range digests {
		tickets[d] = makeCode(r.codes.tickets, until, aboutContent(host, d))
	}
	return tickets, nil
}

// aboutContent is what a ticket is for. Both have a fixed length.
func aboutContent(host trust.ID, d trust.Digest) string { return string(host) + d.String() }

// Done gives the start slot of a host back.
func (r *Registry) Done(host trust.ID) { r.starts.release(host) }

// starts are the hosts that fetch, and until when at most.
type starts struct {
	mu    sync.Mutex
	until map[trust.ID]time.Time
}

func (s *starts) take(host trust.ID, limit int, now, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.until[host]; !ok && len(s.until) >= limit {
		for id, end := range s.until {
			if !now.Before(end) || end.After(until) { // a clock may have been put back
				delete(s.until, id)
			}
		}
		if len(s.until) >= limit {
			return false
		}
	}
	s.until[host] = until
	return true
}

func (s *starts) release(host trust.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, host)
}
