package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// Reachability tells when a host was heard of.
type Reachability struct {
	Connected bool      `json:"connected"` // it was heard of since the server has started, and does not count as lost
	Seen      time.Time `json:"seen,omitzero"`
	Lost      bool      `json:"lost"` // it was silent for three signs of life
}

// Delivery says how far what is wanted of a host has come.
type Delivery struct {
	Target   *trust.Position `json:"target,omitempty"` // nil: nothing was ever wanted
	Revision string          `json:"revision,omitempty"`
	Since    time.Time       `json:"since,omitzero"` // when it became the target
	Held     *trust.Position `json:"held,omitempty"`
	Adopted  bool            `json:"adopted"`           // the loop has taken the target up
	Pending  string          `json:"pending,omitempty"` // why it has not come that far
	Refused  *Objection      `json:"refused,omitempty"` // what the host has against the target; nil: nothing, as far as it has told
	Absent   bool            `json:"absent,omitempty"`  // the site says nothing of the host any more
}

// SiteStatus is how a host stands with one site.
type SiteStatus struct {
	Delivery Delivery      `json:"delivery"`
	Loop     *control.Loop `json:"loop,omitempty"`
	Since    time.Time     `json:"since,omitzero"`   // of the loop's phase
	Report   *ReportStatus `json:"report,omitempty"` // nil: the host has reported nothing yet
}

// ReportStatus is what the newest report of a host for a site comes to.
type ReportStatus struct {
	Run      string    `json:"run"`
	Revision string    `json:"revision"` // of the site
	Ready    bool      `json:"ready"`    // everything is as wanted
	At       time.Time `json:"at"`
	Changed  time.Time `json:"changed,omitzero"` // when a run ended last that has changed something; zero: it is not known
	// Mended is when one did that had nothing new to do, and found what was as wanted to be otherwise; likewise.
	Mended time.Time `json:"mended,omitzero"`

	stateRun string // the revision of the StateRun; empty: it is not known
}

// Status is how a host stands.
type Status struct {
	Reachability Reachability           `json:"reachability"`
	Sites        map[string]*SiteStatus `json:"sites"`
	Program      *trust.Running         `json:"program,omitempty"` // that its agent runs, as it said last
	Refused      string                 `json:"refused,omitempty"` // why its agent is not listened to
	Release      string                 `json:"release,omitempty"` // the version that it is to run
	Update       *control.Update        `json:"update,omitempty"`  // how far it is with a release, as it said last
	Limit        *Limit                 `json:"limit,omitempty"`   // nil: what it tells is taken in
	Trouble      []Objection            `json:"trouble,omitempty"` // what keeps the host from taking up or telling anything
}

