package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/watch"
)

type watchCmd struct {
	siteArg
	lockFlags
	pruneFlags
	Yes      bool       `short:"y" help:"Apply in each round without asking."`
	PlanOnly bool       `help:"Change nothing; tell what is not as declared."`
	Interval span       `help:"Time from the beginning of a round to that of the next." default:"30m" placeholder:"DURATION"`
	Jitter   percentage `help:"By how much the interval may be shorter or longer, so that not all machines begin at once." default:"10%" placeholder:"PERCENT"`
	Rounds   int        `help:"End after this many rounds." placeholder:"N"`
}

// Run applies a site, or looks at what it would do, now and at intervals.
func (cmd *watchCmd) Run(ctx runContext, s *client) error {
	switch {
	case cmd.Yes && cmd.PlanOnly:
		return usage("leave one out", "--yes is to apply, and --plan-only is to change nothing")
	case !cmd.Yes && !cmd.PlanOnly:
		return usage("give --yes, or --plan-only to change nothing", "watch applies again and again, and cannot ask each time")
	case isPlanFile(cmd.Site):
		return usage("tenet apply FILE does what it says", "watch is for a site, and %s is a saved plan", cmd.Site)
	case cmd.Interval <= 0:
		return usage("", "--interval is a time above zero")
	case cmd.Rounds < 0:
		return usage("", "--rounds is a number of rounds, not %d", cmd.Rounds)
	}
	now := make(chan struct{}, 1)
	defer onSignal(syscall.SIGUSR1, now)()
	return cmd.loop(ctx, s, now)
}

// loop does one round after the other; now begins the next.
func (cmd *watchCmd) loop(ctx context.Context, s *client, now <-chan struct{}) error {
	w := &watcher{client: s, cmd: cmd}
	s.lockTimeout, s.prune = time.Duration(cmd.LockTimeout), cmd.Prune
	s.shownDiagnostics, s.evaluation = &shownDiagnostics{}, &lastEvaluation{now: time.Now}
	err := watch.Loop(ctx, watch.Options{
		Interval: time.Duration(cmd.Interval), Jitter: float64(cmd.Jitter), Seed: watchSeed(cmd.Site), Rounds: cmd.Rounds, Now: now,
	}, w.round)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) { // between two rounds: a clean end
		return nil
	}
	if err == nil && w.last != exitDone {
		return &status{code: w.last}
	}
	return err
}

