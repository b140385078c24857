package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/agent/programs"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/trust"
)

// updater brings the host to the release that its server wants it to run: it fetches the program, has it tried beside this one, and then has it
// follow. Until that is durable nothing has changed, and whatever fails before leaves the agent as it is.
type updater struct {
	agent *Agent
	wake  chan struct{}

	mu      sync.Mutex
	offered *control.Offered   // nil: there is nothing to follow
	cancel  context.CancelFunc // of what is done about it
	told    *control.Update
	proven  bool
	fetches int // that have failed in a row
}

// maxFetchPause is how long it waits at most until a program that could not be fetched is fetched again.
const maxFetchPause = 30 * time.Minute

// askIdle is how often it is looked whether something is applied.
const askIdle = 2 * time.Second

// offer takes a release up; nil: the one that was offered is withdrawn, and nothing more is done about it. The one that is known already changes nothing. The
// lock of the agent is held.
func (u *updater) offer(o *control.Offered) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if was := u.offered; was == nil && o == nil || was != nil && o != nil && was.Number == o.Number && was.Release == o.Release && (was.Err == nil) == (o.Err == nil) {
		return
	}
	u.offered, u.fetches = o, 0
	if u.cancel != nil {
		u.cancel()
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// run follows what is offered until the context ends.
func (u *updater) run(ctx context.Context) {
	u.tellFailure()
	var again <-chan time.Time
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-u.wake:
		}
		again = nil
		u.mu.Lock()
		o := u.offered
		if o == nil {
			u.mu.Unlock()
			continue
		}
		following, cancel := context.WithCancel(ctx)
		u.cancel = cancel
		u.mu.Unlock()
		if wait := u.follow(following, o); wait > 0 {
			again = time.After(wait)
		}
		cancel()
	}
}

// tellFailure tells why a program that ran before this one does not run any more: it could not do that by itself.
func (u *updater) tellFailure() {
	a := u.agent
	if a.Programs == nil {
		return
	}
	r, err := a.Programs.Read()
	if err != nil {
		a.Log(err)
		return
	}
	if f := r.Failure; f != nil {
		u.say(f.Release, control.UpdateFailed, f.Reason, r.Retry(f.Release))
	}
}

// follow does what there is to do about a release, and gives how long to wait until it is looked at again; 0: until something is new.
func (u *updater) follow(ctx context.Context, o *control.Offered) time.Duration {
	a := u.agent
	by := programs.Release{Number: o.Number, Digest: o.Release, Version: o.Version}
	refused := o.Err
	if refused == nil && (a.Programs == nil || a.Try == nil) {
		refused = errors.New("this agent runs in a way in which it cannot replace itself: replace its program by hand")
	}
	if refused != nil {
		u.say(by, control.UpdateRefused, refused.Error(), time.Time{})
		return 0
	}
	if r, err := a.Programs.Read(); err == nil {
		now := a.Clock()
		if next := r.Retry(by); now.Before(next) {
			u.say(by, control.UpdateFailed, r.Failure.Reason, next)
			return next.Sub(now)
		}
	}
	p := programs.Program{Version: o.Version, Content: o.Program.Content}
	u.say(by, control.UpdateFetching, "", time.Time{})
	path, err := u.fetch(ctx, p)
	if err != nil {
		return u.fetchLater(ctx, by, err)
	}
	release := u.awaitIdle(ctx, by)
	if release == nil {
		return 0
	}
	release() // sites go on while the program is tried: how long that takes is the server's to say
	u.say(by, control.UpdateTrying, "", time.Time{})
	if err := a.Try(ctx, path, o.Version); err != nil {
		return u.failed(ctx, by, err)
	}
	if release = u.awaitIdle(ctx, by); release == nil {
		return 0
	}
	defer release()
	if err := a.Programs.Switch(a.Own, p, by); err != nil {
		return u.failed(ctx, by, err)
	}
	u.say(by, control.UpdateSwitched, "", time.Time{})
	a.Log(fmt.Errorf("update to %s: this program ends, and that one follows", o.Version))
	a.restart()
	return 0
}

// fetch gets the program onto the disk, whole and checked.
func (u *updater) fetch(ctx context.Context, p programs.Program) (string, error) {
	a := u.agent
	if err := a.Programs.Make(); err != nil {
		return "", err
	}
	if path, err := a.Programs.Find(&p); err == nil {
		return path, nil
	}
	name := p.SHA256.String()
	if err := a.Programs.Sweep(name, name+".part"); err != nil {
		return "", err
	}
	a.fetching.Lock()
	defer a.fetching.Unlock()
	f := &fetcher{agent: a, ctx: ctx, want: &control.Assigned{}, dir: a.Programs.Dir, tickets: map[trust.Digest]string{}}
	defer f.done()
	fetched, err := f.fetch(p.Content, []trust.Content{p.Content})
	if err != nil {
		return "", err
	}
	return a.Programs.Keep(fetched, p)
}

