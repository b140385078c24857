package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// rollbackLimit is how long what was changed may take to be put back, handlers
// included, once the run itself was told to end.
const rollbackLimit = 5 * time.Minute

// rollBack puts back what a block has changed, runs the handlers again that have
// run because of that, and ends the block's check as failed.
func (e *engine) rollBack(ctx context.Context, c *confirmation, why error) {
	interrupted := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	if interrupted {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, rollbackLimit)
		defer done()
	}
	u := &undo{engine: e, run: e.run, block: c.block.address, backup: e.confirms.backup, isOwnSite: true, hasRun: e.nodes.hasRun}
	u.restore(ctx)
	u.handlers(ctx)
	c.hasFailed, c.check.outcome, c.check.notification = true, states.Failed, notification{failure: surely}
	if !c.check.inv.Options.IgnoreFailure {
		c.check.blockedBy = c.check.address
	}
	e.recorder.recordUndo(u)
	ev := u.event(e, why, interrupted, c.unrestorableParts(e.nodes, e.options.Registry))
	ev.Owes = c.check.debtsAsBlock()
	if ev.Outcome != "" {
		e.settleWithin(c)
		e.settle(c, ev)
	} else {
		ev.Type, ev.Address = states.EventConfirm, c.block.address
		e.recorder.emitDurably(ev)
	}
}

// settleWithin ends the checks of blocks in one that is put back, where they could not
// be put back by themselves: the outer one has kept each of their paths, too, as it was
// before, and theirs would bring back what that had changed.
func (e *engine) settleWithin(outer *confirmation) {
	e.recorder.mu.Lock()
	opened := slices.Clone(e.confirms.open)
	e.recorder.mu.Unlock()
	within := e.nodes.within(outer.block)
	for _, c := range opened {
		if c != outer && !c.isSettled && slices.Contains(within, c.block) {
			e.settle(c, states.Event{Outcome: states.Failed, Reason: "put back with " + outer.block.address})
		}
	}
}

// unrestorableParts lists the parts of a block whose effects are no files, and are not
// undone.
func (c *confirmation) unrestorableParts(nodes dag, registry *states.Registry) (parts []string) {
	for _, n := range nodes.within(c.block) {
		if n.inv == nil {
			continue
		}
		for k := range n.inv.Parts {
			p := &n.inv.Parts[k]
			m := registry.ModuleOf(p.Type)
			c.mu.Lock()
			program := c.programs[p.Address]
			c.mu.Unlock()
			if n.parts[p.Address].change == surely && m != nil && (m.IsAct() || m.Batch != nil || program) {
				parts = append(parts, p.Address)
			}
		}
	}
	return parts
}

// undo is a block that is put back.
type undo struct {
	engine        *engine
	run           *states.StateRun // of which it is
	block         string
	backup        *journal.Backup
	isOwnSite     bool                      // it is of this site, whose debts are kept here
	earlierRun    string                    // its run, where that is an earlier one
	isInterrupted bool                      // its run is over; nobody knows how far it was put back
	hasRun        func(handler string) bool // whether it has run since, so that it must again

	paths           map[string]bool
	parts           map[string]bool // whose changes are undone
	handlersAgain   []string        // handlers
	keptDirs        []string        // directories that others use by now
	skippedHandlers []string        // handlers whose secrets nobody knows any more
	problems        []error
	restoredDirs    map[host.FileID]journal.DirID // directories that were put back, by what they were
	reason          string                        // why the engine says that they run
}

