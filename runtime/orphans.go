package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// What the site has created and declares no longer: it is listed in each run and,
// in one that prunes, removed, by the same steps as whatever is to be absent.

// orphans are what is found of that before a run.
type orphans struct {
	list      []*orphan
	forgotten []*journal.Created  // what the site lets go of
	hasRead   bool                // what the site holds was read
	site      *states.StateRun    // without what removes them
	removals  map[string]*removal // of those that have made many things, by the address of what removes them
}

// orphan is one resource that is no longer declared.
type orphan struct {
	entry      *journal.Created
	keepReason string // it is not removed; empty: it may be

	isRetained bool   // it stays, as one of those of which a number does, or below one
	lateReason string // why it is removed behind everything else, though nothing prunes; empty: it is not

	removal *removal // of one that has made many things
}

// address is that of the part that removes it.
func (o *orphan) address() string { return "orphan." + states.LabelAddress(o.entry.Type, o.entry.Key) }

// description tells what it was.
func (o *orphan) description() string {
	text := fmt.Sprintf("was %s, created by run %s", o.entry.Address, o.entry.Run)
	if o.lateReason != "" {
		text += "; " + o.lateReason
	}
	return text
}

// part is what removes it.
func (o *orphan) part(host string) states.Part {
	return states.Part{
		Address: o.address(), ID: graph.PartID(host, o.address()), Type: o.entry.Type, Key: o.entry.Key,
		Ensure: states.Absent, Values: o.entry.Values,
	}
}

// managed gives what the run's site manages; nil where it manages nothing, or the
// run is a guard's question within another.
func (e *engine) managed() *journal.Managed {
	if e.run.Site == "" || e.options.outer != nil {
		return nil
	}
	return e.options.Managed
}

// findOrphans looks for what the run's site has created, and declares no longer.
func (e *engine) findOrphans(ctx context.Context) error {
	m := e.managed()
	if m == nil {
		return nil
	}
	if m.Settled(e.run.Site, e.run.Revision) {
		return m.Err()
	}
	e.orphans.hasRead, e.orphans.removals = true, map[string]*removal{}
	holding, others := m.Holding(e.run.Site), m.Others(e.run.Site)
	if err := m.Err(); err != nil {
		return err
	}
	holding.Moved(e.run.Moved)
	e.orphans.site = e.run
	entries := holding.Entries()
	if len(entries) == 0 {
		return nil
	}
	declared := declares(e.orphans.site, e.options.Registry, holding, nil)
	declared.addHeldPaths(e.options.Registry, entries, others)
	var found []*orphan
	for _, c := range entries {
		if c.Claim || declared.has(c) {
			continue
		}
		switch held := holderKind(others, c); {
		case held == "claimed":
		case held != "": // it has been created anew by the other site
			e.orphans.forgotten = append(e.orphans.forgotten, c)
		default:
			if o := e.findOrphan(ctx, c, declared); o != nil {
				found = append(found, o)
			}
		}
	}
	e.retain(found, entries, declared)
	for _, o := range found {
		e.judgeOrphan(o, declared)
	}
	e.orphans.list = inReverse(e.orphans.list, e.run.Moved)
	e.tryLateRemovals(ctx)
	return nil
}

// addHeldPaths notes the paths of what is held, and not to be removed with an orphan: by
// other sites, or since it is declared, though perhaps by what does not run now.
func (d *declaredResources) addHeldPaths(registry *states.Registry, entries []*journal.Created, others []*journal.Holding) {
	held := slices.DeleteFunc(slices.Clone(entries), func(c *journal.Created) bool { return !d.has(c) })
	own := len(held)
	for _, other := range others {
		held = append(held, other.Entries()...)
	}
	for i, c := range held {
		m := registry.ModuleOf(c.Type)
		if m == nil {
			continue
		}
		d.take(m, c.Key, m.Paths(c.Values))
		if i >= own && m.Makes != nil && onlyPathKey(m) != "" {
			d.foreignTrees[path.Clean(c.Key)] = true
		}
	}
}

// holderKind tells how another site holds a resource: "created", "claimed" or not.
func holderKind(others []*journal.Holding, c *journal.Created) (how string) {
	for _, o := range others {
		switch other := o.Entry(c.Type, c.Key); {
		case other != nil && !other.Claim:
			return "created"
		case other != nil:
			how = "claimed"
		}
	}
	return how
}

