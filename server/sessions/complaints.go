package sessions

import (
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// complainEvery is how often it is told what is wrong with one host: a host that sends garbage as fast as it may would fill the server's log, and
// hide what others say.
const complainEvery = 10 * time.Second

// complaints are what is wrong with hosts. Those of hosts that have been right for a while are forgotten with the process.
type complaints struct {
	mu sync.Mutex
	of map[trust.ID]*complaint
}

type complaint struct {
	told   time.Time
	others int // since
}

// complain tells what is wrong with a host, or counts it where that was told a moment ago.
func (s *Sessions) complain(host trust.ID, err error) {
	if err = s.complaints.next(host, err, s.Clock()); err != nil {
		s.Failed(err)
	}
}

// next gives what is to be told; nil: nothing is.
func (c *complaints) next(host trust.ID, err error, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[trust.ID]*complaint{}
	}
	one := c.of[host]
	if one != nil && now.Sub(one.told) < complainEvery {
		one.others++
		return nil
	}
	if one != nil && one.others > 0 {
		err = fmt.Errorf("%w (and %d like it since this was told last)", err, one.others)
	}
	c.of[host] = &complaint{told: now}
	return err
}

// drop forgets those about a host.
func (c *complaints) drop(host trust.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, host)
}