// restore puts back the paths, the last that was changed first. What something
// that is put back later stands in the way of is tried again after that. All of it
// is durable on return.
func (u *undo) restore(ctx context.Context) {
	u.paths, u.parts, u.restoredDirs = map[string]bool{}, map[string]bool{}, map[host.FileID]journal.DirID{}
	pending := u.backup.Of(u.block)
	slices.Reverse(pending)
	if u.isInterrupted { // nobody knows how far it came, nor which handlers have run
		for _, former := range pending {
			for _, part := range u.partsAt(former) {
				u.addHandlers(u.handlersToRun(part))
			}
		}
	}
	for progress := true; progress && len(pending) > 0; {
		progress, u.keptDirs, u.problems = false, nil, nil
		pending = slices.DeleteFunc(pending, func(former journal.Former) bool {
			changed, err := u.putBack(ctx, former, u.backup.Content(former))
			if changed {
				progress = true
				u.recordRestored(former)
			}
			switch {
			case former.Kind == journal.Absent && errors.Is(err, syscall.ENOTEMPTY):
				u.keptDirs = append(u.keptDirs, former.Path)
			case err != nil:
				u.problems = append(u.problems, fmt.Errorf("%s: %w", former.Path, err))
			}
			return err == nil
		})
	}
	if err := u.backup.Wrong(); err != nil {
		u.problems = append(u.problems, err)
	}
	u.engine.recorder.syncAll()
}

// addHandlers notes handlers that are to run again.
func (u *undo) addHandlers(handlers []string) {
	for _, h := range handlers {
		if !slices.Contains(u.handlersAgain, h) {
			u.handlersAgain = append(u.handlersAgain, h)
		}
	}
}

// handlersToRun lists the handlers that a part notifies, and that have run.
func (u *undo) handlersToRun(part string) []string {
	return slices.DeleteFunc(u.handlersOf(part), func(handler string) bool { return !u.hasRun(handler) })
}

// recordRestored records that a path is as it was, for each of the parts that may have
// changed it.
func (u *undo) recordRestored(former journal.Former) {
	u.paths[former.Path] = true
	for _, part := range u.partsAt(former) {
		ev := states.Event{Type: states.EventRestored, Address: u.block, Key: u.engine.recorder.mask.text(former.Path), ID: u.id(part), Run: u.earlierRun}
		again := u.handlersToRun(part)
		u.addHandlers(again)
		if u.isOwnSite {
			ev.Owes = again
		}
		u.parts[part] = true
		u.engine.recorder.emit(ev)
		if r := u.engine.resumption; r != nil && u.isOwnSite {
			r.PutBack(&ev)
		}
	}
}

// partsAt lists the part that changed a path first, and those that name it, too: as
// two lines of one file.
func (u *undo) partsAt(former journal.Former) []string {
	list := []string{former.Part}
	for i := range u.run.Invocations {
		for _, p := range u.run.Invocations[i].Parts {
			m := u.engine.options.Registry.ModuleOf(p.Type)
			if m == nil || m.IsAct() || p.Address == former.Part {
				continue
			}
			if slices.ContainsFunc(m.Paths(p.Values), func(at string) bool { return host.Resolve(u.engine.options.Host, at) == former.Path }) {
				list = append(list, p.Address)
			}
		}
	}
	return list
}

// id is that of a part.
func (u *undo) id(part string) string {
	for i := range u.run.Invocations {
		for _, p := range u.run.Invocations[i].Parts {
			if p.Address == part {
				return p.ID
			}
		}
	}
	return ""
}

// handlersOf lists the handlers that a change of a part notifies: by itself, its
// invocation or a block around it.
func (u *undo) handlersOf(part string) (handlers []string) {
	by := map[string]bool{part: true}
	for i := range u.run.Invocations {
		inv := &u.run.Invocations[i]
		if slices.ContainsFunc(inv.Parts, func(p states.Part) bool { return p.Address == part }) {
			by[inv.Address] = true
		}
	}
	for range u.run.Blocks { // as deep as they may hold one another
		for i := range u.run.Blocks {
			b := &u.run.Blocks[i]
			lists := slices.Concat(b.Members, b.Rescue, b.Always)
			by[b.Address] = by[b.Address] || slices.ContainsFunc(lists, func(a string) bool { return by[a] })
		}
	}
	for i := range u.run.Invocations {
		inv := &u.run.Invocations[i]
		handler := states.WithoutWave(inv.Address)
		called := slices.ContainsFunc(inv.NotifiedBy, func(n states.Notification) bool { return n.On == states.OnChange && by[n.Address] })
		if called && !slices.Contains(handlers, handler) {
			handlers = append(handlers, handler)
		}
	}
	return handlers
}

