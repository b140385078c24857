package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/otlp"
	"github.com/tenetcm/tenet/runtime/reconcile"
)

// keeper keeps the host as each of its sites wants it: sites take turns.
type keeper struct {
	agent      *Agent
	wake       chan struct{}
	collectors collectors
	// turning is held while the host is looked at or changed.
	turning sync.Mutex

	mu    sync.Mutex
	sites map[string]*siteLoop
}

// siteLoop is the loop of one site.
type siteLoop struct {
	keeper    *keeper
	site      string
	loop      *reconcile.Loop // nil: it is not open yet. Set and used by the keeper's turns alone
	options   reconcile.Options
	values    map[string]json.RawMessage // that plans and applies of this turn give to other hosts. Likewise
	collector *otlp.Sender               // of what the last plan was for; nil: nobody is told. Likewise
	drift     int                        // how much that has found to differ; below 0: nothing has looked yet. Likewise
	broken    string                     // what was said last of records that cannot be written or read. Likewise

	// The keeper's mu is held for these.
	want      *control.Assigned // the newest
	known     *control.Assigned // that the loop was told of
	converged *control.Assigned // that can be gone back to; nil: none
	look      bool              // the host is to be looked at soon
	pause     time.Time         // nothing is done before
	told      control.Loop      // last
	run       *control.Run      // that has ended last, as it was told; nil: none has in this process
	outputs   *control.Outputs  // that were told last; nil: none were
	given     map[string]json.RawMessage
}

const (
	// askEvery is how often it is looked whether somebody has asked to try again.
	askEvery = 5 * time.Second
	// pauseBroken is how long nothing is done after records of a loop could not be written or read.
	pauseBroken = 10 * time.Second
)

func newKeeper(a *Agent) *keeper {
	return &keeper{agent: a, wake: make(chan struct{}, 1), sites: map[string]*siteLoop{}}
}

// loops has where loops stand.
func (k *keeper) loops() *reconcile.Folder { return reconcile.In(k.agent.StateDir) }

// want takes an assignment up.
func (k *keeper) want(a *control.Assigned) {
	k.mu.Lock()
	s := k.sites[a.Site]
	if s == nil {
		s = &siteLoop{keeper: k, site: a.Site, drift: -1}
		s.options = s.usual()
		k.sites[a.Site] = s
	}
	s.want, s.pause = a, time.Time{}
	k.mu.Unlock()
	k.signal()
}

