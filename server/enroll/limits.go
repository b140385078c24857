package enroll

import (
	"net/http"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/limit"
)

// limits are how often one may ask.
type limits struct {
	sources *limit.Limiter // by address, before anything is verified
	joins   *limit.Limiter // by address
	renewal *limit.Limiter // by host, once its proof was verified: nobody uses up another's
}

func newLimits(clock func() time.Time) limits {
	return limits{
		sources: limit.New(clock, 2000, 5*time.Millisecond), // many hosts may be behind one address
		joins:   limit.New(clock, 500, 20*time.Millisecond),
		renewal: limit.New(clock, 20, 5*time.Second),
	}
}

// maxFetches is how many requests for contents of one host go on at a time. Its agent has one; some of former connections may not have been found out yet.
const maxFetches = 4

// fetches are the requests for contents that go on, by host.
type fetches struct {
	mu     sync.Mutex
	counts map[trust.ID]int
}

// begin begins one; false: there are too many.
func (f *fetches) begin(host trust.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts[host] >= maxFetches {
		return false
	}
	f.counts[host]++
	return true
}

func (f *fetches) end(host trust.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts[host]--; f.counts[host] == 0 {
		delete(f.counts, host)
	}
}

// contentPatience is how long a part of a content may take to be sent: who takes nothing for as long is dropped, and asks for the rest. A slow connection
// may take any time for all of it.
const contentPatience = 30 * time.Second

// steady has each write come to its end in a time.
type steady struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// Write writes.
func (s *steady) Write(p []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.patience)) // not every writer can do this
	n, err := s.ResponseWriter.Write(p)
	if err == nil {
		_ = s.control.SetWriteDeadline(time.Time{}) // the connection may serve more
	}
	return n, err
}