// judgeOrphan finds out whether a resource that is there still is in the way of others.
func (e *engine) judgeOrphan(o *orphan, declared *declaredResources) {
	if m := e.options.Registry.Lookup(o.entry.Type); o.keepReason == "" && !o.isRetained {
		var covered bool
		if o.keepReason, covered = declared.inTheWay(m, o.entry, o.removal == nil); covered {
			e.orphans.forgotten = append(e.orphans.forgotten, o.entry)
			return
		}
	}
	if o.removal != nil {
		e.orphans.removals[o.address()] = o.removal
	}
	e.orphans.list = append(e.orphans.list, o)
}

// findOrphan finds out whether a resource is there still, and can be removed; nil: the
// site lets go of it.
func (e *engine) findOrphan(ctx context.Context, c *journal.Created, declared *declaredResources) *orphan {
	o := &orphan{entry: c}
	m := e.options.Registry.ModuleOf(c.Type)
	var want any
	var err error
	switch {
	case m == nil:
		o.keepReason = "there is no module " + c.Type + " any more"
	case m.Remove == nil:
		o.keepReason = fmt.Sprintf("a part of type %s cannot be absent: %s", c.Type, m.NoAbsent)
	default:
		if want, err = m.Decode(c.Values, nil); err == nil {
			err = m.Check(want)
		}
		if err != nil {
			o.keepReason = "the module " + c.Type + " does not take its values any more: " + err.Error()
		}
	}
	on := e.actors.of(ctx, "").view(nil, nil)
	if o.keepReason == "" {
		o.keepReason = redirectedPath(on, m.Paths(c.Values))
	}
	if o.keepReason == "" && m.Makes != nil {
		if o.removal, o.keepReason = e.remover(m, c, declared); o.removal == nil && isGone(on, m.Paths(c.Values)) {
			e.orphans.forgotten = append(e.orphans.forgotten, c)
			return nil
		}
	}
	if o.keepReason == "" {
		there, err := o.compare(ctx, m, on, want)
		var onHost *fs.PathError // not that something else is there: to prune will fail
		switch {
		case err != nil && !((e.run.Prune || hasLeft(e.run, c)) && errors.As(err, &onHost)) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, host.ErrUnforeseeable):
			if !errors.As(err, &onHost) && fault.In(err) == nil && declared.isAt(m, c) {
				e.orphans.forgotten = append(e.orphans.forgotten, c) // it was removed, and this put in its place
				return nil
			}
			o.keepReason = "it cannot be looked at: " + err.Error()
		case err == nil && !there: // somebody else has removed it
			e.orphans.forgotten = append(e.orphans.forgotten, c)
			return nil
		}
	}
	return o
}

// compare reports whether anything of an orphan is there.
func (o *orphan) compare(ctx context.Context, m *states.Module, h host.Host, want any) (there bool, err error) {
	defer fault.Catch(&err)
	if o.removal != nil {
		found, err := o.removal.compare(ctx, h)
		return found != nil && found.isThere, err
	}
	have, err := m.Read(ctx, h, want)
	return have != nil, err
}

// isGone reports whether nothing stands at the first of some paths.
func isGone(h host.Host, paths []string) bool {
	if len(paths) == 0 {
		return false
	}
	_, err := h.Lstat(paths[0])
	return errors.Is(err, fs.ErrNotExist)
}

// moduleOf gives the module of a part: of one that removes an orphan which has made
// many things, the one that knows which.
func (e *engine) moduleOf(p *states.Part) *states.Module {
	m := e.options.Registry.ModuleOf(p.Type)
	if r := e.orphans.removals[p.Address]; r != nil {
		return r.module(m)
	}
	return m
}

