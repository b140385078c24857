package become

import (
	"fmt"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// patience is what is known of how a process keeps those waiting who call it. It may
// have been stopped, or do as it likes: whoever is waited for is not trusted to end the
// wait.
//
// Time is counted in ticks, of which there is at most one at a time: where this process
// itself stands still, as on a machine that sleeps, the other one is not blamed for it.
type patience struct {
	quietTicks   int  // ticks without a frame, while calls wait
	hasAnswer    bool // one has come since the last tick
	isDelivering bool // what has come waits for who called
	isHurried    bool // nobody wants to wait any more
}

// tickTime is how often is looked whether a process still answers.
const tickTime = time.Second

// After how many ticks a process is given up.
const (
	silenceTicks = 30 // that says nothing, though it was asked whether it is there
	hurriedTicks = 5  // the same, where nobody wants to wait any more
	endTicks     = 10 // that answers, but does not end a call that is to end
	settleTicks  = 60 // the same for what may take long once all else has ended: putting files back
)

// watchdog looks after those who wait, until the connection has ended, and gives the
// process up that does not answer: kill ends it, and dead what it was doing.
func (l *link) watchdog(tick <-chan time.Time, kill func(), dead func([]*call)) {
	for {
		select {
		case <-l.disconnected:
			return
		case <-tick:
		}
		if l.checkPatience(kill, dead) {
			return
		}
	}
}

// checkPatience is what is done at a tick; it reports whether the process was given up.
func (l *link) checkPatience(kill func(), dead func([]*call)) bool {
	why, ask := l.countTick()
	if ask { // it may take as long as it likes to be asked
		fault.Go(func() { _ = sendShort(l.conn, kindPing, 0, 0, nil) })
	}
	if why == "" {
		return false
	}
	doing := l.pendingCalls()
	l.disconnect(becomeError(
		fmt.Sprintf("the process that acts as %s %s: it was given up, and nothing more is done as %[1]s", l.name, why),
		fmt.Sprintf("that account may have stopped it, which the state T in ps -u %s -o pid,stat,args tells; or the machine is overloaded, or its file system hangs", l.name)))
	kill()
	dead(doing)
	return true
}

// countTick is one tick: it tells why the process is to be given up, if it is, and whether it
// is to be asked if it is there.
func (l *link) countTick() (why string, ask bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.patience
	if p.hasAnswer || p.isDelivering || len(l.calls) == 0 {
		p.quietTicks = 0
	} else {
		p.quietTicks++
	}
	p.hasAnswer = false
	limit := silenceTicks
	for _, w := range l.calls {
		mine := endTicks
		switch {
		case w.ctx.Err() != nil:
		case p.isHurried && w.mayTakeLong:
			mine = settleTicks
		case p.isHurried:
		default:
			continue
		}
		limit = hurriedTicks
		if w.overdueTicks++; w.overdueTicks >= mine {
			return "does not end what it does", false
		}
	}
	if p.quietTicks >= limit {
		return "does not answer", false
	}
	return "", p.quietTicks == 1
}

// pendingCalls are the calls that wait.
func (l *link) pendingCalls() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*call
	for _, w := range l.calls {
		all = append(all, w.call)
	}
	return all
}

// hurry says that nobody wants to wait any more.
func (l *link) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.patience.isHurried = true
}