// Status tells how a host stands, without asking the store.
func (s *Sessions) Status(id trust.ID) Status {
	out := Status{Sites: map[string]*SiteStatus{}}
	h := s.known(id)
	if h == nil {
		return out
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	recovering, now := s.server().Recovering, s.Clock()
	out.Reachability = s.reachability(h, now)
	out.Program, out.Refused, out.Update = h.core.Program, h.core.Refused, h.update
	if h.limit != nil {
		limit := *h.limit
		out.Limit = &limit
	}
	if h.core.Release != nil {
		out.Release = h.core.Release.Version
	}
	out.Trouble = h.trouble()
	for _, site := range slices.Sorted(maps.Keys(h.targets)) {
		out.Sites[site] = h.site(site)
		if d := &out.Sites[site].Delivery; !d.isHeld() {
			d.Pending = h.pending(h.targets[site], recovering, out.Reachability.Connected, now)
		}
	}
	return out
}

// Loop gives what a host has told last of its loop of a site of which something is wanted; false: nothing. All hosts are asked about again and again, so that no
// Status is made for it.
func (s *Sessions) Loop(id trust.ID, site string) (control.Loop, bool) {
	h := s.known(id)
	if h == nil {
		return control.Loop{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.loops[site]; l != nil && h.targets[site] != nil {
		return l.Loop, true
	}
	return control.Loop{}, false
}

// Held gives the newest that a host has shown to have of a site of which something is wanted; zero: nothing.
func (s *Sessions) Held(id trust.ID, site string) trust.Position {
	h := s.known(id)
	if h == nil {
		return trust.Position{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.targets[site] == nil {
		return trust.Position{}
	}
	return h.core.Held[site].Position
}

// Reachability tells when a host was heard of.
func (s *Sessions) Reachability(id trust.ID) Reachability {
	h := s.known(id)
	if h == nil {
		return Reachability{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return s.reachability(h, s.Clock())
}

func (s *Sessions) reachability(h *host, now time.Time) Reachability {
	return Reachability{Seen: h.seen, Lost: s.lost(h.seen), Connected: s.connected(h, now)}
}

// site tells how a host stands with a site of which something is wanted.
func (h *host) site(site string) *SiteStatus {
	t := h.targets[site]
	st := &SiteStatus{Delivery: Delivery{Target: &t.Position, Revision: t.Revision, Since: t.Since, Absent: t.Absent}, Report: h.reports[site]}
	held, ok := h.core.Held[site]
	if ok {
		st.Delivery.Held = &held.Position
	}
	if !st.Delivery.isHeld() {
		st.Delivery.Refused = h.objection(site, t.Position)
	}
	if l := h.loops[site]; l != nil {
		st.Loop, st.Since = &l.Loop, l.Since
		st.Delivery.Adopted = l.Position.Compare(t.Position) >= 0
	}
	return st
}

// isHeld tells whether a host has its target, or something that came after it.
func (d *Delivery) isHeld() bool { return d.Held != nil && d.Held.Compare(*d.Target) >= 0 }

// pending says why a host does not have its target.
func (h *host) pending(t *Target, recovering, connected bool, now time.Time) string {
	switch {
	case recovering:
		return "the server was put back from a backup, and delivers nothing until a person has it resume"
	case h.core.Locked:
		return "the host is locked"
	case !connected:
		return "the agent is not connected"
	case now.After(t.Until):
		return "hosts were to take it up until " + t.Until.UTC().Format(time.RFC3339) + ": deploy again"
	}
	if o := h.objection(t.Site, t.Position); o != nil {
		return o.String()
	}
	return "it is being delivered"
}

// Facts gives the newest facts of a host, and as the host has signed them; nil: it has told none.
func (s *Sessions) Facts(ctx context.Context, id trust.ID) (report *control.FactsReport, signed *trust.Signed, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		var data []byte
		found, err := store.One(r, `SELECT signed FROM sessions_facts WHERE host = $1`, []any{string(id)}, &data)
		if err != nil || !found {
			return err
		}
		signed, report = &trust.Signed{}, &control.FactsReport{}
		if err := json.Unmarshal(data, signed); err != nil {
			return err
		}
		return json.Unmarshal(signed.Content, report) // it was verified when it came
	})
	return report, signed, err
}

// Report gives the newest report of a host for a site; nil: there is none.
func (s *Sessions) Report(ctx context.Context, id trust.ID, site string) (report *states.Report, at time.Time, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		var data []byte
		found, err := store.One(r, `SELECT report, at FROM sessions_reports WHERE host = $1 AND site = $2`, []any{string(id), site}, &data, &at)
		if err != nil || !found {
			return err
		}
		report = &states.Report{}
		return s.compressor.unpack(data, report)
	})
	return report, at, err
}

// Events gives the events of a run, as lines of JSON.
func (s *Sessions) Events(ctx context.Context, id trust.ID, run string) (lines []byte, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		lines = nil
		return r.Query(`SELECT events FROM sessions_events WHERE host = $1 AND run = $2 ORDER BY part`, []any{string(id), run}, func(row store.Row) error {
			var data []byte
			if err := row.Scan(&data); err != nil {
				return err
			}
			var err error
			lines, err = s.compressor.expand(data, lines)
			return err
		})
	})
	if err == nil && lines == nil {
		err = &diag.HintError{Code: "not_found", Err: fmt.Errorf("no events of a run %.80q of this host are kept", run)}
	}
	return lines, err
}

// SiteOf tells of which site a run is; empty: it is not known.
func (s *Sessions) SiteOf(ctx context.Context, id trust.ID, run string) (site string, err error) {
	err = s.Store.Read(ctx, func(r store.Reader) error {
		_, err := store.One(r, `SELECT site FROM sessions_runs WHERE host = $1 AND run = $2`, []any{string(id), run}, &site)
		return err
	})
	return site, err
}

// References calls a function for each content that hosts are to have, or are offered now.
func (s *Sessions) References(each func(trust.Digest)) {
	for _, h := range s.all() {
		h.mu.Lock()
		for _, t := range append(slices.Collect(maps.Values(h.targets)), h.offers...) {
			each(t.Bundle.SHA256)
			for _, f := range t.Files {
				each(f.SHA256)
			}
		}
		h.mu.Unlock()
	}
}