// inReverse sorts orphans as they are removed: what required another, as things
// were, before that; else what was created last first.
func inReverse(list []*orphan, moved []states.Moved) []*orphan {
	below := map[string][]*orphan{} // by address, and by all that it is within
	for _, o := range list {
		address := o.entry.Address
		for i := range address {
			if address[i] == '.' || address[i] == '[' {
				below[address[:i]] = append(below[address[:i]], o)
			}
		}
		below[address] = append(below[address], o)
	}
	before := map[*orphan][]*orphan{} // of each, those that required it
	for _, o := range list {
		for _, r := range o.entry.Requires {
			for _, required := range below[states.Renamed(r, moved)] {
				before[required] = append(before[required], o)
			}
		}
	}
	var out []*orphan
	seen := map[*orphan]bool{}
	var place func(o *orphan)
	place = func(o *orphan) {
		if seen[o] {
			return
		}
		seen[o] = true
		for _, first := range slices.Backward(before[o]) {
			place(first)
		}
		out = append(out, o)
	}
	for _, o := range slices.Backward(list) {
		place(o)
	}
	return out
}

// withOrphans gives the run with an invocation for each orphan that is to be
// removed. They come one after the other, before whatever is of one of their types
// or stands where one of them does.
func (e *engine) withOrphans(run *states.StateRun) *states.StateRun {
	var first []states.Invocation
	types, places := map[string]bool{}, map[string]bool{}
	last, before := "", e.departureAddresses(run)
	for _, o := range e.orphans.list {
		if o.keepReason != "" || o.isRetained || o.lateReason != "" || !run.Prune && !hasLeft(run, o.entry) {
			continue
		}
		inv := states.Invocation{Address: o.address(), State: o.address(), Parts: []states.Part{o.part(run.Host)}}
		if last != "" {
			inv.After = []string{last}
		}
		if hasLeft(run, o.entry) { // what deletes nodes may need it
			inv.Requires = before
		}
		first, last = append(first, inv), inv.Address
		types[o.entry.Type] = true
		for _, p := range e.options.Registry.ModuleOf(o.entry.Type).Paths(o.entry.Values) {
			for p = path.Clean(p); !places[p]; p = path.Dir(p) {
				places[p] = true
			}
		}
	}
	if len(first) == 0 {
		return run
	}
	out := *run
	out.Invocations = append(first, run.Invocations...)
	for i := len(first); i < len(out.Invocations); i++ {
		inv := &out.Invocations[i]
		touches := func(p states.Part) bool {
			m := e.options.Registry.ModuleOf(p.Type)
			return types[p.Type] || m != nil && slices.ContainsFunc(m.Paths(p.Values), func(at string) bool { return places[path.Clean(at)] })
		}
		if !e.departures.has(inv) && slices.ContainsFunc(inv.Parts, touches) {
			inv.After = append(slices.Clone(inv.After), last)
		}
	}
	return &out
}

// announceOrphans tells, at the start of a run, what is no longer declared.
func (e *engine) announceOrphans() {
	for _, o := range e.orphans.list {
		if o.isRetained {
			continue
		}
		ev := states.Event{
			Type: states.EventOrphan, Address: o.entry.Address, ID: o.entry.ID, Part: o.entry.Type, Key: o.entry.Key,
			Run: o.entry.Run, Reason: e.recorder.mask.text(o.keepReason),
		}
		if (e.run.Prune || o.lateReason != "" || hasLeft(e.run, o.entry)) && o.keepReason == "" {
			ev.Action = states.Remove
			e.nodes[o.address()].callReason = o.description()
		}
		e.recorder.emit(ev)
	}
	if e.planning() {
		return
	}
	for _, c := range e.orphans.forgotten {
		e.recorder.emit(states.Event{Type: states.EventForgotten, Address: c.Address, Part: c.Type, Key: c.Key})
	}
}

// settleManaged notes, at the end of an apply, what the site claims of others, and
// whether all that it holds is declared.
func (e *engine) settleManaged() {
	m := e.managed()
	if m == nil || e.planning() || !e.orphans.hasRead {
		return
	}
	holding, others := m.Holding(e.run.Site), m.Others(e.run.Site)
	if m.Err() != nil {
		return // told when the run is recorded
	}
	declared := declares(e.orphans.site, e.options.Registry, holding, e.recorder.reports)
	holding.Claim(others, func(c *journal.Created) bool {
		return declared.present[states.Resource{Type: c.Type, Key: c.Key}]
	})
	settled := true
	for _, c := range holding.Entries() {
		settled = settled && (c.Claim || declared.has(c) && !declared.absent[states.Resource{Type: c.Type, Key: c.Key}])
	}
	if settled {
		m.Settle(e.run.Site, e.run.Revision)
	} else {
		m.Unsettle(e.run.Site)
	}
}
