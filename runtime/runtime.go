// Package runtime is the engine: it carries out a StateRun. Plan and Apply are
// one code path; a plan runs the very same steps on a copy-on-write Shadow of
// the host, one part after the other.
package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	goruntime "runtime"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Options says where and how a StateRun is carried out.
type Options struct {
	Host     host.Host        // the machine; required
	Registry *states.Registry // the modules; required
	// Site opens the files that source attributes name. Nil: such parts fail.
	Site fs.FS
	// Sources are the places of declarations by address, for messages.
	Sources map[string]diag.Range
	// Parallel is how many invocations may run at once; 0: two for each CPU,
	// at most 16. A plan is always sequential.
	Parallel int
	// Events is called for each event, one at a time, in order.
	Events func(states.Event)
	// Journal records an apply; nil: nothing is recorded.
	Journal *journal.Run
	// Past is what earlier runs have left: what handlers are owed, and which
	// parts nobody knows about. Nil: nothing.
	Past *journal.Ledger
	// Continue puts in place what goes on with the run, by its ID, once the machine
	// has started anew, and gives what takes that back. Nil: parts that start it
	// anew fail.
	Continue func(context.Context) (undo func() error, err error)
	// Runs gives what an earlier run was to do, by its ID; nil: nobody knows.
	Runs func(id string) (*states.StateRun, error)
	// Origin is where the site lies. Records know a site without a name by it.
	Origin string
	// Managed is what sites have created here; in an apply nil stands for that of
	// the Journal. Without it nothing is known to be no longer declared.
	Managed *journal.Managed
	// Sensitive is what earlier runs have put on the machine that is not to be shown,
	// though the run may want what may be; nil: nothing is known.
	Sensitive journal.SensitiveAttributes

	// Become gives the machine as another account acts on it, for parts with that
	// option. Nil: they fail.
	Become func(ctx context.Context, user string) (host.Host, error)

	// outer is what parts of the run around this one have left, in a plan that a
	// guard asks for.
	outer *results
	// locks are those of the run around this one, if there is one.
	locks *lockSet
	// foreign is what rules purge, for all the passes of a plan; isLook says that this run looks for that, and tells onForeign.
	foreign   *foreignLook
	isLook    bool
	onForeign func(*finding)
}

// Result is how a run ended.
type Result struct {
	Report states.Report
	Counts states.Counts
	// Failed: something failed or is unknown, and neither ignore_failure nor
	// a block with recovered = true excuses it.
	Failed bool
	// Interrupted: the context ended before the run did.
	Interrupted bool
	// Rebooting: it is interrupted since the machine is about to start anew, and
	// goes on after that.
	Rebooting bool
	// Left is what an apply has left for the runs that come after it, of all sites
	// in Options.Past; nil after a plan.
	Left *journal.Ledger
	// Outputs are what the host hands to others, by name.
	Outputs map[string]states.Output
}

// Plan tells what Apply would do, and changes nothing. Failures of parts are
// events and in the Result; the error is for a run that cannot be carried out.
func Plan(ctx context.Context, run *states.StateRun, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Journal, o.Parallel, o.foreign = nil, 1, &foreignLook{}
	tell := o.Events
	for known := (&effects{}).next(); ; known = known.next() {
		var events []states.Event
		o.Events = func(ev states.Event) { events = append(events, ev) }
		result, err := carryOut(ctx, run, o, host.NewShadow(o.Host), known)
		if known.isIncomplete && err == nil && ctx.Err() == nil {
			continue
		}
		for _, ev := range events {
			if tell != nil {
				tell(ev)
			}
		}
		return result, err
	}
}

// Apply makes the host what the run declares. Failures of parts are events and
// in the Result; the error is for a run that cannot be carried out, or whose
// journal cannot be written. When ctx ends, nothing new is begun.
func Apply(ctx context.Context, run *states.StateRun, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Parallel <= 0 {
		o.Parallel = min(2*goruntime.NumCPU(), 16)
	}
	if o.Managed == nil && o.Journal != nil {
		var err error
		if o.Managed, err = o.Journal.Managed(); err != nil {
			return nil, err
		}
	}
	return carryOut(ctx, run, o, nil, nil)
}

func (o *Options) check() error {
	if o.Host == nil {
		return errors.New("runtime: Options.Host is required")
	}
	if o.Registry == nil {
		return errors.New("runtime: Options.Registry is required")
	}
	return nil
}