// onSignal passes a signal on, until the result is called.
func onSignal(sig os.Signal, to chan<- struct{}) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sig)
	fault.Go(func() {
		for range signals {
			select {
			case to <- struct{}{}:
			default: // one is waiting already
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// watchSeed is what tells this machine and site from others: the machine-id, or the
// host name where there is none, and the path of the site.
func watchSeed(site string) string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(strings.TrimSpace(string(id))) == 0 {
		name, _ := os.Hostname() // without one, machines are alike
		id = []byte(name)
	}
	if path, err := filepath.Abs(site); err == nil {
		site = path
	}
	return strings.TrimSpace(string(id)) + "\x00" + site
}

// watcher is a watch on its way.
type watcher struct {
	*client
	cmd     *watchCmd
	drift   watch.Drift
	lastEnd roundEnd // how the last round ended
	last    int      // the exit status that it stands for
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
}

// same reports whether two rounds ended alike.
func (e roundEnd) same(o roundEnd) bool {
	return e.Outcome == o.Outcome && e.Reason == o.Reason && (e.Drifted == nil) == (o.Drifted == nil) &&
		(e.Drifted == nil || *e.Drifted == *o.Drifted)
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

// round is one of many. An error ends the watch.
func (w *watcher) round(ctx context.Context, n int) error {
	p := &page{client: w.client, round: n, drift: &w.drift, plan: w.cmd.PlanOnly}
	end, err := w.look(ctx, p)
	end.Type, end.Time, end.Round = "round", time.Now().UTC(), n
	st, _ := errors.AsType[*status](err)
	switch {
	case ctx.Err() != nil && end.Run == "": // nothing had begun, or it was only looked at
		return ctx.Err()
	case st != nil && (st.code == exitInterrupted || st.code == exitUsage && n == 1):
		return err
	}
	return w.close(end, err, p)
}

// look carries out a round, and tells how it ended. The error, if there is one,
// is what an apply or a plan would have ended the program with.
func (w *watcher) look(ctx context.Context, p *page) (roundEnd, error) {
	if w.cmd.PlanOnly {
		switch reason, err := w.busy(); {
		case err != nil:
			return roundEnd{Outcome: roundFailed, Reason: err.Error()}, err
		case reason != "":
			return roundEnd{Outcome: roundSkipped, Reason: reason}, nil
		}
	}
	c, hosts, err := w.choose(ctx)
	if err == nil && hosts != nil {
		err = notWatched(hosts)
	}
	var v *fleetRun
	if err == nil {
		v, err = w.siteRunHere(ctx, c)
	}
	if err != nil {
		return roundEnd{Outcome: roundInvalid, Reason: reasonOf(err, "the site is wrong")}, err
	}
	v.newRenderer, v.interpretOutcome = p.open, func(o fleet.Outcome) fleet.Outcome { return o }
	var outcomes []fleet.Outcome
	if w.cmd.PlanOnly {
		outcomes, err = v.plan(ctx)
	} else {
		outcomes, err = v.execute(ctx, fleet.Apply(nil, v.prepare), v.members, nil)
	}
	if err == nil {
		err = v.exitStatus(outcomes, false)
	}
	return w.judge(outcomes, err, p)
}

// judge tells how a round ended by its outcome, if there is one, and what an apply or a plan
// would have ended the program with.
func (w *watcher) judge(outcomes []fleet.Outcome, err error, p *page) (roundEnd, error) {
	var o fleet.Outcome
	if len(outcomes) > 0 {
		o = outcomes[0]
	}
	if reason := refusal(o.Err); reason != "" {
		return roundEnd{Outcome: roundSkipped, Reason: reason}, nil
	}
	end := roundEnd{Run: o.Run}
	switch {
	case o.Status == fleet.Invalid:
		return roundEnd{Outcome: roundInvalid, Reason: reasonOf(err, "the site is wrong")}, err
	case o.Result == nil || o.Err != nil || o.Result.Interrupted:
		w.drift.Forget()
		end.Outcome = roundFailed
		if err != nil && !(o.Result != nil && o.Result.Interrupted) {
			end.Reason = err.Error()
		}
		return end, err
	}
	end.Outcome = roundUnchanged
	if w.cmd.PlanOnly {
		end.Drifted = new(w.drift.Len())
	}
	p.showGone(w.drift.End())
	switch {
	case o.Result.Failed:
		end.Outcome = roundFailed
	case w.cmd.PlanOnly && *end.Drifted > 0:
		end.Outcome = roundDrifted
	case !w.cmd.PlanOnly && o.Result.Counts.Changed > 0:
		end.Outcome = roundChanged
	}
	return end, err
}

// notWatched refuses hosts that are not this machine alone.
func notWatched(hosts []lang.Host) error {
	var names, here []string
	for _, h := range hosts {
		names = append(names, h.Name)
		if h.Executor == "local" {
			here = append(here, h.Name)
		}
	}
	hint := `run it there; the host that is this machine has executor = "local", and tenet apply --limit NAME reaches others`
	if len(here) > 0 {
		hint = "name the one that is this machine: --limit " + here[0]
	}
	return usage(hint, "watch is for the machine that it runs on, and the site is for %s", namesOf(names, false))
}

// refusal tells why nothing may be applied now: somebody else does, or applies
// are on hold.
func refusal(err error) string {
	if locked, ok := errors.AsType[*journal.LockedError](err); ok {
		return locked.Error()
	}
	if held, ok := errors.AsType[*journal.HeldError](err); ok {
		return held.Error()
	}
	return ""
}

// busy tells who applies now, so that a look would see things half done.
func (w *watcher) busy() (string, error) {
	holder, err := w.currentApply()
	if err != nil || holder == nil {
		return "", err
	}
	return holder.Error(), nil
}

// reasonOf gives the text of an error; one without has been shown.
func reasonOf(err error, otherwise string) string {
	if st, ok := errors.AsType[*status](err); ok && st.err == nil {
		return otherwise
	}
	return err.Error()
}

// close ends a round. What it ended with is told where that is new, or where
// something was applied.
func (w *watcher) close(end roundEnd, err error, p *page) error {
	same := end.Round > 1 && end.same(w.lastEnd)
	w.lastEnd, w.last = end, exitDone
	if err != nil {
		st := &status{code: exitFailed, err: err}
		errors.As(err, &st)
		if w.last = st.code; !same {
			w.report(err)
		}
	}
	if same && w.cmd.PlanOnly && !p.hasOutput {
		return nil
	}
	return p.end(end)
}
