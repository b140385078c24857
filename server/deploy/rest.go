package deploy

import (
	"maps"
	"slices"
	"time"
)

// basis is what a deployment about which there is nothing to do rests on: as long as that is so, and until a time, there is nothing to do about it.
type basis struct {
	version, clusters int64
	view              *hostView
	changes           int // of the view
	plans             int
	epoch             uint64
	full, forbidden   bool
	void              string // the keys that may not sign any more by which something was signed
	settles           time.Time
}

// restPeriod is a time in which nothing is to be done.
type restPeriod struct {
	basis
	since, until time.Time
}

// holds reports whether it is so still. Clocks may have been set back.
func (r restPeriod) holds(b basis, now time.Time) bool {
	return !r.until.IsZero() && r.basis == b && !now.Before(r.since) && now.Before(r.until)
}

// basis gives that of a site as it is now.
func (s *Service) basis(k *keptSite, v *hostView, g *roundInput) basis {
	b := basis{version: k.version, clusters: k.clusters, view: v, changes: v.changes, plans: g.plans, epoch: g.epochs[k.site], full: g.full, forbidden: g.forbidden, settles: s.settles}
	if s.Options.Signatures != nil {
		for _, key := range slices.Sorted(maps.Keys(k.signers)) {
			if s.Signatures.MayAssign(key) != nil {
				b.void += string(key) + " "
			}
		}
	}
	return b
}
