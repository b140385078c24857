package api

import (
	"fmt"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
)

// How many connections to hosts are open at once. A host has 64: those that are left are the server's own.
const (
	maxConnections         = 10_000
	maxConnectionsOfPerson = 2_000 // with those of their programs
	maxConnectionsToHost   = 48
	maxConnectionsOfPair   = 16 // of one person to one host
)

// connections are those to hosts that are passed on. They are bounded for each person, so that nobody keeps others out.
type connections struct {
	mu   sync.Mutex
	open map[*passing]struct{}
	of   map[string]int
	to   map[trust.ID]int
	pair map[connectionPair]int
}

type connectionPair struct {
	person string
	host   trust.ID
}

func newConnections() *connections {
	return &connections{open: map[*passing]struct{}{}, of: map[string]int{}, to: map[trust.ID]int{}, pair: map[connectionPair]int{}}
}

func (p *passing) ends() connectionPair {
	return connectionPair{access.PersonOf(p.caller.Name), p.host.ID}
}

// join takes a connection in, unless there are too many.
func (c *connections) join(p *passing) error {
	ends := p.ends()
	c.mu.Lock()
	defer c.mu.Unlock()
	const own = "end some of yours, or try again later"
	switch {
	case c.pair[ends] >= maxConnectionsOfPair:
		return tooManyConnections(fmt.Sprintf("you have %d connections to this host already", maxConnectionsOfPair), own)
	case c.of[ends.person] >= maxConnectionsOfPerson:
		return tooManyConnections(fmt.Sprintf("you have %d connections to hosts already", maxConnectionsOfPerson), own)
	case c.to[ends.host] >= maxConnectionsToHost:
		return tooManyConnections(fmt.Sprintf("%d connections to this host are open", maxConnectionsToHost), "try again later")
	case len(c.open) >= maxConnections:
		return tooManyConnections(fmt.Sprintf("%d connections to hosts are open", maxConnections), "try again later")
	}
	c.open[p] = struct{}{}
	c.of[ends.person]++
	c.to[ends.host]++
	c.pair[ends]++
	return nil
}

func tooManyConnections(message, hint string) error {
	return &diag.HintError{Code: access.CodeTooMany, Message: message, Hint: hint}
}

func (c *connections) leave(p *passing) {
	ends := p.ends()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, p)
	reduce(c.of, ends.person)
	reduce(c.to, ends.host)
	reduce(c.pair, ends)
}

// reduce counts down, and forgets what is zero: names are many over time.
func reduce[K comparable](count map[K]int, key K) {
	if count[key]--; count[key] == 0 {
		delete(count, key)
	}
}

// look has the connections to a host looked at again.
func (c *connections) look(host trust.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.open {
		if p.host.ID == host {
			select {
			case p.look <- struct{}{}:
			default: // it is to look already
			}
		}
	}
}

// HostChanged says that a host may have another name, other labels, or another state: connections to it that are not allowed any more end.
func (a *API) HostChanged(host trust.ID) { a.connections.look(host) }
