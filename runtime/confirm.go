package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Blocks that are to be confirmed. Before the first act of such a block it is on
// record that its check has not ended (states.EventConfirm), and before the first
// change of a path, how that was. A block whose check does not pass is put back; so
// is one whose run ends before that, and one that a run left which was killed.

// confirmations are the blocks of a run that are to be confirmed.
type confirmations struct {
	blocks map[*node]*confirmation // none in a plan
	open   []*confirmation         // guarded by the recorder, in their order
	backup *journal.Backup
	temp   string // where the backups are without a journal
}

// confirmation is one such block.
type confirmation struct {
	block, check *node
	isOpen       bool // something in it is about to act, or has
	isSettled    bool // its check has passed, or it has been put back
	hasFailed    bool

	mu       sync.Mutex
	programs map[string]bool // parts that have started one
}

// findConfirmations finds the blocks that are to be confirmed.
func (e *engine) findConfirmations() error {
	for _, n := range e.nodes {
		if n.inv == nil || n.inv.Confirms == "" || e.planning() {
			continue
		}
		b := e.nodes[n.inv.Confirms]
		if b == nil || b.block == nil || b.block.Confirm == nil {
			return fmt.Errorf("%s checks %s, which is no block to be confirmed", n.address, n.inv.Confirms)
		}
		if e.confirms.blocks == nil {
			e.confirms.blocks = map[*node]*confirmation{}
		}
		e.confirms.blocks[b] = &confirmation{block: b, check: n, programs: map[string]bool{}}
	}
	for i := range e.run.Blocks {
		b := e.nodes[e.run.Blocks[i].Address]
		if b.block.Confirm != nil && !e.planning() && e.confirms.blocks[b] == nil {
			return fmt.Errorf("%s is to be confirmed, and nothing in the run checks it", b.address)
		}
	}
	return e.makeBackup()
}

// makeBackup finds the place for backups: the run's folder or, without a
// journal, a directory that is gone with the run.
func (e *engine) makeBackup() error {
	if len(e.confirms.blocks) == 0 {
		return nil
	}
	if j := e.options.Journal; j != nil {
		e.confirms.backup = j.Backup()
		return nil
	}
	dir, err := os.MkdirTemp("", "tenet-backup-")
	if err != nil {
		return err
	}
	e.confirms.temp = dir
	e.confirms.backup, err = journal.NewBackup(dir)
	return err
}

// confirmationsAround lists the blocks around a node that are to be confirmed.
func (c *confirmations) confirmationsAround(n *node) (list []*confirmation) {
	if len(c.blocks) == 0 {
		return nil
	}
	for _, b := range n.blocks {
		if found := c.blocks[b]; found != nil && !slices.Contains(list, found) {
			list = append(list, found)
		}
		for _, outer := range c.confirmationsAround(b) {
			if !slices.Contains(list, outer) {
				list = append(list, outer)
			}
		}
	}
	return list
}

// hostOf is the host as a part acts on it. Where a block around it is to be
// confirmed, what it is about to change is kept first.
func (e *engine) hostOf(ctx context.Context, s *step) host.Host {
	p, a := s.part, s.actor
	around := e.confirms.confirmationsAround(s.node)
	if len(around) == 0 {
		return a.view(e.effects.uncertainLook(s.question(), func() { s.mayFail = true }), &s.trace)
	}
	blocks := make([]string, len(around))
	for k, c := range around {
		blocks[k] = c.block.address
	}
	return host.Watched(a.host, host.Watcher{
		Change: func(at host.Place) error { return e.confirms.backup.Keep(ctx, a.host, blocks, p.Address, at) },
		Run: func() {
			for _, c := range around {
				c.mu.Lock()
				c.programs[p.Address] = true
				c.mu.Unlock()
			}
		},
	})
}

// openConfirmations records that blocks around a node, which is about to act, wait for their
// checks from now on. It reports whether that is news, which must be durable
// before the act. The lock is held.
func (r *recorder) openConfirmations(n *node) (news bool) {
	for _, c := range r.engine.confirms.confirmationsAround(n) {
		if c.isOpen {
			continue
		}
		c.isOpen, news = true, true
		r.engine.confirms.open = append(r.engine.confirms.open, c)
		r.emitLocked(states.Event{Type: states.EventConfirm, Address: c.block.address})
	}
	return news
}

// confirm carries out the check of a block that has changed something.
func (e *engine) confirm(ctx context.Context, n *node) {
	n.outcome = states.Unchanged
	if e.planning() {
		e.foretellConfirm(n)
		return
	}
	c := e.confirms.blocks[e.nodes[n.inv.Confirms]]
	e.recorder.mu.Lock()
	opened := c.isOpen
	e.recorder.mu.Unlock()
	if !opened {
		return
	}
	if !e.nodes.hasChanged(c.block) {
		e.settle(c, states.Event{Outcome: states.Unchanged, Reason: "nothing was changed"})
		return
	}
	want := c.block.block.Confirm
	e.recorder.emit(states.Event{Type: states.EventConfirm, Address: c.block.address, Reason: e.recorder.mask.text("it stays " + ifPasses(want))})
	why := e.unreachedHandler(c)
	if why == nil {
		why = e.check(ctx, want)
	}
	if why == nil {
		e.settle(c, states.Event{Outcome: states.Changed, Reason: "confirmed"})
		return
	}
	e.rollBack(ctx, c, why)
}

