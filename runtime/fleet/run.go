package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/states"
)

const (
	defaultForks    = 32
	defaultPatience = 10 * time.Minute
)

// errCancelled is why nothing is begun any more.
var errCancelled = errors.New("interrupted before anything was begun")

// drive is what goes on with all machines.
type drive struct {
	task    Task
	options Options
	// fresh ends when nothing new is to be begun: with the context, or at a cancel;
	// errCancelled is then its cause.
	fresh    context.Context
	evaluate chan struct{} // what is in it is being evaluated

	mu sync.Mutex // the listener's

	hooks []RecordHook // all of the execution until now

	ended map[string]*ending // of the machines that others need; nil: none does
}

// Run does a task on machines, and gives the outcomes in their order. The error is for
// what cannot be begun at all.
func Run(ctx context.Context, machines []*Member, t Task, o Options) ([]Outcome, error) {
	if o.Forks == 0 {
		o.Forks = defaultForks
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Forks < 0 || o.Patience < 0 && o.Patience != NotAgain {
		return nil, fmt.Errorf("forks %d and patience %s: neither can be negative", o.Forks, o.Patience)
	}
	names, index := make([]string, len(machines)), make(map[string]int, len(machines))
	d := &drive{task: t, options: o, evaluate: make(chan struct{}, goruntime.GOMAXPROCS(0))}
	for i, m := range machines {
		if _, twice := index[m.Name]; twice {
			return nil, fmt.Errorf("there are two machines %s", m.Name)
		}
		names[i], index[m.Name] = m.Name, i
	}
	plan := o.Rollout
	if plan == nil {
		plan = &site.Rollout{}
	}
	shuffled := plan.Order == site.OrderShuffle
	if shuffled && o.Seed == 0 {
		o.Seed = rand.Uint64N(1<<32) + 1 // short enough to be typed
	}
	batches, err := BatchesInOrder(plan, o.Seed, names, o.Needs)
	if err != nil {
		return nil, err
	}
	if plan.HasHooks() && o.Hooks == nil {
		return nil, errors.New("a rollout has hooks, and nothing says how to run them")
	}
	fresh, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.fresh = fresh
	if o.Cancelled != nil {
		fault.Go(func() {
			select {
			case <-o.Cancelled:
				stop(errCancelled)
			case <-fresh.Done():
			}
		})
	}
	if shuffled {
		d.note("", fmt.Sprintf("the hosts are shuffled with seed %d", o.Seed))
	}
	outcomes := make([]Outcome, len(machines))
	d.awaitEnds(names)
	d.roll(ctx, batches, plan.Pause, func(name string) (*Member, *Outcome) {
		i := index[name]
		return machines[i], &outcomes[i]
	})
	return outcomes, nil
}

// roll takes batch after batch, until too many have failed.
func (d *drive) roll(ctx context.Context, batches []Batch, pause time.Duration, of func(string) (*Member, *Outcome)) {
	var tally rollout.Tally
	var enough error
	for i, b := range batches {
		if enough == nil && i > 0 && pause > 0 {
			d.pause(pause, b)
		}
		if enough == nil && len(batches) > 1 && d.fresh.Err() == nil {
			d.note("", fmt.Sprintf("%s: %s", b.Label(), plural(len(b.Machines), "host")))
		}
		turn := d.turn(ctx, b, enough, of)
		exceeded := tally.Add(b.Batch, turn.failed)
		if enough == nil {
			enough = turn.stop
		}
		if enough == nil && exceeded != nil {
			enough = fmt.Errorf("not begun: %w", exceeded)
		}
	}
}

// turn is what came of a batch.
type turn struct {
	failed int   // so many machines
	stop   error // why no other batch is begun; nil: that is not decided here
}

// turn does one batch, with what is to run around it.
func (d *drive) turn(ctx context.Context, b Batch, skip error, of func(string) (*Member, *Outcome)) (t turn) {
	if skip == nil && d.fresh.Err() == nil && len(b.Before)+len(b.After) > 0 {
		return (&hookedBatch{drive: d, batch: b, of: of}).run(ctx)
	}
	for _, o := range d.batch(ctx, b, skip, of) {
		if o.Status != Done && o.Status != Skipped {
			t.failed++
		}
	}
	return t
}

// batch does one batch, so many machines at a time; they are skipped if there is a reason
// for it.
func (d *drive) batch(ctx context.Context, b Batch, skip error, of func(string) (*Member, *Outcome)) []*Outcome {
	outcomes := make([]*Outcome, len(b.Machines))
	var next atomic.Int64
	var workers fault.Group
	for range min(d.options.Forks, len(b.Machines)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(b.Machines)); i = next.Add(1) - 1 {
				m, out := of(b.Machines[i])
				outcomes[i] = out
				d.machine(ctx, m, cmp.Or(skip, d.awaitNeeds(m.Name)), out)
			}
		})
	}
	workers.Wait()
	return outcomes
}

// machine does all that is to be done on one.
func (d *drive) machine(ctx context.Context, m *Member, skip error, out *Outcome) {
	begun := time.Now()
	if skip == nil && d.fresh.Err() != nil {
		skip = errCancelled
	}
	if skip != nil {
		*out = Outcome{Machine: m.Name, Status: Skipped, Err: skip}
	} else {
		one := &member{drive: d, Member: m}
		err := fault.Do(func() error {
			*out = one.follow(ctx)
			return nil
		})
		if err != nil { // the others go on
			*out = Outcome{Status: Failed, Err: err}
			if one.progress != notBegun {
				out.Status = Detached
			}
		}
		out.Machine, out.Run, out.Duration = m.Name, one.run, time.Since(begun)
	}
	d.end(m, out)
}

// end tells how it ended with a machine.
func (d *drive) end(m *Member, out *Outcome) {
	if c, ok := m.Machine.(io.Closer); ok {
		c.Close() // a connection that nothing was asked on
	}
	d.options.Execution.note(m.Name, func(h *RecordHost) { h.Status = out.Status })
	d.state(m.Name, Over)
	d.tell(func(l Listener) { l.Ended(m.Name, *out) })
	d.noteEnd(m.Name, out.Status)
}

// pause waits before a batch.
func (d *drive) pause(long time.Duration, next Batch) {
	if d.fresh.Err() != nil {
		return
	}
	d.note("", fmt.Sprintf("pausing for %s before %s", long, next.Label()))
	sleep(d.fresh, long)
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// enter waits for a place among those that a channel has, unless the context ends.
func enter(ctx context.Context, places chan struct{}) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell has the listener listen, to one at a time.
func (d *drive) tell(what func(Listener)) {
	if d.options.Listener == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	what(d.options.Listener)
}

func (d *drive) state(machine string, s State) {
	d.tell(func(l Listener) { l.State(machine, s) })
}

func (d *drive) note(name, text string) { d.hand(name, machine.Note{Text: text}) }

func (d *drive) hand(name string, n machine.Note) {
	d.tell(func(l Listener) { l.Note(name, n) })
}

func (d *drive) event(name string, ev states.Event) {
	if name != "" {
		ev.Host = name
	}
	d.tell(func(l Listener) { l.Event(name, ev) })
}

func (d *drive) output(machine, stream string, data []byte) {
	d.tell(func(l Listener) { l.Output(machine, stream, data) })
}

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
