package journal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tenetcm/tenet/states"
)

// Created is a resource that a site has created on this host, so that it is the
// site's to remove once it is no longer declared.
type Created struct {
	Type    string    `json:"type"`
	Key     string    `json:"key"`
	Address string    `json:"address"` // of the part, without wave
	ID      string    `json:"id,omitempty"`
	Run     string    `json:"run"`  // that created it
	Time    time.Time `json:"time"` // when it did
	// Order is the place of its creation in that run.
	Order int64 `json:"order"`
	// Requires are the addresses that had to settle before, without waves.
	Requires []string `json:"requires,omitempty"`
	// Values find it again: keys and how-to attributes, none of them sensitive.
	Values map[string]any `json:"values"`
	// Manifest names the list of the things that it consists of, where these are many;
	// see Managed.Manifest.
	Manifest string `json:"manifest,omitempty"`
	// Made is Manifest as versions before state folders of format 3 have written it. It is
	// only read.
	Made string `json:"made,omitempty"`
	// Retain says that it stays once it is declared no longer, or a number of what its
	// address has stood for.
	Retain states.Retention `json:"retain,omitempty"`
	// WantedRun is the run that wanted it last, as what is to be retained, and WantedOrder
	// its place in that. Empty: none since it was created.
	WantedRun   string `json:"wanted_run,omitempty"`
	WantedOrder int64  `json:"wanted_order,omitempty"`
	// Cluster is the cluster without which it goes: it is declared by that alone.
	Cluster string `json:"cluster,omitempty"`
	// Claim marks what another site has created, and this one declares, too: as
	// long as it does, it stays.
	Claim bool `json:"claim,omitempty"`
}

// Resource names it.
func (c *Created) Resource() states.Resource { return states.Resource{Type: c.Type, Key: c.Key} }

// ByWanted sorts by when things were wanted last, or created: the last comes last.
func ByWanted(a, b *Created) int {
	return cmp.Or(cmp.Compare(cmp.Or(a.WantedRun, a.Run), cmp.Or(b.WantedRun, b.Run)), cmp.Compare(a.wantedOrder(), b.wantedOrder()))
}

func (c *Created) wantedOrder() int64 {
	if c.WantedRun == "" {
		return c.Order
	}
	return c.WantedOrder
}

// setWanted notes in which run something was wanted last, and how long, or with which cluster, it is to stay.
func (c *Created) setWanted(run string, ev *states.Event) {
	c.Retain, c.Cluster, c.WantedRun, c.WantedOrder = ev.Retain, ev.Cluster, run, ev.Seq
}

// Holding is what one site has created on this host, and what it claims of others:
// the sum of the events of its runs. It is data.
type Holding struct {
	Site    string
	entries map[states.Resource]*Created      // by type and key
	begun   map[string]*states.Event          // parts of the run that have not ended, by address
	wanted  map[states.Resource]*states.Event // what the run wants to be retained
	changed bool                              // since it was read
}

// NewHolding gives one that is empty.
func NewHolding(site string) *Holding {
	return &Holding{Site: site, entries: map[states.Resource]*Created{}, begun: map[string]*states.Event{},
		wanted: map[states.Resource]*states.Event{}}
}

// Add takes an event of a run of the site, be it after the run or as it goes.
func (h *Holding) Add(run string, ev *states.Event) {
	switch ev.Type {
	case states.EventResume:
		h.settle(run) // what the process before had begun
	case states.EventBegin:
		switch {
		case ev.Resource != nil:
			h.begun[ev.Address] = ev
		case manifestOf(ev) != "":
			h.follow(ev)
		}
	case states.EventPart:
		h.part(run, ev)
	case states.EventRestored:
		h.undone(cmp.Or(ev.Run, run), ev.ID)
	case states.EventWanted:
		h.want(run, ev)
	case states.EventForgotten:
		h.remove(states.Resource{Type: ev.Part, Key: ev.Key})
	}
}

// part takes a part's end.
func (h *Holding) part(run string, ev *states.Event) {
	begun := h.begun[ev.Address]
	delete(h.begun, ev.Address)
	name := states.Resource{Type: ev.Part, Key: ev.Key}
	switch done := ev.Outcome == states.Changed || ev.Outcome == states.Unchanged; {
	case ev.Ensure == states.Absent:
		if done {
			h.remove(name)
		}
	case begun != nil && (ev.Outcome == states.Changed || ev.Outcome == states.Unknown || ev.Resource != nil):
		h.create(run, begun) // in one of its attempts
	case done:
		h.rename(name, states.WithoutWave(ev.Address))
	}
}