// fetchLater has a program fetched again after a while: nothing has been tried yet, so that a server that is away is no failure of the release.
func (u *updater) fetchLater(ctx context.Context, by programs.Release, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	u.mu.Lock()
	u.fetches++
	wait := u.agent.backoff(u.fetches)
	u.mu.Unlock()
	u.say(by, control.UpdateFetching, err.Error(), u.agent.Clock().Add(wait))
	return wait
}

// backoff gives how long to wait after some failures: full jitter, growing.
func (a *Agent) backoff(attempt int) time.Duration {
	limit := min(cmp.Or(a.RetryBase, site.DefaultBackoff)<<min(attempt, 20), maxFetchPause)
	return limit/10 + rand.N(limit)
}

// failed notes that a program cannot follow.
func (u *updater) failed(ctx context.Context, by programs.Release, err error) time.Duration {
	if ctx.Err() != nil { // it was ended, which says nothing of the program
		return 0
	}
	a := u.agent
	noted := a.Programs.Fail(by, diag.Clean(err.Error(), "\n", '�'))
	if noted != nil {
		a.Log(noted)
	}
	next := a.Clock().Add(time.Hour)
	if r, err := a.Programs.Read(); err == nil && noted == nil {
		next = r.Retry(by)
	}
	u.say(by, control.UpdateFailed, err.Error(), next)
	return next.Sub(a.Clock())
}

// awaitIdle waits until nothing is applied, and keeps it so until what it gives is called; nil: the context has ended.
func (u *updater) awaitIdle(ctx context.Context, by programs.Release) (release func()) {
	for ctx.Err() == nil {
		reason, release := u.agent.keeper.idle(ctx)
		if release != nil {
			return release
		}
		u.say(by, control.UpdateWaiting, reason, time.Time{})
		wait(ctx, askIdle)
	}
	return nil
}

// answered notes that the server has answered this program.
func (u *updater) answered() {
	a := u.agent
	a.mu.Lock()
	isAnswered := a.core.Answered()
	a.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if a.Programs == nil || u.proven || !isAnswered {
		return
	}
	if err := a.Programs.Prove(a.Own); err != nil {
		a.Log(fmt.Errorf("it cannot be noted that this program is of use: %w", err))
		return
	}
	u.proven = true
}

// say tells how far the host is.
func (u *updater) say(by programs.Release, phase control.UpdatePhase, reason string, next time.Time) {
	told := control.Update{Number: by.Number, Release: by.Digest, Version: by.Version, Phase: phase, Reason: diag.Clean(reason, "\n", '�')}
	if !next.IsZero() {
		told.Next = next.UTC().Truncate(time.Second)
	}
	u.mu.Lock()
	known := u.told != nil && *u.told == told
	u.told = &told
	u.mu.Unlock()
	if known {
		return
	}
	if reason != "" {
		u.agent.Log(fmt.Errorf("update to %s: %s: %s", by.Version, phase, reason))
	}
	u.agent.teller.tell(control.Item{Update: &told})
}

// repeat tells it again: what was told before may have been lost.
func (u *updater) repeat() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.told != nil {
		u.agent.teller.tell(control.Item{Update: u.told})
	}
}

// idle says why the agent cannot be replaced now, or has nothing looked at or changed until the function that it gives is called.
func (k *keeper) idle(ctx context.Context) (reason string, release func()) {
	if !k.turning.TryLock() {
		return "the host is looked at or changed", nil
	}
	reason = k.busy()
	if reason == "" {
		reason = k.heldUp(ctx)
	}
	if reason != "" {
		k.turning.Unlock()
		return reason, nil
	}
	return "", k.turning.Unlock
}

// busy names a site that does not just wait.
func (k *keeper) busy() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, s := range k.sites {
		switch s.told.Phase {
		case control.PhaseWaiting, control.PhaseHelp:
		case control.PhaseBlocked:
			if s.told.Cause != string(reconcile.Closed) {
				return fmt.Sprintf("the site %s is blocked", name)
			}
		case "":
			return fmt.Sprintf("the site %s has not been looked at yet", name)
		default:
			return fmt.Sprintf("the site %s is %s", name, s.told.Phase)
		}
	}
	return ""
}

// heldUp says what others do on the host.
func (k *keeper) heldUp(ctx context.Context) string {
	status, err := k.agent.Machine.Status(ctx, "")
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be told whether something is applied: %v", err)
	case status.Hold != nil:
		return "the host is held: " + status.Hold.Reason
	case status.Applying != nil:
		return "a run is under way"
	}
	return ""
}
