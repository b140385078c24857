package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/tenetcm/tenet/states"
)

// How often events are looked for: soon after some have come, and then less often.
const (
	soonest = 10 * time.Millisecond
	latest  = 200 * time.Millisecond
)

// arrival is how long a run that was to go on after a start of the machine is awaited
// once that has started.
const arrival = 3 * time.Minute

// Follow reads a run's events with numbers above after, and waits for more until the
// run has ended: also when it goes on after the machine has started anew. A torn last
// line is not reported. The error is that of ctx, once that ends.
func (f *Folder) Follow(ctx context.Context, id string, after int64) iter.Seq2[states.Event, error] {
	return func(yield func(states.Event, error) bool) {
		id, err := f.find(id)
		if err != nil {
			yield(states.Event{}, err)
			return
		}
		t := &tail{folder: f, id: id, after: after, begun: time.Now()}
		defer t.close()
		for wait := soonest; ; wait = min(2*wait, latest) {
			ended, err := t.ended() // before what is read: nothing comes after the end
			if err != nil {
				yield(states.Event{}, err)
				return
			}
			n := t.read(yield)
			if n < 0 || ended {
				return
			}
			if n > 0 {
				wait = soonest
			}
			select {
			case <-ctx.Done():
				yield(states.Event{}, context.Cause(ctx))
				return
			case <-time.After(wait):
			}
		}
	}
}

// tail reads what is appended to a run's events.
type tail struct {
	folder *Folder
	id     string
	after  int64
	begun  time.Time
	file   *os.File
	offset int64 // behind the last whole line
	lines  sealedLines
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// ended reports whether no more events will come.
func (t *tail) ended() (bool, error) {
	holder := t.folder.Holder()
	s, err := t.folder.head(t.id)
	if s, err = s.now(t.id, holder, err); err != nil {
		return false, err
	}
	switch s.State {
	case Running:
		return false, nil
	case Rebooting:
		return time.Since(t.begun) > arrival && (holder == nil || holder.Run != t.id), nil
	}
	return true, nil
}

// read hands on the whole lines that are there, and gives their number; -1: enough.
func (t *tail) read(yield func(states.Event, error) bool) (n int) {
	if t.file == nil {
		file, err := t.folder.disk.read(t.folder.path(t.id, "events.jsonl"))
		if errors.Is(err, fs.ErrNotExist) {
			return 0 // it has just begun, or died before its first event
		}
		if err != nil {
			yield(states.Event{}, err)
			return -1
		}
		t.file = file
	}
	// From the last whole line on: a torn one behind it may have been cut meanwhile.
	in := bufio.NewReaderSize(io.NewSectionReader(t.file, t.offset, 1<<62), 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return n
		}
		var e states.Event
		if err == nil {
			if err = t.lines.check(line); err == nil {
				err = json.Unmarshal(line, &e)
			}
			if err != nil {
				err = &damagedError{fmt.Errorf("an event of run %s is damaged: %w", t.id, err)}
			}
		}
		if err != nil {
			yield(e, err)
			return -1
		}
		t.offset += int64(len(line))
		n++
		if e.Seq <= t.after {
			continue
		}
		t.after = e.Seq
		if !yield(e, nil) {
			return -1
		}
	}
}
