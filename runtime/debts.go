package runtime

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// What handlers are owed. A part's end says which handlers it notifies (owes);
// the ledger keeps that until a wave of the handler has gone well.

// notice is one handler that a node may notify.
type notice struct {
	handler string // without wave
	part    string // empty: whichever part of the node it is
	event   string // states.OnChange or OnFailure
}

// debts is what handlers are owed.
type debts struct {
	ledger *journal.Replay          // of all sites, as the run goes; an apply's alone
	open   map[string][]states.Debt // from earlier runs, by handler, until a wave takes it
}

// inheritDebts begins with what earlier runs have left.
func (e *engine) inheritDebts() {
	past := e.options.Past
	if past == nil {
		past = &journal.Ledger{Format: journal.LedgerFormat}
	}
	site, id := journal.Identity(e.run.Site, e.options.Origin), ""
	if j := e.options.Journal; j != nil {
		id = j.ID()
	}
	e.earlierActs = past.Of(site)
	e.debts.open = map[string][]states.Debt{}
	if !e.planning() {
		e.debts.ledger = journal.NewReplay(past.Clone(), site, id)
	}
	for _, d := range e.earlierActs.Debts {
		d.Handler = states.Renamed(d.Handler, e.run.Moved)
		if e.isAccountedFor(d) {
			continue
		}
		e.debts.open[d.Handler] = append(e.debts.open[d.Handler], d)
	}
}

// declared gives the addresses, without waves, of the handlers (and whatever
// else can be notified) and of the parts that the site still has.
func declared(run *states.StateRun) (handlers, parts map[string]bool) {
	handlers, parts = map[string]bool{}, map[string]bool{}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			handlers[states.WithoutWave(list[i].Address)] = true
			for k := range list[i].Parts {
				parts[states.WithoutWave(list[i].Parts[k].Address)] = true
			}
		}
	}
	return handlers, parts
}

// announceDebts tells, at the start of a run, what earlier ones have left.
func (e *engine) announceDebts() {
	if e.earlierActs.Empty() {
		return
	}
	handlers, parts := declared(e.run)
	for _, d := range e.earlierActs.Debts {
		was := d
		d.Handler, d.Notifier = states.Renamed(d.Handler, e.run.Moved), states.Renamed(d.Notifier, e.run.Moved)
		ev := states.Event{Address: d.Handler, Run: d.Run, Owed: []states.Debt{was}}
		switch {
		case !handlers[d.Handler]:
			delete(e.debts.open, d.Handler)
			ev.Type, ev.Reason = states.EventDropped, "dropped, for it is no longer declared: "+debtReason(ev.Owed)
			e.recorder.emit(ev)
		case d.Handler != was.Handler || d.Notifier != was.Notifier:
			ev.Type, ev.Owed = states.EventOwed, []states.Debt{was, d}
			e.recorder.emit(ev)
		}
	}
	for _, b := range e.earlierActs.Unknown {
		ev := states.Event{Type: states.EventUnknown, Address: states.Renamed(b.Address, e.run.Moved), ID: b.ID, Part: b.Type, Key: b.Key, Run: b.Run}
		ev.Reason = "run " + b.Run + " began it, and nobody saw it end; "
		switch {
		case parts[ev.Address]:
			ev.Reason += "it is tried again"
		case isLeftOut(e.run, ev.Address):
			ev.Reason += "it is left out now"
		default:
			ev.Type, ev.Address = states.EventDropped, b.Address
			ev.Reason += "it is no longer declared"
			if m := e.options.Registry.Lookup(b.Type); m != nil && m.IsAct() { // of which nobody lists what is left out
				ev.Reason += ", or left out by its when"
			}
		}
		e.recorder.emit(ev)
	}
}

// isLeftOut reports whether a part is declared, and left out of the run.
func isLeftOut(run *states.StateRun, address string) bool {
	return slices.ContainsFunc(run.LeftOut, func(r states.Resource) bool {
		return r.Address == address || r.Type == "" && states.Within(address, r.Address)
	})
}

