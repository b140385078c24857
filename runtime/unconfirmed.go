package runtime

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// settlePast settles the blocks, of whatever site, that earlier runs have changed
// and whose checks nobody saw end: each is checked now, and put back if that does
// not pass. A plan only names them.
func (e *engine) settlePast(ctx context.Context) {
	if e.options.Past == nil {
		return
	}
	for _, u := range slices.Backward(e.options.Past.Unconfirmed) {
		ev := states.Event{Type: states.EventConfirm, Address: u.Block, Run: u.Run, Site: u.Site,
			Reason: "run " + u.Run + " changed it, and its check was not seen to end; it is checked first"}
		switch {
		case e.planning() && e.options.outer == nil:
			e.recorder.emit(ev)
		case e.options.Journal != nil:
			e.recorder.emit(ev)
			e.settleOne(ctx, u)
		}
	}
}

func (e *engine) settleOne(ctx context.Context, former journal.Unconfirmed) {
	ev := states.Event{Type: states.EventConfirm, Address: former.Block, Run: former.Run, Site: former.Site}
	run, backup, err := e.options.Journal.Former(former.Run)
	var block *states.Block
	if err == nil {
		i := slices.IndexFunc(run.Blocks, func(b states.Block) bool { return b.Address == former.Block && b.Confirm != nil })
		if i >= 0 {
			block = &run.Blocks[i]
		} else {
			err = fmt.Errorf("run %s has no such block to confirm", former.Run)
		}
	}
	if err != nil {
		ev.Outcome, ev.Reason = states.Unknown, "nobody can tell any more how it was: "+err.Error()
		e.recorder.emitDurably(ev)
		return
	}
	for _, secret := range run.Secrets {
		e.recorder.mask.add(secret)
	}
	u := &undo{engine: e, run: withPresent(run, e.run), block: former.Block, backup: backup, isInterrupted: true, earlierRun: former.Run, hasRun: func(string) bool { return true },
		isOwnSite: former.Site == journal.Identity(e.run.Site, e.options.Origin)}
	// As long as nobody has picked up what was changed, a check tells nothing of it.
	why := u.notPickedUp(former.Site, e.options.Past.Debts)
	if why == nil {
		why = e.check(ctx, block.Confirm)
	}
	if why == nil {
		ev.Outcome, ev.Reason = states.Changed, "confirmed"
	} else {
		interrupted := ctx.Err() != nil
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
		defer done()
		e.cleanUpAfter(ctx, former, u.run, backup)
		u.restore(ctx)
		u.handlers(ctx)
		told := u.event(e, why, interrupted, nil)
		ev.Outcome, ev.Reason, ev.Error = told.Outcome, told.Reason, told.Error
	}
	e.recorder.emitDurably(ev)
	if ev.Outcome != "" && !e.waitsFor(former.Run) {
		e.recorder.fail(backup.Remove())
	}
}

// notPickedUp gives an error if a handler that the block's check waits for has not run
// well since the block changed something: it is owed that.
func (u *undo) notPickedUp(site string, owed []states.Debt) error {
	awaited := handlersBefore(u.run, u.block)
	for _, former := range u.backup.Of(u.block) {
		part, told := states.WithoutWave(former.Part), u.handlersOf(former.Part)
		for _, d := range owed {
			if d.Site == site && (d.Notifier == part || d.Notifier == u.block) && awaited[d.Handler] && slices.Contains(told, d.Handler) {
				return fmt.Errorf("%s has not run since %s changed", d.Handler, part)
			}
		}
	}
	return nil
}

// handlersBefore gives the handlers, without waves, that the check of a block waits
// for: those that are deferred run after it.
func handlersBefore(run *states.StateRun, block string) map[string]bool {
	before := map[string][]string{} // by address
	todo, handlers := []string(nil), map[string]bool{}
	for i := range run.Invocations {
		inv := &run.Invocations[i]
		before[inv.Address] = slices.Concat(inv.Requires, inv.After)
		if inv.Handler {
			handlers[inv.Address] = true
		}
		if inv.Confirms == block {
			todo = append(todo, inv.Address)
		}
	}
	for _, b := range run.Blocks {
		before[b.Address] = slices.Concat(b.Requires, b.After, b.Members, b.Rescue, b.Always)
	}
	for _, j := range run.Joins {
		before[j.Address] = j.After
	}
	found, seen := map[string]bool{}, map[string]bool{}
	for ; len(todo) > 0; todo = todo[1:] {
		address := todo[0]
		if seen[address] {
			continue
		}
		seen[address] = true
		if handlers[address] {
			found[states.WithoutWave(address)] = true
		}
		todo = append(todo, before[address]...)
	}
	return found
}

// cleanUpAfter removes the temporary files beside the paths that are to be put back
// of processes that died over it: of the run, or of those that came after it.
func (e *engine) cleanUpAfter(ctx context.Context, former journal.Unconfirmed, past *states.StateRun, backup *journal.Backup) {
	runs, err := e.options.Journal.Since(former.Run)
	if err != nil {
		return // they stay; the paths are what matters
	}
	dirs := map[string]string{} // with who has written there
	for _, former := range backup.Of(former.Block) {
		dirs[path.Dir(former.Path)] = accountOf(past, former.Part)
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		for _, run := range runs {
			e.removeLeftovers(ctx, states.Begun{Address: former.Block, Run: run}, dir, false, dirs[dir])
		}
	}
}

// waitsFor reports whether a block of an earlier run still waits for its check.
func (e *engine) waitsFor(run string) bool {
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	return slices.ContainsFunc(e.debts.ledger.Ledger.Unconfirmed, func(u journal.Unconfirmed) bool { return u.Run == run })
}

// withPresent gives an earlier run with its handlers as they are declared now, where
// they are: the records do not hold their secrets.
func withPresent(run, current *states.StateRun) *states.StateRun {
	now := map[string][]states.Part{}
	for _, list := range [][]states.Invocation{current.Handlers, current.Invocations} {
		for i := range list {
			now[list[i].Address] = list[i].Parts
		}
	}
	out := *run
	out.Invocations = slices.Clone(run.Invocations)
	out.Secrets = slices.Concat(run.Secrets, current.Secrets)
	for i := range out.Invocations {
		inv := &out.Invocations[i]
		if parts, ok := now[inv.Address]; ok && (inv.Handler || inv.Always) && run.Site == current.Site {
			inv.Parts = parts
		}
	}
	return &out
}
