package journal

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/tenetcm/tenet/states"
)

// Entry is one of the sequence of all events of a folder: an event, or a gap.
type Entry struct {
	Sequence string        `json:"sequence"` // its name
	Number   int64         `json:"number"`   // of the event, or the last of the gap
	Run      string        `json:"run,omitempty"`
	Event    *states.Event `json:"event,omitempty"`
	Gap      *Gap          `json:"gap,omitempty"`
}

// Gap is numbers of which there are no events.
type Gap struct {
	First  int64     `json:"first"`
	Last   int64     `json:"last"`
	Reason GapReason `json:"reason"`
}

// GapReason is why there are none.
type GapReason string

// The reasons.
const (
	GapRemoved GapReason = "removed" // the record of the run is gone
	GapPower   GapReason = "power"   // the machine has started anew: if there were such events, they were lost with its power
	GapDamaged GapReason = "damaged" // they cannot be read
)

// Since is where a reader goes on. The zero value is the beginning.
type Since struct {
	Number int64
	// Sequence is that of the number; empty: whichever there is. That of another one is none here: its reader begins anew.
	Sequence string
}

// Stream reads the events of all runs after a number, in order, each once. With follow it waits for more until the context ends, whose error
// comes last.
func (f *Folder) Stream(ctx context.Context, since Since, follow bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := &streamReader{folder: f, next: since.Number + 1, name: since.Sequence, yield: yield}
		defer r.close()
		for wait := soonest; ; wait = min(2*wait, latest) {
			got, err := r.read(ctx)
			if err != nil && !r.isEnough {
				yield(Entry{}, err)
			}
			if err != nil || r.isEnough {
				return
			}
			if got {
				wait = soonest / 2
				continue
			}
			if !follow {
				return
			}
			select {
			case <-ctx.Done():
				yield(Entry{}, context.Cause(ctx))
				return
			case <-time.After(wait):
			}
		}
	}
}

// StreamEnd gives the sequence of a folder, and the number of its last event; the zero value: there is none.
func (f *Folder) StreamEnd(ctx context.Context) (end Since, err error) {
	s, err := f.readSequence()
	if s == nil || err != nil {
		return end, err
	}
	end.Sequence = s.Name
	n := len(s.Stretches)
	if n == 0 {
		return end, nil
	}
	newest := &s.Stretches[n-1]
	if end.Number = newest.First - 1; newest.IsOver {
		end.Number = newest.Last
		return end, nil
	}
	for e, err := range f.Stream(ctx, end, false) {
		if err != nil {
			return end, err
		}
		end = Since{Number: e.Number, Sequence: e.Sequence}
	}
	return end, nil
}

// streamReader reads the sequence of a folder.
type streamReader struct {
	folder   *Folder
	name     string
	next     int64 // the number that is wanted
	yield    func(Entry, error) bool
	isEnough bool
	tail     *tail // of the stretch that is read; nil: none is
	of       stretch
}

func (r *streamReader) close() {
	if r.tail != nil {
		r.tail.close()
		r.tail = nil
	}
}

// read hands on what comes next, and tells whether there was something.
func (r *streamReader) read(ctx context.Context) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	s, err := r.folder.readSequence()
	if s == nil {
		return false, err
	}
	if r.name != s.Name { // a new one begins at its beginning
		if r.name != "" {
			r.close()
			r.next = 1
		}
		r.name = s.Name
	}
	i := slices.IndexFunc(s.Stretches, func(one stretch) bool { return !one.IsOver || one.Last >= r.next })
	if i < 0 {
		return false, nil
	}
	one := s.Stretches[i]
	if one.First > r.next {
		reason := GapRemoved
		if one.IsAfterLoss && (i == 0 || s.Stretches[i-1].Last < r.next) {
			reason = GapPower
		}
		return r.gap(one.First-1, reason), nil
	}
	return r.readStretch(one)
}

// gap tells that there are no events up to a number.
func (r *streamReader) gap(last int64, reason GapReason) bool {
	g := Gap{First: r.next, Last: last, Reason: reason}
	r.next = last + 1
	r.hand(Entry{Sequence: r.name, Number: last, Gap: &g})
	return true
}

func (r *streamReader) hand(e Entry) {
	if !r.yield(e, nil) {
		r.isEnough = true
	}
}

// readStretch hands on events of a stretch.
func (r *streamReader) readStretch(one stretch) (bool, error) {
	if r.tail == nil || !r.of.is(&one) {
		r.close()
		r.tail, r.of = &tail{folder: r.folder, id: one.Run, after: one.After + r.next - one.First}, one
	}
	const some = 500
	var events []states.Event
	var failed error
	r.tail.read(func(ev states.Event, err error) bool {
		if failed = err; err == nil {
			events = append(events, ev)
		}
		return err == nil && len(events) < some
	})
	if !one.IsOver {
		// What was read may be of a later stretch of the run already. That is written down before, so it can be known now.
		s, err := r.folder.readSequence()
		if s == nil || err != nil {
			return false, err
		}
		i := slices.IndexFunc(s.Stretches, func(o stretch) bool { return o.is(&one) })
		if i < 0 || s.Name != r.name {
			r.close() // its run was removed meanwhile
			return true, nil
		}
		one = s.Stretches[i]
	}
	got := false
	for i := range events {
		number := one.First + events[i].Seq - one.After - 1
		if one.IsOver && number > one.Last {
			break
		}
		if number != r.next {
			failed = cmp.Or(failed, error(&damagedError{errors.New("events are missing")}))
			break
		}
		got = true
		r.next++
		if r.hand(Entry{Sequence: r.name, Number: number, Run: one.Run, Event: &events[i]}); r.isEnough {
			return true, nil
		}
	}
	switch {
	case failed != nil && !one.IsOver:
		return got, failed
	case failed != nil:
		return r.gap(one.Last, GapDamaged), nil
	case one.IsOver && !got && r.next <= one.Last: // the file ends before
		return r.gap(one.Last, r.missing(one.Run)), nil
	}
	return got, nil
}

// missing says why events of a run that is over are not there.
func (r *streamReader) missing(run string) GapReason {
	file, err := r.folder.disk.read(r.folder.path(run, "events.jsonl"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return GapRemoved
		}
		return GapDamaged
	}
	file.Close()
	return GapDamaged
}