// run gives sites their turns until the context ends.
func (k *keeper) run(ctx context.Context) {
	k.turning.Lock()
	k.begin(ctx)
	k.turning.Unlock()
	for ctx.Err() == nil {
		s, in := k.next()
		if s == nil || in > 0 {
			timer := time.NewTimer(min(in, askEvery))
			select {
			case <-ctx.Done():
			case <-k.wake:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		k.turn(ctx, s)
	}
	k.turning.Lock()
	defer k.turning.Unlock()
	k.closeCollectors()
	for _, s := range k.all() {
		if s.loop != nil {
			if err := s.loop.Close(); err != nil {
				k.agent.Log(err)
			}
		}
	}
}

// begin takes up what a former process has left.
func (k *keeper) begin(ctx context.Context) {
	for _, s := range k.all() {
		if err := s.open(); err != nil {
			k.agent.Log(err)
		}
	}
	if err := k.resume(ctx); err != nil && ctx.Err() == nil {
		k.agent.Log(err)
	}
}

// all lists the loops, by their sites.
func (k *keeper) all() []*siteLoop {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*siteLoop
	for _, site := range slices.Sorted(maps.Keys(k.sites)) {
		list = append(list, k.sites[site])
	}
	return list
}

// next gives the site whose turn is next, and when that is. What is under way goes on before anything else is begun: of several runs a machine goes on with its
// newest one.
func (k *keeper) next() (first *siteLoop, in time.Duration) {
	list := k.all()
	for _, s := range list {
		if s.loop != nil && !s.loop.State().Phase.IsRest() {
			if left, ok := s.untilTurn(); ok {
				return s, left
			}
		}
	}
	for _, s := range list {
		if left, ok := s.untilTurn(); ok && (first == nil || left < in) { // who is due for longest
			first, in = s, left
		}
	}
	if first == nil {
		in = askEvery
	}
	return first, in
}

// untilTurn tells how long it is until the site's turn, below 0 how long that is due; false: there is none.
func (s *siteLoop) untilTurn() (time.Duration, bool) {
	k := s.keeper
	k.mu.Lock()
	isNew, pause := s.known != s.want || s.look, time.Until(s.pause)
	k.mu.Unlock()
	if pause > 0 || isNew {
		return max(pause, 0), true
	}
	next := s.loop.Next()
	return next.Sub(k.agent.Clock()), !next.IsZero()
}

// turn does what a site wants now.
func (k *keeper) turn(ctx context.Context, s *siteLoop) {
	k.turning.Lock()
	defer k.turning.Unlock()
	if ctx.Err() != nil {
		return
	}
	err := s.take()
	if s.values = nil; err == nil {
		err = s.loop.Turn(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err == nil && s.loop.State().Phase == reconcile.Gone {
		err = k.forget(s)
	}
	said := ""
	if err != nil {
		said = err.Error()
		k.mu.Lock()
		s.pause = time.Now().Add(pauseBroken)
		k.mu.Unlock()
	}
	if said != "" && said != s.broken { // it is tried again and again, and said once
		k.agent.Log(err)
		s.sayBroken(said)
	}
	s.broken = said
}

// sayBroken tells that the loop of a site does nothing, since its records cannot be read or written.
func (s *siteLoop) sayBroken(reason string) {
	k := s.keeper
	k.mu.Lock()
	l := control.Loop{Site: s.site, Position: s.want.Position, Revision: s.want.Revision, Phase: control.PhaseRetrying, Condition: control.ConditionFailed, Cause: "records", Reason: diag.Clean(reason, "\n", '�')}
	s.told = l
	k.mu.Unlock()
	k.agent.teller.tell(control.Item{Loop: &l})
}

// forget ends the loop of a site that is absent. The absence stays held: nothing that was signed before it counts again.
func (k *keeper) forget(s *siteLoop) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.known != s.want { // something is wanted since
		return nil
	}
	delete(k.sites, s.site)
	return errors.Join(s.loop.Close(), k.loops().Remove(s.site), k.agent.converged.remove(s.site))
}

// open takes the loop up where it was.
func (s *siteLoop) open() (err error) {
	if s.loop != nil {
		return nil
	}
	a := s.keeper.agent
	s.loop, err = reconcile.Open(reconcile.Config{Site: s.site, Options: s.options, Work: s, Folder: s.keeper.loops(), Clock: a.Clock,
		Tell: func(t reconcile.Transition) { s.say(t.State) }})
	if err != nil {
		s.loop = nil
		return err
	}
	if o := s.loop.State().Options; o != nil {
		s.options = *o
	}
	return nil
}

// usual is how the host is kept where its site says nothing else.
func (s *siteLoop) usual() reconcile.Options {
	return reconcile.Options{Poll: s.keeper.agent.Poll, Backoff: s.keeper.agent.RetryBase}
}

// take tells the loop what is wanted.
func (s *siteLoop) take() error {
	if err := s.open(); err != nil {
		return err
	}
	k := s.keeper
	k.mu.Lock()
	want, isKnown, look := s.want, s.known == s.want, s.look
	s.look = false
	k.mu.Unlock()
	if look {
		s.loop.Look()
	}
	if isKnown {
		return nil
	}
	if err := s.loop.Want(targetOf(want), s.options); err != nil {
		return err
	}
	k.mu.Lock()
	s.known = want
	k.mu.Unlock()
	s.say(s.loop.State()) // of one that goes on where it was, nothing else may be told for long
	return nil
}

// look has the host looked at soon, since its facts have changed.
func (k *keeper) look() {
	for _, s := range k.all() {
		k.mu.Lock()
		s.look = true
		k.mu.Unlock()
	}
	k.signal()
}

// signal has the keeper look whose turn it is.
func (k *keeper) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// ended notes a run that has ended, and tells of it.
func (k *keeper) ended(r *control.Run) {
	k.mu.Lock()
	if s := k.sites[r.Site]; s != nil {
		s.run = r
	}
	k.mu.Unlock()
	k.agent.teller.tell(control.Item{Run: r})
}

// repeat tells again how things stand: what was told of it before may have been lost.
func (k *keeper) repeat() {
	for _, s := range k.all() {
		k.mu.Lock()
		run, outputs, told := s.run, s.outputs, s.told
		k.mu.Unlock()
		if run != nil {
			k.agent.teller.tell(control.Item{Run: run})
		}
		if outputs != nil {
			k.agent.teller.tell(control.Item{Outputs: outputs})
		}
		if told.Site != "" {
			k.agent.teller.tell(control.Item{Loop: &told})
		}
	}
}

// say tells where the loop of a site stands, unless that was told.
func (s *siteLoop) say(state reconcile.State) {
	k := s.keeper
	s.measure(state)
	l := s.report(state)
	k.mu.Lock()
	isKnown := s.told == l
	s.told = l
	k.mu.Unlock()
	if !isKnown {
		k.agent.teller.tell(control.Item{Loop: &l})
	}
}