// unreachedHandler gives an error if a handler that the check waits for has failed, or was not
// reached: what it has not picked up a check tells nothing of, and a later run would
// bring it into force without one.
func (e *engine) unreachedHandler(c *confirmation) error {
	e.recorder.mu.Lock()
	owed := slices.Clone(e.debts.ledger.Ledger.Debts)
	e.recorder.mu.Unlock()
	u := &undo{engine: e, run: e.run, block: c.block.address, backup: e.confirms.backup}
	return u.notPickedUp(journal.Identity(e.run.Site, e.options.Origin), owed)
}

// ifPasses is the condition under which a block's changes stay.
func ifPasses(c *states.Confirm) string {
	return fmt.Sprintf("if %s passes within %s", strings.Join(c.Command, " "), c.Timeout)
}

// foretellConfirm says, in a plan, of a block that would change that it is to be
// confirmed.
func (e *engine) foretellConfirm(n *node) {
	b := e.nodes[n.inv.Confirms]
	if b == nil || b.block == nil || b.block.Confirm == nil || b.notification.change == never {
		return
	}
	e.recorder.emit(states.Event{
		Type: states.EventConfirm, Address: b.address, Certain: new(b.notification.change == surely),
		Reason: e.recorder.mask.text("its changes stay " + ifPasses(b.block.Confirm) + ", else they are put back"),
	})
}

// hasChanged reports whether anything in a block has been changed, be it that it
// failed over it, or that nobody knows.
func (d dag) hasChanged(block *node) bool {
	for _, n := range d.within(block) {
		if n.notification.change == surely {
			return true
		}
	}
	return false
}

// Between two tries of a check.
const (
	firstPause = 200 * time.Millisecond
	longPause  = time.Second
)

var errNotInTime = errors.New("it did not end in time")

// check tries a block's check until it passes, and gives why it has not.
func (e *engine) check(parent context.Context, c *states.Confirm) (why error) {
	ctx, done := context.WithTimeoutCause(parent, c.Timeout, errNotInTime)
	defer done()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		result, err := e.options.Host.Query(ctx, host.Query{Command: host.Command{Argv: c.Command}, Reads: []string{"/"}})
		switch {
		case err == nil && result.ExitCode == 0:
			return nil
		case err == nil:
			why = fmt.Errorf("%s ended with %d%s", c.Command[0], result.ExitCode, lastLine(e.recorder.mask.text(string(result.Stderr))))
		case why == nil || ctx.Err() == nil: // a try that was cut short says less than the one before
			why = err
		}
		select {
		case <-ctx.Done():
			if parent.Err() != nil {
				return context.Cause(parent)
			}
			return why
		case <-time.After(pause):
		}
	}
}

// lastLine gives what a program said last, for the end of a message. It is cut, and
// so has to be masked before.
func lastLine(output string) string {
	output = strings.TrimSpace(output)
	line := output[strings.LastIndexByte(output, '\n')+1:]
	if line == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(line[:min(len(line), 200)], "�")
}

// settle records how the check of a block has ended.
func (e *engine) settle(c *confirmation, ev states.Event) {
	ev.Type, ev.Address = states.EventConfirm, c.block.address
	c.isSettled = true
	e.recorder.emitDurably(ev)
}

// emitDurably emits an event that outlives a loss of power on return, and so does
// what was done before it.
func (r *recorder) emitDurably(ev states.Event) {
	r.emit(ev)
	r.syncAll()
}

// syncAll makes durable what was done and recorded.
func (r *recorder) syncAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.engine.options.Journal == nil || r.err != nil {
		return
	}
	r.needsSync = true
	if err := r.durable(); err != nil {
		r.stopRun(err)
	}
}

// endConfirmations puts back what a run has changed that ends before the checks of it
// have passed, the last first, and forgets the backups.
func (e *engine) endConfirmations(ctx context.Context) {
	list := e.confirms.open
	for _, c := range slices.Backward(list) {
		if !c.isSettled && !c.hasFailed {
			e.rollBack(ctx, c, context.Cause(ctx))
		}
	}
	all := !slices.ContainsFunc(list, func(c *confirmation) bool { return !c.isSettled })
	if b := e.confirms.backup; len(list) > 0 && all && e.recorder.err == nil {
		e.recorder.fail(b.Remove())
	}
	if e.confirms.temp != "" && all {
		e.recorder.fail(os.RemoveAll(e.confirms.temp))
	}
}

// fail notes an error of the records, if there is one.
func (r *recorder) fail(err error) {
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stopRun(err)
	}
}

// hasUnconfirmed reports whether a block was not confirmed, and nobody excuses it.
func (c *confirmations) hasUnconfirmed() bool {
	return slices.ContainsFunc(c.open, func(c *confirmation) bool { return c.hasFailed && !c.check.isExcused() })
}
