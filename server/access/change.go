package access

import "sync"

// change wakes those who have asked what somebody may do, and go on by the answer.
type change struct {
	mu      sync.Mutex
	channel chan struct{}
}

// next gives a channel that is closed with the next change.
func (c *change) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.channel == nil {
		c.channel = make(chan struct{})
	}
	return c.channel
}

func (c *change) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.channel != nil {
		close(c.channel)
		c.channel = nil
	}
}

// Changed gives a channel that is closed when somebody may do less or more than before, or a session or program ends. Ask for it before
// asking what somebody may do. What another process changes, and what ends by its time, closes it not: look again now and then.
func (d *Directory) Changed() <-chan struct{} { return d.changed.next() }
