package embedded

import (
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

// gate decides who is let in, and knows the connections of each host.
type gate struct {
	authorize func(trust.ID, string) bool
	token     string // of the server's own connection
	server    *server.Server

	mu     sync.Mutex
	hosts  map[trust.ID]map[uint64]visit // by the numbers of connections, of which some have ended
	count  int
	banned map[trust.ID]time.Time // until when
}

// visit is a connection.
type visit struct {
	instance string
	admitted bool // it is known that it is the host's
}

// maxVisits is how many connections a host may have: one, and those of its clones that are still to be found out.
const maxVisits = 16

// Check is server.Authentication's. An agent says by its name which host and instance it is, and signs the nonce of this connection.
func (g *gate) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	o := c.GetOpts()
	if o.Token != "" {
		return c.RemoteAddress().Network() == "pipe" && subtle.ConstantTimeCompare([]byte(o.Token), []byte(g.token)) == 1
	}
	address, err := link.ParseAddress(o.Name)
	if err != nil || !hasSigned(o.Nkey, c.GetNonce(), o.Sig) {
		return false
	}
	g.enter(address, c.GetID()) // before it is asked: who locks the host now either finds the connection, or is found by Authorize
	if g.isBanned(address.Host, time.Now()) || !g.authorize(address.Host, o.Nkey) {
		g.leave(address.Host, c.GetID())
		return false
	}
	for _, id := range g.admit(address.Host, c.GetID()) {
		_ = g.server.DisconnectClientByID(id) // the error says that it has gone
	}
	c.RegisterUser(&server.User{Username: address.String(), Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{link.Subjects(link.Up, address)}},
		Subscribe: &server.SubjectPermission{Allow: []string{link.Subjects(link.Down, address)}},
	}})
	return true
}

func hasSigned(key string, nonce []byte, signature string) bool {
	if len(nonce) == 0 || !nkeys.IsValidPublicUserKey(key) {
		return false
	}
	sum, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(signature, "="))
	if err != nil {
		return false
	}
	public, err := nkeys.FromPublicKey(key)
	return err == nil && public.Verify(nonce, sum) == nil
}

func (g *gate) enter(a link.Address, id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hosts[a.Host] == nil {
		g.hosts[a.Host] = map[uint64]visit{}
	}
	g.hosts[a.Host][id] = visit{instance: a.Instance}
	g.count++
	if g.count > 2*g.server.NumClients()+1000 {
		g.sweep()
	}
}

// admit notes that a connection is the host's, and gives the oldest ones where that has too many.
func (g *gate) admit(host trust.ID, id uint64) []uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	visits := g.hosts[host]
	if v, ok := visits[id]; ok {
		v.admitted = true
		visits[id] = v
	}
	if len(visits) <= maxVisits {
		return nil
	}
	var ids []uint64
	for id, v := range visits {
		if v.admitted && g.server.GetClient(id) != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:max(0, len(ids)-maxVisits)]
}

// sweep forgets connections that have ended, of which nobody tells.
func (g *gate) sweep() {
	for host, ids := range g.hosts {
		for id := range ids {
			if g.server.GetClient(id) == nil {
				delete(ids, id)
				g.count--
			}
		}
		if len(ids) == 0 {
			delete(g.hosts, host)
		}
	}
}

func (g *gate) leave(host trust.ID, id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.hosts[host][id]; !ok {
		return
	}
	delete(g.hosts[host], id)
	g.count--
	if len(g.hosts[host]) == 0 {
		delete(g.hosts, host)
	}
}

// ban keeps a host out until a time. False: it is out already.
func (g *gate) ban(host trust.ID, until time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.banned[host]; ok {
		return false
	}
	g.banned[host] = until
	return true
}

func (g *gate) isBanned(host trust.ID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.banned[host]
	if ok && now.After(until) {
		delete(g.banned, host)
		ok = false
	}
	return ok
}

// connections lists those of a host; no instance: of all.
func (g *gate) connections(of link.Address) (ids []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, v := range g.hosts[of.Host] {
		if of.Instance == "" || of.Instance == v.instance {
			ids = append(ids, id)
		}
	}
	return ids
}

// limiter lets so many through in a second, and as many at once after a pause.
type limiter struct {
	rate float64 // negative: any number
	now  func() time.Time

	mu   sync.Mutex
	left float64
	last time.Time
}

func (l *limiter) allow() bool {
	if l.rate < 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.last.IsZero() {
		l.left = l.rate
	} else {
		l.left = min(l.rate, l.left+l.rate*now.Sub(l.last).Seconds())
	}
	l.last = now
	if l.left < 1 {
		return false
	}
	l.left--
	return true
}