// recordUndo takes note that parts are no longer as they were made.
func (r *recorder) recordUndo(u *undo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Failed++
	for part := range u.parts {
		if p := r.reports[part]; p != nil {
			p.state, p.hasChanged, p.reason = states.PartPending, false, "put back, since "+u.block+" was not confirmed"
		}
	}
}

// handlers runs the handlers again that have picked up what is undone, so that
// they pick up what is there now: one more wave of each.
func (u *undo) handlers(ctx context.Context) {
	if len(u.handlersAgain) == 0 {
		return
	}
	run := *u.run
	run.Invocations, run.Blocks, run.Joins, run.Handlers, run.Moved = u.waves(), nil, nil, nil, nil
	site := journal.Identity(run.Site, u.engine.options.Origin)
	past := &journal.Ledger{Format: journal.LedgerFormat}
	for _, handler := range u.handlersAgain {
		d := states.Debt{Site: site, Handler: handler, Notifier: u.block, Since: time.Now().UTC(), Why: states.Changed}
		past.Debts = append(past.Debts, d)
		u.reason = debtReason([]states.Debt{d})
	}
	o := u.engine.options
	o.Journal, o.Past, o.Parallel, o.locks, o.outer = nil, past, 1, u.engine.locks, &u.engine.results
	o.Events = u.forward
	result, err := carryOut(ctx, &run, o, nil, nil)
	if err == nil && result.Failed {
		err = errors.New("a handler failed that was to pick it up")
	}
	if err != nil {
		u.problems = append(u.problems, err)
	}
}

// forward hands on what the handlers do, as events of the run around them.
func (u *undo) forward(ev states.Event) {
	if ev.Reason == u.reason {
		ev.Reason = u.block + " is put back"
	}
	switch ev.Type {
	case states.EventBegin, states.EventStart, states.EventPart, states.EventInvocation, states.EventRetry, states.EventSaid:
		if u.isOwnSite {
			u.engine.recorder.emit(ev)
		} else if show := u.engine.options.Events; show != nil {
			show(ev) // another site's, whose records are not ours to keep
		}
	}
}

// isForgotten reports whether a part of an earlier run has values that are not on
// record any more.
func isForgotten(p states.Part) bool {
	return slices.ContainsFunc(p.Sensitive, func(name string) bool { return p.Values[name] == journal.Masked })
}

// waves makes one more wave of each handler that is to run again, and of those
// that these notify, one after the other.
func (u *undo) waves() []states.Invocation {
	a := &appender{run: u.run, idleHandlers: map[string]*states.Invocation{}, waves: map[string][]*states.Invocation{}, added: map[string]bool{}}
	taken := []*states.StateRun{u.run}
	if u.isInterrupted {
		taken = append(taken, u.engine.run)
	}
	for _, run := range taken { // whose numbers are
		for i := range run.Invocations {
			handler := states.WithoutWave(run.Invocations[i].Address)
			a.waves[handler] = append(a.waves[handler], &run.Invocations[i])
		}
	}
	for i := range u.run.Handlers {
		a.idleHandlers[u.run.Handlers[i].Address] = &u.run.Handlers[i]
	}
	for _, handler := range u.handlersAgain {
		h := *a.waves[handler][0]
		h.Address = handler
		if u.isInterrupted && slices.ContainsFunc(h.Parts, isForgotten) {
			u.skippedHandlers = append(u.skippedHandlers, handler)
			continue
		}
		a.add(&h, nil)
	}
	if a.err != nil {
		u.problems = append(u.problems, a.err)
	}
	for i := range a.out {
		a.out[i].Requires, a.out[i].After = nil, nil
		if i > 0 {
			a.out[i].After = []string{a.out[i-1].Address}
		}
	}
	return a.out
}
