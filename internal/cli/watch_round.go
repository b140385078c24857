package cli

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/watch"
	"github.com/tenetcm/tenet/states"
)

// watcher is a watch on its way.
type watcher struct {
	*client
	cmd     *watchCmd
	options reconcile.Options
	loop    *reconcile.Loop
	turn    *watchTurn // under way
	drift   watch.Drift
	listen  func(states.Event) // hears of all that an apply does; nil: nobody does
	// differing is how much the last plan has found to differ, if there was one.
	differing int
	hasLooked bool
	lastEnd   roundEnd // how the last round ended
	last      int      // the exit status that it stands for
}

// roundEnd is how a round ended: a line of JSON.
type roundEnd struct {
	Type    string    `json:"type"` // "round"
	Time    time.Time `json:"time"`
	Round   int       `json:"round"`
	Run     string    `json:"run,omitempty"`
	Outcome string    `json:"outcome"`
	Drifted *int      `json:"drifted,omitempty"` // --plan-only: how much is not as declared
	Reason  string    `json:"reason,omitempty"`
	// Where the loop stands after it.
	Phase    reconcile.Phase `json:"phase"`
	Cause    reconcile.Cause `json:"cause,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	Next     time.Time       `json:"next,omitzero"`
}

// same reports whether two rounds ended alike.
func (e roundEnd) same(o roundEnd) bool {
	return e.Outcome == o.Outcome && e.Reason == o.Reason && (e.Drifted == nil) == (o.Drifted == nil) &&
		(e.Drifted == nil || *e.Drifted == *o.Drifted) && (e.Phase == reconcile.Help) == (o.Phase == reconcile.Help)
}

// How a round may end.
const (
	roundUnchanged = "unchanged"
	roundChanged   = "changed"
	roundFailed    = "failed"  // something failed
	roundDrifted   = "drifted" // --plan-only: something is not as declared
	roundSkipped   = "skipped" // somebody else applies, or nobody may
	roundInvalid   = "wrong"   // the site is
)

// markEvery is how often a watch looks whether somebody has asked it to try again.
const markEvery = 5 * time.Second

// open takes the loop up where it was. One that only looks leaves no records.
func (w *watcher) open() error {
	w.options = w.keeping(nil)
	site, err := filepath.Abs(w.cmd.Site)
	if err != nil {
		return err
	}
	c := reconcile.Config{Site: site, Options: w.options, Work: &watchWork{w}, Random: watch.Random(watchSeed(w.cmd.Site)), Tell: func(t reconcile.Transition) { w.measure(t.State.Phase) }}
	if !w.cmd.PlanOnly {
		dir, err := w.stateDir()
		if err == nil {
			err = journal.MakeFolder(dir)
		}
		if err != nil {
			return err
		}
		c.Folder = reconcile.In(dir)
	}
	w.loop, err = reconcile.Open(c)
	return err
}

// keeping is how the machine is kept: as the command says, and else as the site does.
func (w *watcher) keeping(site *reconcile.Options) reconcile.Options {
	var o reconcile.Options
	if w.cmd.PlanOnly {
		o.Mode = reconcile.Audit
	}
	if w.cmd.Interval != nil {
		o.Poll = time.Duration(*w.cmd.Interval)
	}
	if w.cmd.Jitter != nil {
		if o.Jitter = float64(*w.cmd.Jitter); o.Jitter == 0 {
			o.Jitter = -1
		}
	}
	if site != nil {
		o = o.Or(*site)
	}
	if w.cmd.Interval != nil && o.Backoff == 0 {
		o.Backoff = min(reconcile.DefaultBackoff, o.Poll)
	}
	return o
}

// begin has the first round begin at once, whatever the loop was doing. Help that somebody was asked for is asked for still.
func (w *watcher) begin() error {
	switch s := w.loop.State(); {
	case s.Wanted.Digest == "": // what that is the first round finds out
		return w.loop.Want(reconcile.Target{Digest: "unknown"}, w.options)
	case s.Phase == reconcile.Help:
		w.loop.Look()
	case s.Phase.IsRest():
		return w.loop.Again()
	}
	return nil
}

// round is one of many. An error ends the watch.
func (w *watcher) round(ctx context.Context, n int) error {
	p := &page{client: w.client, round: n, drift: &w.drift, plan: w.cmd.PlanOnly, listen: w.listen}
	w.turn = &watchTurn{page: p, end: roundEnd{Outcome: roundUnchanged}}
	err := w.loop.Turn(ctx)
	t := w.turn
	if err != nil && ctx.Err() == nil {
		t.end, t.err = roundEnd{Outcome: roundFailed, Reason: err.Error()}, failure(err)
	}
	st, _ := errors.AsType[*status](t.err)
	switch {
	case ctx.Err() != nil && t.end.Run == "": // nothing had begun, or it was only looked at
		return ctx.Err()
	case st != nil && (st.code == exitInterrupted || st.code == exitUsage && n == 1):
		return t.err
	}
	if !t.hasApplied {
		t.showPlan(w.cmd.PlanOnly)
	}
	s := w.loop.State()
	t.end.Type, t.end.Time, t.end.Round = "round", time.Now().UTC(), n
	t.end.Phase, t.end.Cause, t.end.Next = s.Phase, s.Cause, s.Next.UTC()
	if t.end.Attempt = s.Attempt(); t.end.Attempt > 0 {
		t.end.Attempts = w.options.WithDefaults().Attempts
	}
	return w.close(t)
}

// close ends a round. What it ended with is told where that is new, or where
// something was applied.
func (w *watcher) close(t *watchTurn) error {
	same := t.end.Round > 1 && t.end.same(w.lastEnd)
	w.lastEnd, w.last = t.end, exitDone
	if t.err != nil {
		st := &status{code: exitFailed, err: t.err}
		errors.As(t.err, &st)
		if w.last = st.code; !same {
			w.report(t.err)
		}
	}
	if w.last == exitDone && t.end.Phase == reconcile.Help {
		w.last = exitFailed
	}
	if same && !t.hasApplied && !t.page.hasOutput && (w.cmd.PlanOnly || !w.globals.JSON) {
		return nil
	}
	return t.page.end(t.end)
}

// awaitRound waits for the next round; false: the context has ended.
func (w *watcher) awaitRound(ctx context.Context, now <-chan struct{}) bool {
	for {
		next := w.loop.Next()
		left := time.Until(next)
		if !next.IsZero() && left <= 0 {
			return true
		}
		if next.IsZero() || left > markEvery && !w.cmd.PlanOnly {
			left = markEvery
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-now:
			if err := w.loop.Again(); err != nil {
				w.report(failure(err))
			}
		}
		timer.Stop()
		if ctx.Err() != nil { // of several that are ready, select takes any
			return false
		}
	}
}
