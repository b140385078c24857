package source

import (
	"cmp"
	"time"

	"github.com/tenetcm/tenet/lang/site"
)

// Options say when a source is looked at. The zero value is each five minutes, at all times.
type Options struct {
	Poll    time.Duration `json:"poll,omitempty"`   // between two looks; 0: 5 minutes
	Jitter  float64       `json:"jitter,omitempty"` // by which share of it they may come earlier or later; 0: a tenth; below 0: none
	Windows site.Schedule `json:"windows,omitempty"`
	// Downtimes are when nothing is tried, and nothing counts as failed.
	Downtimes []Downtime `json:"downtimes,omitempty"`
}

// Downtime is a time in which the way to a source is known to be closed.
type Downtime struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty"`
}

// What counts where Options say nothing.
const (
	DefaultPoll   = 5 * time.Minute
	defaultJitter = 0.1
	minBackoff    = 5 * time.Second
)

// MaxDowntimes is how many a source may have.
const MaxDowntimes = 1000

func (o Options) poll() time.Duration { return cmp.Or(o.Poll, DefaultPoll) }

// Closed tells why nothing is tried at a time, and when to ask again; an empty reason: something may be.
func (o Options) Closed(now time.Time) (reason string, until time.Time) {
	for _, d := range o.Downtimes {
		if !now.Before(d.From) && now.Before(d.To) {
			return cmp.Or(d.Reason, "downtime"), d.To
		}
	}
	if !o.Windows.IsOpen(now) {
		until := o.Windows.Next(now)
		if until.IsZero() {
			until = now.Add(24 * time.Hour) // none opens within a year
		}
		return "no window is open", until
	}
	return "", time.Time{}
}

// Due gives when something is tried that is due at a time: at once if that has come, and not while nothing is tried.
func (o Options) Due(at, now time.Time) time.Time {
	if at.Before(now) {
		at = now
	}
	for range MaxDowntimes { // one may begin where another one ends
		_, until := o.Closed(at)
		if until.IsZero() {
			break
		}
		at = until
	}
	return at
}

// next gives when to look again after one that went well.
func (o Options) next(now time.Time, random float64) time.Time {
	jitter := cmp.Or(o.Jitter, defaultJitter)
	return now.Add(scale(o.poll(), 1+max(jitter, 0)*(2*random-1)))
}

// Retry gives when to try again after so many that failed: at random below a limit that grows (full jitter), and is that of polls in the end.
func (o Options) Retry(now time.Time, failures int, random float64) time.Time {
	limit := o.poll()
	if shift := min(failures, 30); minBackoff<<shift < limit && minBackoff<<shift > 0 {
		limit = minBackoff << shift
	}
	return now.Add(limit/10 + scale(limit, 0.9*random))
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