// engine is one run on its way.
type engine struct {
	options     Options
	shadow      *host.Shadow // of a plan; nil in an apply
	run         *states.StateRun
	nodes       dag
	recorder    *recorder
	guards      guards
	results     results
	expressions *expressions
	peers       peers
	earlierActs *journal.Ledger // of this site
	debts       debts
	orphans     orphans
	locks       *lockSet
	confirms    confirmations
	resumption  *resumption  // nil: the run began with this process
	acts        sync.RWMutex // see runAlone
	documents   documents    // of comparisons
	foreigners  foreignNodes // that rules purge
	departures  departureWork
	actors      actors
	// recoveredActs are parts that an earlier run has begun, and of which a step has
	// taken that over.
	recoveredActs map[string]bool
	// predicted holds what a plan takes for granted, by type and key: the
	// wanted resource of a part whose act cannot be foreseen, nil for removed.
	predicted map[string]any
	effects   *effects // of a plan; nil in an apply
}

// carryOut runs everything; with a shadow it is a plan.
func carryOut(ctx context.Context, run *states.StateRun, o Options, shadow *host.Shadow, known *effects) (_ *Result, err error) {
	defer fault.Catch(&err)
	e := &engine{
		options: o, shadow: shadow, run: run, effects: known,
		locks:     cmp.Or(o.locks, &lockSet{}),
		predicted: map[string]any{},
	}
	e.actors.options, e.actors.shadow = &e.options, shadow
	defer func() { err = e.masked(run, err) }()
	e.peers.paths = sync.OnceValue(func() []string { return collectPaths(e.run, o.Registry) })
	if o.Journal != nil && o.Journal.Resumed() != nil {
		e.resumption = &resumption{Resumed: o.Journal.Resumed()}
	}
	e.inheritDebts()
	if err := e.findOrphans(ctx); err != nil {
		return nil, err
	}
	if e.run, err = e.withDeparture(run); err != nil {
		return nil, err
	}
	all, err := e.withDeletions(ctx, e.run)
	if err != nil {
		return nil, err
	}
	if e.run, err = withOwed(e.withOrphans(all), e.debts.open); err != nil {
		return nil, err
	}
	e.run = e.withLateRemovals(e.run)
	e.results.collect(e.run, o.outer != nil)
	if e.nodes, err = newDAG(e.run); err != nil {
		return nil, err
	}
	if e.resumption != nil {
		e.resumption.nodes = e.nodes
	}
	if known != nil {
		known.nodes, known.registry, known.shadow, known.callType = e.nodes, o.Registry, shadow, e.batchType
	}
	if err := e.findConfirmations(); err != nil {
		return nil, err
	}
	if o.Journal != nil && shadow == nil {
		e.options.Host = o.Host.ForRun(o.Journal.ID())
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx = states.WithDeclared(states.WithPeers(ctx, e.peersOf), e.peers.declaredBelow)
	e.inheritDecisions()
	e.recorder = newRecorder(e, stop)
	e.expressions = &expressions{results: &e.results, outer: o.outer, sources: o.Sources, mask: e.recorder.mask, given: run.GivenOutput}
	e.recorder.start()
	e.takeOverWrites()
	e.recordWanted()
	e.rememberDeparture(run)
	e.announceDebts()
	e.renameNodes()
	e.cleanUp(ctx)
	e.settlePast(ctx)
	e.announceOrphans()
	stopped := fault.Do(func() error { e.schedule(ctx); return nil })
	rebooting := errors.Is(context.Cause(ctx), states.ErrRebooting)
	if !rebooting { // what was not confirmed yet is, or put back, after that
		e.endConfirmations(ctx)
	}
	e.endDeparture()
	interrupted := ctx.Err() != nil
	result := e.recorder.finish(interrupted)
	result.Rebooting, result.Outputs = rebooting, e.outputs()
	e.settleManaged()
	e.settleMembership()
	if e.debts.ledger != nil {
		e.debts.ledger.End()
		result.Left = e.debts.ledger.Ledger
	}
	if err := cmp.Or(stopped, e.recorder.err); err != nil {
		return result, fmt.Errorf("the run was stopped: %w", err)
	}
	return result, nil
}

// masked hides the run's secrets in an error of the run itself, which goes to its status and to
// whoever asked for it.
func (e *engine) masked(run *states.StateRun, err error) error {
	switch {
	case err == nil:
		return nil
	case e.recorder != nil: // it knows also what parts have turned out to be secret
		return e.recorder.mask.error(err)
	}
	return newMasker(run, e.options.Registry).error(err)
}

// planning reports whether the run is a plan.
func (e *engine) planning() bool { return e.shadow != nil }
