package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
)

// keeper keeps the host as each of its sites wants it: sites take turns.
type keeper struct {
	agent *Agent
	wake  chan struct{}
	// turning is held while the host is looked at or changed.
	turning sync.Mutex

	mu       sync.Mutex
	sites    map[string]*siteLoop
	attempts *attempts
}

// siteLoop is how far the host is with one site. Its fields are the keeper's to change.
type siteLoop struct {
	site    string
	want    *control.Assigned          // the newest
	due     time.Time                  // when its turn is, by this process's clock; zero: at once
	applied bool                       // this assignment was carried out once
	attempt int                        // how often it has failed since the last success
	help    bool                       // nothing is applied until something else is wanted
	told    control.Loop               // last
	run     *control.Run               // that has ended last, as it was told; nil: none has in this process
	outputs *control.Outputs           // that were told last; nil: none were
	given   map[string]json.RawMessage // to other hosts, in this process
}

// Defaults, and limits of the loop.
const (
	defaultPoll = 30 * time.Minute
	defaultBase = 10 * time.Second
	maxBackoff  = 30 * time.Minute
	maxAttempts = 8
	maxRounds   = 3
	// laterBackoff is the number of failures that what could not be tried waits like.
	laterBackoff = 2
	blockedFor   = time.Minute
	deadline     = time.Hour
)

func newKeeper(a *Agent, kept *attempts) *keeper {
	return &keeper{agent: a, wake: make(chan struct{}, 1), sites: map[string]*siteLoop{}, attempts: kept}
}

// want takes an assignment up.
func (k *keeper) want(a *control.Assigned) {
	k.mu.Lock()
	s := k.sites[a.Site]
	if s == nil {
		s = &siteLoop{site: a.Site}
		k.sites[a.Site] = s
	}
	// What brings about the same is nothing new: its attempts go on being counted.
	if s.want == nil || s.want.Identity != a.Identity || s.want.Absent != a.Absent {
		s.applied, s.attempt = false, k.attempts.count(a)
		s.help = s.attempt >= maxAttempts
	}
	s.want, s.due = a, time.Time{}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run gives sites their turns until the context ends.
func (k *keeper) run(ctx context.Context) {
	k.turning.Lock()
	err := k.resume(ctx)
	k.turning.Unlock()
	if err != nil && ctx.Err() == nil {
		k.agent.Log(err)
	}
	for ctx.Err() == nil {
		if err := k.again(); err != nil {
			k.agent.Log(err)
		}
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
}

// next gives the site whose turn is next, and when that is.
func (k *keeper) next() (*siteLoop, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var first *siteLoop
	for _, s := range k.sites {
		if first == nil || s.due.Before(first.due) || s.due.Equal(first.due) && s.site < first.site {
			first = s
		}
	}
	if first == nil {
		return nil, time.Hour
	}
	return first, time.Until(first.due)
}

// turn does what a site wants now.
func (k *keeper) turn(ctx context.Context, s *siteLoop) {
	k.turning.Lock()
	defer k.turning.Unlock()
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	want, round := s.want, *s
	k.mu.Unlock()
	t := &turn{keeper: k, agent: k.agent, want: want, applied: round.applied, attempt: round.attempt, help: round.help}
	next := t.take(ctx)
	if ctx.Err() != nil { // it begins anew with the next process, and whoever has ended this one says nothing of what is wanted
		t.attempt = round.attempt
	}
	if err := k.count(want, t.attempt); err != nil {
		k.agent.Log(err) // it counts until the next turn
	}
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	same := s.want.Identity == want.Identity && s.want.Absent == want.Absent
	if same {
		s.applied, s.attempt, s.help = t.applied, t.attempt, t.help
	}
	if s.want != want { // something is wanted since: its turn is at once
		return
	}
	if t.gone {
		delete(k.sites, s.site)
		return
	}
	s.due = time.Now().Add(next)
}

// count makes durable how often something was tried.
func (k *keeper) count(want *control.Assigned, attempt int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.attempts.set(want, attempt); err != nil {
		return fmt.Errorf("an attempt cannot be counted: %w", err)
	}
	return nil
}

// ended notes a run that has ended.
func (k *keeper) ended(r *control.Run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.sites[r.Site]; s != nil {
		s.run = r
	}
}

// repeat tells again how things stand: what was told of it before may have been lost.
func (k *keeper) repeat() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, site := range slices.Sorted(maps.Keys(k.sites)) {
		s := k.sites[site]
		if s.run != nil {
			k.agent.teller.tell(control.Item{Run: s.run})
		}
		if s.outputs != nil {
			k.agent.teller.tell(control.Item{Outputs: s.outputs})
		}
		if l := s.told; l.Site != "" {
			k.agent.teller.tell(control.Item{Loop: &l})
		}
	}
}

// say tells where the loop of a site stands.
func (k *keeper) say(want *control.Assigned, l control.Loop) {
	k.mu.Lock()
	s := k.sites[l.Site]
	known := s != nil && s.told == l
	if s != nil {
		s.told = l
	}
	k.mu.Unlock()
	if !known {
		k.show(want, &l)
		k.agent.teller.tell(control.Item{Loop: &l})
	}
}

// backoff gives how long to wait after some failures: full jitter, growing.
func (k *keeper) backoff(attempt int) time.Duration {
	limit := min(cmp.Or(k.agent.RetryBase, defaultBase)<<min(attempt, 20), maxBackoff)
	return limit/10 + rand.N(limit)
}

// poll gives how long to wait until the host is looked at again.
func (k *keeper) poll() time.Duration {
	d := cmp.Or(k.agent.Poll, defaultPoll)
	return d*9/10 + rand.N(d/5+1)
}
