package api

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/server/access"
)

// Event is something that has happened, for who looks at the server now. Events are a reason to
// look, not a record: who misses some loads anew.
type Event struct {
	At   time.Time     `json:"at"`
	Type string        `json:"type"` // such as host.approved
	Host access.Target `json:"-"`    // whom it is about; empty: no host
	Site string        `json:"site,omitempty"`
	Verb access.Verb   `json:"-"` // what it takes to see it; empty: read
	// Data is JSON of what has changed; it holds no secrets.
	Data json.RawMessage `json:"data,omitempty"`
}

// isFor tells whether a caller may see an event. One that is about no host and no site takes the verb everywhere.
func (e *Event) isFor(c *access.Caller) bool {
	verb := e.Verb
	if verb == "" {
		verb = access.Read
	}
	switch {
	case e.Host.Name != "":
		return c.May(verb, e.Host, e.Site)
	case e.Site != "":
		return c.MaySite(verb, e.Site)
	}
	return c.MayEverywhere(verb)
}

// Feed is the newest events, in a ring: a reader who is slow costs nothing, and is told to load anew.
type Feed struct {
	name  string // of this process: numbers of another one mean nothing
	size  int
	mu    sync.Mutex
	ring  []Event // that of number n is at (n-1) % size
	last  uint64
	more  chan struct{}  // closed with the next event
	count map[string]int // of readers, by their names
}

// How many readers one caller has at most, and all together. Each is a connection.
const (
	maxReadersOfOne = 20
	maxReaders      = 5000
)

// NewFeed makes a feed that holds so many events; 0: 4096.
func NewFeed(size int) *Feed {
	if size <= 0 {
		size = 4096
	}
	random := make([]byte, 8)
	rand.Read(random)
	return &Feed{name: hex.EncodeToString(random), size: size, more: make(chan struct{}), count: map[string]int{}}
}

// Publish adds an event, after the transaction in which it has happened. It never waits for readers.
func (f *Feed) Publish(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ring) < f.size {
		f.ring = append(f.ring, e)
	} else {
		f.ring[f.last%uint64(f.size)] = e
	}
	f.last++
	close(f.more)
	f.more = make(chan struct{})
}

// id names an event in the stream.
func (f *Feed) id(n uint64) string { return fmt.Sprintf("%s-%d", f.name, n) }

// position reads what id gives; false: it is of another process, or none at all.
func (f *Feed) position(id string) (uint64, bool) {
	name, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	f.mu.Lock()
	defer f.mu.Unlock()
	return n, err == nil && name == f.name && n <= f.last
}

// newest is the number of the newest event.
func (f *Feed) newest() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// after gives the next events after a number, up to some, and the number of the last of them; late
// tells that some are gone. With none, more is closed when there is one.
func (f *Feed) after(n uint64) (events []Event, last uint64, late bool, more <-chan struct{}) {
	const some = 100
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last > uint64(f.size) && n < f.last-uint64(f.size) {
		return nil, f.last, true, nil
	}
	for n < f.last && len(events) < some {
		events = append(events, f.ring[n%uint64(f.size)])
		n++
	}
	return events, n, false, f.more
}

// join takes a reader in; false: there are too many.
func (f *Feed) join(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count[name] >= maxReadersOfOne || f.sum() >= maxReaders {
		return false
	}
	f.count[name]++
	return true
}

func (f *Feed) leave(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count[name]--; f.count[name] == 0 {
		delete(f.count, name)
	}
}

func (f *Feed) sum() (n int) {
	for _, count := range f.count {
		n += count
	}
	return n
}

func (f *Feed) readers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sum()
}
