package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// Work is what a loop does to its machine. Each call ends early when its context does. Actions of one name are one apply: where it may
// have begun before, it is gone on with, and its end is told once more if it has ended.
type Work interface {
	Plan(ctx context.Context, t Target) Found
	// Check looks at what a plan does not show, and keeps what is needed to go back to the target.
	Check(ctx context.Context, t Target) Checked
	// Apply carries an Action out that changes the machine. Its end is unknown where ok is false, as before a reboot: it is asked for later.
	Apply(ctx context.Context, a Action) (end Ended, ok bool)
}

// Config says what a Loop works with.
type Config struct {
	Site    string // as records name it
	Options Options
	Work    Work
	Folder  *Folder // nil: nothing is kept
	// Tell is called with each transition once it is durable, in order and one at a time. It must not call the Loop.
	Tell   func(Transition)
	Clock  func() time.Time // the time of day; nil: time.Now
	Random func() float64   // from [0, 1); nil: of math/rand
}

// Loop keeps one machine as one site wants it. It does nothing by itself: whoever has it calls Turn when Next says so. Its methods may be
// called by several goroutines, and Turn by one at a time.
type Loop struct {
	config Config
	lock   *os.File

	mu     sync.Mutex
	core   Core
	state  State
	action Action    // to be done by Turn
	look   bool      // something has changed while something else was under way
	pause  time.Time // nothing is done before; zero: whenever it is time
}

const (
	pauseUnknown = time.Minute      // until an apply is asked for whose end is not known
	pauseBroken  = 10 * time.Second // after a State could not be kept
)

// Open takes a loop up where it was.
func Open(c Config) (*Loop, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	l := &Loop{config: c, core: Core{Options: c.Options, Random: c.Random}, state: NewState(c.Site, c.Clock())}
	if c.Folder == nil {
		return l, nil
	}
	var err error
	if l.lock, err = c.Folder.lock(c.Site); err != nil {
		return nil, err
	}
	if l.state, err = c.Folder.load(c.Site, c.Clock()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o := l.state.Options; o != nil { // what whoever opens it says counts before that
		l.core.Options = c.Options.Or(*o)
	}
	return l, nil
}

// Close lets another process take the loop up.
func (l *Loop) Close() error {
	if l.lock == nil {
		return nil
	}
	return l.lock.Close()
}

// State tells where the loop stands.
func (l *Loop) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.clone()
}

// Want says what is wanted from now on, and how it is kept. It is durable when it returns.
func (l *Loop) Want(t Target, o Options) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.core.Options = o
	return l.step(Want{t})
}

// Configure says how what is wanted is kept, where that is known only once it was looked at. It may be called by Work.
func (l *Loop) Configure(o Options) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.core.Options = o
}

// Look asks to look at the machine soon.
func (l *Loop) Look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = true
}

// Again tries again what has failed or was given up.
func (l *Loop) Again() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.again()
}

// again takes note of a person's word, whichever way it came. The lock is held.
func (l *Loop) again() error {
	if err := l.step(Again{}); err != nil || l.config.Folder == nil {
		return err
	}
	return l.config.Folder.answered(l.config.Site)
}

// Next tells when Turn has something to do; zero: not before something is told to the loop.
func (l *Loop) Next() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.config.Clock()
	l.state.repair(now, l.core.WithDefaults())
	switch {
	case !l.state.Phase.IsRest() || l.action.Phase != "" || l.look || l.isAsked():
		if l.pause.After(now) {
			return l.pause
		}
		return now
	case l.state.Next.IsZero():
		return time.Time{}
	case l.pause.After(l.state.Next):
		return l.pause
	}
	return l.state.Next
}

func (l *Loop) isAsked() bool {
	return l.config.Folder != nil && l.config.Folder.isAsked(l.config.Site)
}

// step takes a message in. Its transitions are told once they are durable; before that nothing is changed. The lock is held.
func (l *Loop) step(m Message) error {
	s, a, taken := l.core.Step(l.state, l.config.Clock(), m)
	o := l.core.Options
	s.Options = &o
	_, wanted := m.(Want)
	_, again := m.(Again)
	if l.config.Folder != nil && (len(taken) > 0 || wanted || again) {
		if err := l.config.Folder.save(s); err != nil {
			l.pause = l.config.Clock().Add(pauseBroken)
			return fmt.Errorf("where the loop of %s stands cannot be written, so that nothing is done: %w", l.config.Site, err)
		}
	}
	l.state = s
	if len(taken) > 0 {
		l.action, l.pause = a, time.Time{}
	}
	if l.config.Tell != nil {
		for _, one := range taken {
			l.config.Tell(one)
		}
	}
	return nil
}

// begin gives what is to be done now; none: the loop rests.
func (l *Loop) begin() (a Action, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.action.Phase != "":
	case !l.state.Phase.IsRest():
		err = l.step(Start{})
	case l.isAsked():
		err = l.again()
	case l.look:
		l.look = false
		err = l.step(Look{})
	default:
		err = l.step(Tick{})
	}
	a, l.action = l.action, Action{}
	return a, err
}

// Turn does what there is to do now, until the loop rests. Where its context ends, what was under way goes on with the next Turn, or the
// next process.
func (l *Loop) Turn(ctx context.Context) error {
	for {
		a, err := l.begin()
		if err != nil || a.Phase == "" {
			return err
		}
		m, ok := l.do(ctx, a)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := l.took(m, ok); err != nil || !ok {
			return err
		}
		if l.State().Phase.IsRest() {
			return nil
		}
	}
}

// took takes the end of an action in, if it is known.
func (l *Loop) took(m Message, ok bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok {
		l.pause = l.config.Clock().Add(pauseUnknown)
		return nil
	}
	return l.step(m)
}

// do carries an Action out.
func (l *Loop) do(ctx context.Context, a Action) (Message, bool) {
	l.mu.Lock()
	o := l.core.WithDefaults()
	l.mu.Unlock()
	switch a.Phase {
	case Discovering:
		return l.config.Work.Plan(ctx, a.Target), true
	case Validating:
		return l.config.Work.Check(ctx, a.Target), true
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.Deadline, fmt.Errorf("it has taken longer than %v", o.Deadline))
	defer cancel()
	end, ok := l.config.Work.Apply(limited, a)
	if limited.Err() != nil && ctx.Err() == nil && (end.Cause != None || !ok) {
		end = Ended{Failure{Overdue, cmp.Or(context.Cause(limited), limited.Err()).Error()}}
		ok = true
	}
	return end, ok
}