// want takes note of what is wanted now, and of how much of it is to stay.
func (h *Holding) want(run string, ev *states.Event) {
	name := states.Resource{Type: ev.Part, Key: ev.Key}
	h.wanted[name] = ev // it may be created only now
	if c := h.entries[name]; c != nil && !c.Claim {
		wanted := *c
		wanted.setWanted(run, ev)
		h.put(&wanted)
	}
}

// manifestOf is the manifest that an event names, whatever version has written it.
func manifestOf(ev *states.Event) string { return cmp.Or(ev.Manifest, ev.Made) }

// follow takes note of what a part that is about to be updated will consist of.
func (h *Holding) follow(ev *states.Event) {
	if begun := h.begun[ev.Address]; begun != nil { // in another attempt of its creation
		again := *begun
		again.Manifest = manifestOf(ev)
		h.begun[ev.Address] = &again
		return
	}
	if c := h.Entry(ev.Part, ev.Key); c != nil && !c.Claim {
		follows := *c
		follows.Manifest = manifestOf(ev)
		h.put(&follows)
	}
}

// undone takes note that what a part had changed in a run is as it was before: what
// it had created then is gone.
func (h *Holding) undone(run, part string) {
	for name, c := range h.entries {
		if part != "" && c.ID == part && c.Run == run {
			h.remove(name)
		}
	}
}

// End takes note that no more events of a run will come. What was begun may be
// there: whoever wants to remove it looks first.
func (h *Holding) End(run string) { h.settle(run) }

func (h *Holding) settle(run string) {
	bySeq := func(a, b *states.Event) int { return cmp.Compare(a.Seq, b.Seq) }
	for _, ev := range slices.SortedFunc(maps.Values(h.begun), bySeq) {
		h.create(run, ev)
	}
	clear(h.begun)
	clear(h.wanted)
}

// create adds what an event has begun. One that a site holds already, and that was
// made anew, is as old as it is now.
func (h *Holding) create(run string, begun *states.Event) {
	c := &Created{
		Type: begun.Part, Key: begun.Key, Address: states.WithoutWave(begun.Address), ID: begun.ID,
		Run: run, Time: begun.Time, Order: begun.Seq, Requires: begun.Requires, Values: begun.Resource, Manifest: manifestOf(begun),
	}
	if was := h.entries[c.Resource()]; was != nil && !was.Claim { // which is made anew
		c.Retain, c.Cluster, c.WantedRun, c.WantedOrder = was.Retain, was.Cluster, was.WantedRun, was.WantedOrder
	}
	if ev := h.wanted[c.Resource()]; ev != nil {
		c.setWanted(run, ev)
	}
	h.put(c)
}

func (h *Holding) put(c *Created) {
	h.entries[c.Resource()] = c
	h.changed = true
}

func (h *Holding) remove(name states.Resource) {
	if h.entries[name] != nil {
		delete(h.entries, name)
		h.changed = true
	}
}

// rename notes by which part a resource is declared now.
func (h *Holding) rename(name states.Resource, address string) {
	if c := h.entries[name]; c != nil && c.Address != address {
		renamed := *c
		renamed.Address = address
		h.put(&renamed)
	}
}

// Moved gives entries the addresses that renamings have brought.
func (h *Holding) Moved(moved []states.Moved) {
	if len(moved) == 0 {
		return
	}
	for name, c := range h.entries {
		h.rename(name, states.Renamed(c.Address, moved))
	}
}

// Entries lists what the site has created, or claims, by creation.
func (h *Holding) Entries() []*Created {
	return slices.SortedFunc(maps.Values(h.entries), func(a, b *Created) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Order, b.Order),
			cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
}

// Entry gives what the site holds of one resource; nil: nothing.
func (h *Holding) Entry(typ, key string) *Created {
	return h.entries[states.Resource{Type: typ, Key: key}]
}

// Claim brings the claims up to date: all that other sites have created and this
// one declares is claimed, and nothing else.
func (h *Holding) Claim(others []*Holding, declares func(*Created) bool) {
	for name, c := range h.entries {
		if c.Claim && !declares(c) {
			h.remove(name)
		}
	}
	for _, other := range others {
		for name, c := range other.entries {
			if !c.Claim && h.entries[name] == nil && declares(c) {
				claim := *c
				claim.Claim, claim.Values, claim.Requires, claim.Manifest = true, nil, nil, ""
				claim.Retain, claim.Cluster, claim.WantedRun, claim.WantedOrder = 0, "", "", 0
				h.put(&claim)
			}
		}
	}
}