// debtReason tells why a handler is owed.
func debtReason(list []states.Debt) string {
	d := list[0]
	text := fmt.Sprintf("owed since run %s: %s", d.Run, d.Cause())
	if more := len(list) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// takeDebts gives why the handler of a wave is owed something that its notifiers in
// this run do not account for; the wave takes it over. Empty: it is not.
func (e *engine) takeDebts(n *node) []states.Debt {
	if len(n.sources) == 0 && !n.inv.Handler && e.earlierActs.Empty() {
		return nil
	}
	handler := states.WithoutWave(n.address)
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	list := e.debts.open[handler]
	delete(e.debts.open, handler)
	return list
}

// unaccountedDebts leaves out of what a handler is owed what this run owes it by itself, if
// something in this run calls it: it goes on, and the part that the process before left open
// has been carried out since.
func unaccountedDebts(owed []states.Debt, called bool, id string) []states.Debt {
	return slices.DeleteFunc(slices.Clone(owed), func(d states.Debt) bool { return called && id != "" && d.Run == id })
}

// recordHandlerStart records that a handler's wave starts, with what it takes over.
func (e *engine) recordHandlerStart(n *node, owed []states.Debt) {
	if e.planning() && len(owed) == 0 || len(n.sources) == 0 && !n.inv.Handler && len(owed) == 0 {
		return
	}
	n.isStartRecorded = true
	e.recorder.emit(states.Event{Type: states.EventStart, Address: n.address, Owed: owed})
}

// possibleDebts lists the handlers that a part may notify, by itself, its invocation or
// a block around it.
func (n *node) possibleDebts(part string) []string {
	out := n.collect(part, func(notice) bool { return true })
	for _, b := range n.blocks {
		out = unite(out, b.possibleDebts(""))
	}
	return out
}

// debtsOf lists the handlers that a part's end notifies.
func (n *node) debtsOf(part string, was notification) []string {
	if was.change != surely && was.failure != surely {
		return nil
	}
	return n.collect(part, func(t notice) bool {
		if t.event == states.OnFailure {
			return was.failure == surely
		}
		return was.change == surely
	})
}

// debtsOfBlocks lists the handlers that the blocks around a node notify since it has
// failed and nothing excuses that. Those of a block that another one inside it may
// rescue are left to that block's end.
func (n *node) debtsOfBlocks() (out []string) {
	for _, b := range n.blocks {
		out = append(out, b.notifyFailure()...)
		rescue := len(b.block.Rescue) > 0 && slices.Contains(b.block.Members, n.address)
		if !rescue && !b.block.IgnoreFailure {
			out = append(out, b.debtsOfBlocks()...)
		}
	}
	return out
}

// collect goes over what the node and the blocks around it notify of changes, and
// what the node does of a failure.
func (n *node) collect(part string, fits func(notice) bool) (out []string) {
	add := func(t notice) {
		if fits(t) && !slices.Contains(out, t.handler) {
			out = append(out, t.handler)
		}
	}
	for _, t := range n.notices {
		if t.part == "" || t.part == part {
			add(t)
		}
	}
	for _, b := range n.blocks {
		out = unite(out, b.collect("", func(t notice) bool { return t.event == states.OnChange && fits(t) }))
	}
	return out
}

// debtsAsBlock lists the handlers that the end of a block notifies: those on
// failure, for changes were told by its parts.
func (n *node) debtsAsBlock() []string {
	if n.notification.failure != surely {
		return nil
	}
	if n.blockedBy == "" {
		return n.notifyFailure()
	}
	return unite(n.notifyFailure(), n.debtsOfBlocks())
}

// notifyFailure lists the handlers that the node notifies when it fails.
func (n *node) notifyFailure() (out []string) {
	for _, t := range n.notices {
		if t.event == states.OnFailure && !slices.Contains(out, t.handler) {
			out = append(out, t.handler)
		}
	}
	return out
}

// unite adds what is not there yet.
func unite(list, more []string) []string {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// subset reports whether all of a are in b.
func subset(a, b []string) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}
