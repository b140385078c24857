package authority

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Expiry is something that ends, and what is to be done about it.
type Expiry struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
	Hint string    `json:"hint"`
}

// Times before the end of something at which a person is told.
const (
	tellCertificate = 30 * 24 * time.Hour
	tellAuthority   = 365 * 24 * time.Hour // hosts that are away then are to come back before
)

// Expiring lists what ends soon and does not renew by itself.
func (a *Authority) Expiring() []Expiry {
	var list []Expiry
	now := a.now()
	if ca := a.keys.Load().authority.certificate; ca.NotAfter.Sub(now) < tellAuthority {
		list = append(list, Expiry{"the CA of the server", ca.NotAfter, "rotate the CA, as long as all hosts still come around before it ends"})
	}
	if a.own.certificate != "" {
		c, err := a.own.get(now)
		switch {
		case err != nil:
			list = append(list, Expiry{What: "the certificate in " + a.own.certificate, At: now, Hint: err.Error()})
		case c.Leaf.NotAfter.Sub(now) < tellCertificate:
			list = append(list, Expiry{"the certificate in " + a.own.certificate, c.Leaf.NotAfter, "renew it, and put it in place of the present one: it is read without a restart"})
		}
	}
	a.noticed.mu.Lock()
	defer a.noticed.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(a.noticed.list)) {
		if e := a.noticed.list[what]; e.At.Sub(now) < tellCertificate {
			list = append(list, e)
		}
	}
	return list
}

// noticed are certificates of others that the server depends on, by what they are.
type noticed struct {
	mu   sync.Mutex
	list map[string]Expiry
}

// Notice takes in when something ends that another part of the server depends on, in place of what was noticed of it before. It is among what is
// Expiring as soon as that is near.
func (a *Authority) Notice(e Expiry) {
	a.noticed.mu.Lock()
	defer a.noticed.mu.Unlock()
	if a.noticed.list == nil {
		a.noticed.list = map[string]Expiry{}
	}
	a.noticed.list[e.What] = e
}
