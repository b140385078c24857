package sessions

import (
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Glance is how a host stands with a site, in the words of the axes: what lists of many hosts look at.
type Glance struct {
	Site      string
	Revision  string // that is wanted
	Progress  Progress
	Readiness Readiness
	Drift     Drift
	Phase     control.Phase // empty: its loop has told of none
	Reason    string        // why it is in this phase
	// Text is the site, the revision, the phase and the reason, in small letters and in a line each: for whoever looks for words.
	Text string
}

// row is what lists look at of a host. It is never changed: another takes its place, so that nobody waits for the commit of what the host tells.
type row struct {
	hasInstance bool
	sites       []rowSite // by their names
}

type rowSite struct {
	Glance
	mended time.Time // zero: drift was never mended
}

// publish has lists see a host as it is. It is locked, or nobody else knows of it yet.
func (h *host) publish() {
	h.noteSeen()
	r := &row{hasInstance: h.instance != "", sites: make([]rowSite, 0, len(h.targets))}
	for site, t := range h.targets {
		one := rowSite{Glance: Glance{Site: site, Revision: t.Revision, Progress: ProgressPending, Readiness: readinessOf(h.reports[site]), Drift: NoDrift}}
		l := h.loops[site]
		if held, ok := h.core.Held[site]; ok && held.Position.Compare(t.Position) >= 0 {
			if one.Progress = ProgressHeld; l != nil && l.Position.Compare(t.Position) >= 0 {
				one.Progress = ProgressAdopted
			}
		}
		if l != nil {
			one.Phase, one.Reason = l.Phase, l.Reason
			one.Drift = driftOf(&l.Loop, nil, time.Time{})
		}
		one.Text = strings.ToLower(strings.Join([]string{one.Site, one.Revision, string(one.Phase), one.Reason}, "\n"))
		if report := h.reports[site]; report != nil {
			one.mended = report.Mended
		}
		r.sites = append(r.sites, one)
	}
	slices.SortFunc(r.sites, func(a, b rowSite) int { return strings.Compare(a.Site, b.Site) })
	h.row.Store(r)
}

// noteSeen has lists see when a host was heard of; 0: never.
func (h *host) noteSeen() {
	if !h.seen.IsZero() {
		h.seenAt.Store(h.seen.UnixNano())
	}
}

// Glances looks at hosts as they stand at one time, without asking the store and without waiting for anything.
type Glances struct {
	sessions *Sessions
	now      time.Time
	one      Glance
}

// Glances begins to look at hosts.
func (s *Sessions) Glances() *Glances { return &Glances{sessions: s, now: s.Clock()} }

// Host tells how reachable a host is, and calls a function for each site of which something is wanted there, by name, until that gives false. What it is given is good
// until it returns, and not to be changed.
func (g *Glances) Host(id trust.ID, each func(*Glance) bool) Reach {
	h := g.sessions.known(id)
	if h == nil {
		return ReachSilent
	}
	r := h.row.Load()
	if r == nil { // it is about to be told of for the first time
		return ReachSilent
	}
	for i := range r.sites {
		at := &r.sites[i].Glance
		if at.Drift == NoDrift && isMended(r.sites[i].mended, g.now) {
			g.one = *at
			g.one.Drift, at = Mended, &g.one
		}
		if !each(at) {
			break
		}
	}
	var seen time.Time // zero: never
	if at := h.seenAt.Load(); at != 0 {
		seen = time.Unix(0, at)
	}
	reach := Reachability{Connected: g.sessions.isConnected(r.hasInstance, seen, g.now)}
	reach.Lost = !reach.Connected && g.sessions.lost(seen)
	return reach.Reach()
}

// Drift says in a word whether what is there differs from what is wanted, or did.
type Drift string

// The values of the axis of drift.
const (
	NoDrift Drift = "none"    // as far as is known
	Drifted Drift = "drifted" // the loop says that something differs, and leaves it
	Mended  Drift = "mended"  // something differed without anything new being wanted, and was put right within MendedFor
)

// Drifts lists them.
func Drifts() []Drift { return []Drift{NoDrift, Drifted, Mended} }

// MendedFor is for how long a host counts as one whose drift was mended.
const MendedFor = 24 * time.Hour

// driftOf gives the place of a loop and report, of which either may be nil, on the axis.
func driftOf(l *control.Loop, r *ReportStatus, now time.Time) Drift {
	switch {
	case l != nil && l.Condition == control.ConditionDrifted:
		return Drifted
	case r != nil && isMended(r.Mended, now):
		return Mended
	}
	return NoDrift
}

// isMended tells whether drift that was mended at a time still counts; zero: there was none.
func isMended(at, now time.Time) bool { return !at.IsZero() && now.Sub(at) < MendedFor }

// Drift gives the place of a host and site on the axis.
func (s *SiteStatus) Drift(now time.Time) Drift { return driftOf(s.Loop, s.Report, now) }

// after is the report of a run that comes after the one that is known, which may be nil.
func (r *ReportStatus) after(run *control.Run) *ReportStatus {
	next := &ReportStatus{Run: run.Run, Revision: run.Revision, Ready: run.Report.Ready, At: run.Ended, stateRun: run.Report.Revision}
	if r != nil {
		next.Changed, next.Mended = r.Changed, r.Mended
	}
	if run.Counts == nil || run.Counts.Changed == 0 || r != nil && r.Run == run.Run { // one that is told again is known
		return next
	}
	next.Changed = run.Ended
	// Nothing else was wanted than before, and all was as wanted then.
	if r != nil && r.Ready && r.stateRun != "" && r.stateRun == run.Report.Revision && !run.Failed {
		next.Mended = run.Ended
	}
	return next
}
