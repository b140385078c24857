package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// actWithRetries acts, and tries again as often as the part allows. What an earlier
// process has begun may prove to be done.
func (s *step) actWithRetries(ctx context.Context) {
	defer s.catchPanic()
	if begun, unknown := s.engine.interruptedAct(s); unknown && s.recoverAct(ctx, begun) {
		if s.outcome == states.Changed {
			s.reason = "run " + begun.Run + " began it, and it is done"
		}
		return
	}
	s.attempt(ctx)
	s.retryFailed(ctx)
}

// retryFailed makes the attempts after the first, if that one has failed. Each
// looks anew at what is there.
func (s *step) retryFailed(ctx context.Context) {
	defer s.catchPanic()
	retry := s.retryOptions()
	pauses := newPauses(retry, s.engine.recorder.runID(), s.part.Address)
	for s.attempts = 1; ; s.attempts++ {
		allowed := retry.Attempts
		if s.outcome == states.Unknown {
			if allowed == 0 {
				allowed = unknownAttempts
			}
			if ctx.Err() == nil && s.recoverAct(ctx, s.asBegun()) {
				return
			}
		}
		again := s.outcome == states.Failed || s.outcome == states.Unknown
		if !again || s.attempts >= allowed || ctx.Err() != nil || s.engine.planning() || s.isFinal(s.err) {
			return
		}
		s.engine.recorder.recordRetry(s)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pauses.next()):
		}
		if s.prepareAttempt(ctx) {
			s.attempt(ctx)
		}
	}
}

// unknownAttempts is how often an act is made whose outcome nobody knows; one
// that failed cleanly or timed out is made once. Both without a retry option.
const unknownAttempts = 3

// isFinal reports whether another attempt would fail in the same way, and nobody has
// asked for one.
func (d declaration) isFinal(err error) bool {
	if _, final := errors.AsType[*states.FinalError](err); !final {
		return false
	}
	own, usual := d.part.Options.Retry, d.module.Retry // the usual one stands in a compiled run, too
	return own == nil || usual != nil && *own == *usual
}

// pauses are the times to wait between attempts: each is up to a half shorter or
// longer than the option says, so that machines which fail together do not all
// come back together. A run waits as it did, should it be carried out again.
type pauses struct {
	retry  states.Retry
	delay  time.Duration // the next one, before chance
	random *rand.Rand
}

// longestPause is what delays do not grow beyond by themselves.
const longestPause = 24 * time.Hour

func newPauses(retry states.Retry, run, part string) *pauses {
	seed := sha256.Sum256([]byte(run + "\x00" + part))
	source := rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:16]))
	return &pauses{retry: retry, delay: retry.Delay, random: rand.New(source)}
}

// next gives the time to wait now.
func (p *pauses) next() time.Duration {
	limit := longestPause
	if p.retry.MaxDelay > 0 {
		limit = p.retry.MaxDelay
	} else if p.retry.Delay > limit {
		limit = p.retry.Delay
	}
	now := min(float64(p.delay)*(0.5+p.random.Float64()), float64(limit))
	if p.retry.Backoff > 0 {
		p.delay = time.Duration(min(float64(p.delay)*p.retry.Backoff, float64(limit)))
	}
	return time.Duration(now)
}

// interruptedAct gives how an earlier process began what this part does and nobody saw
// end. Only the first of several waves of a handler gets it.
func (e *engine) interruptedAct(s *step) (begun states.Begun, unknown bool) {
	if e.planning() || e.earlierActs.Empty() || s.module.Recover == nil {
		return begun, false
	}
	address := states.WithoutWave(s.part.Address)
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	for _, b := range e.earlierActs.Unknown {
		if states.Renamed(b.Address, e.run.Moved) == address && b.Type == s.part.Type && !e.recoveredActs[b.Address] {
			if e.recoveredActs == nil {
				e.recoveredActs = map[string]bool{}
			}
			e.recoveredActs[b.Address] = true
			return b, true
		}
	}
	return begun, false
}

// asBegun is this part's act as a later run would know it.
func (s *step) asBegun() states.Begun {
	return states.Begun{
		Site: journal.Identity(s.engine.run.Site, s.engine.options.Origin), Address: states.WithoutWave(s.part.Address),
		ID: s.part.ID, Type: s.part.Type, Key: s.part.Key, Action: s.action,
		Run: s.engine.recorder.runID(), Time: s.started, Boot: journal.BootID(),
	}
}

// recoverAct lets the module tell how an act ended that nobody saw end, and returns
// whether the part has ended with that: the act was done, and counts as changed, or
// the module cannot look. Else it is made again.
func (s *step) recoverAct(ctx context.Context, begun states.Begun) bool {
	if s.module.Recover == nil || !s.module.IsAct() || s.engine.planning() {
		return false
	}
	outcome, err := s.module.Recover(ctx, s.host, s.want, begun)
	if err != nil {
		s.err = causeOf(ctx, fmt.Errorf("how its act ended cannot be told: %w", err))
		if s.outcome == "" {
			s.outcome = states.Failed
		}
		return true
	}
	if outcome != states.Changed {
		return false
	}
	s.action, s.outcome, s.err = states.Execute, states.Changed, nil
	return true
}

// recheck lets the module say whether a resource is well that reads as wanted, and
// that an earlier process began and nobody saw end. If it is not, that stays so.
func (s *step) recheck(ctx context.Context) {
	begun, unknown := s.engine.interruptedAct(s)
	if !unknown || s.want == nil {
		return
	}
	if _, err := s.module.Recover(ctx, s.host, s.want, begun); err != nil {
		s.outcome, s.err = states.Unknown, causeOf(ctx, err)
	}
}

// prepareAttempt forgets a failed attempt and looks at the resource as it is now. It
// returns whether there is still something to do.
func (s *step) prepareAttempt(ctx context.Context) bool {
	s.outcome, s.err, s.changes = "", nil, nil
	if s.module.IsAct() {
		return true
	}
	if err := s.decode(); err != nil {
		return s.fail(err)
	}
	todo := s.compare(ctx) // that too may fail, and be tried again
	if s.outcome == states.Unchanged && s.hasPartialChange {
		s.outcome = states.Changed // by the attempt before, after all
	}
	return todo
}
