// Package watch does something again and again, as a machine is kept in shape:
// Loop calls a round at intervals, and Drift tells what is new in it.
package watch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"
)

// DefaultInterval is the time between rounds where none is given.
const DefaultInterval = 30 * time.Minute

// Options say when rounds begin.
type Options struct {
	// Interval is the time from the beginning of a round to that of the next;
	// 0: DefaultInterval.
	Interval time.Duration
	// Jitter is by which part of the interval it may be shorter or longer: 0.1 is
	// ten percent. It is at least 0 and below 1.
	Jitter float64
	// Seed decides how long each of the intervals is. With one of its own, as its
	// machine-id is, each host of many goes its own way, and the same way each
	// time.
	Seed string
	// Rounds is after how many the loop ends; 0: it does not.
	Rounds int
	// Now begins the next round at once; nil: nothing does.
	Now <-chan struct{}
}

// Loop calls round now and after each interval, with its number from one, until
// it gives an error, the rounds are done or the context ends. The error is that
// of the round, or of the context if this ended between rounds.
//
// Rounds never overlap. When one takes longer than its interval, the next begins
// an interval after its end: nothing is made up for. The clock of the day does
// not matter, nor that it is set.
func Loop(ctx context.Context, o Options, round func(ctx context.Context, n int) error) error {
	pauses := NewPauses(o)
	for n := 1; ; n++ {
		begun := time.Now()
		if err := round(ctx, n); err != nil {
			return err
		}
		if n == o.Rounds {
			return nil
		}
		pause := pauses.Next()
		rest := pause - time.Since(begun)
		if rest <= 0 {
			rest = pause
		}
		if err := sleep(ctx, rest, o.Now); err != nil {
			return err
		}
	}
}

// sleep waits for the time, for now, or for the end of the context.
func sleep(ctx context.Context, d time.Duration, now <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-now:
	}
	return ctx.Err() // of several that are ready, select takes any
}

// Pauses are the intervals of a loop, one after the other.
type Pauses struct {
	interval time.Duration
	jitter   float64
	random   *rand.Rand
}

// NewPauses gives the intervals that Loop keeps to. The same options give the
// same.
func NewPauses(o Options) *Pauses {
	sum := sha256.Sum256([]byte(o.Seed))
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	return &Pauses{
		interval: o.Interval, jitter: o.Jitter,
		random: rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))),
	}
}

// Next gives the next interval: evenly spread from (1 - jitter) to (1 + jitter)
// times the one that was asked for.
func (p *Pauses) Next() time.Duration {
	factor := 1 + p.jitter*(2*p.random.Float64()-1)
	d := float64(p.interval) * factor
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(time.Duration(d), 1)
}
