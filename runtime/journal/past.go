package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/tenetcm/tenet/states"
)

// Ledger gives what runs have left, of all sites: owed.json, and what the runs
// after it say. Nothing is written. A run in progress counts as far as it has
// come: what it has begun may still end.
func (f *Folder) Ledger() (*Ledger, error) {
	for {
		l, err := f.cached()
		if err != nil {
			return nil, err
		}
		through := l.Through
		ids, err := f.ids()
		if err != nil {
			return nil, err
		}
		running := "" // asked after the list: whoever is in it and not in progress has ended
		if holder := f.Holder(); holder != nil {
			running = holder.Run
		}
		for _, id := range ids {
			if l.has(id) {
				continue
			}
			if err := f.replay(l, id, id != running); err != nil {
				return nil, err
			}
		}
		// A run that has ended meanwhile may have cleaned others away.
		if now, err := f.cached(); err != nil || now.Through == through {
			return l, err
		}
	}
}

// has reports whether all events of a run are in the Ledger.
func (l *Ledger) has(id string) bool { return id <= l.Through && !slices.Contains(l.Open, id) }

// cached gives the Ledger of owed.json, and through which run it holds: the lock
// names a later one if those since have left nothing other.
func (f *Folder) cached() (*Ledger, error) {
	h := f.lastHolder()
	l, err := f.readLedger()
	if err == nil && h.Base == l.Through && h.Settled > l.Through {
		l.Through = h.Settled
	}
	if err == nil {
		l.DigestKey, err = f.digestKey()
	}
	return l, err
}

// readLedger reads owed.json. One that is damaged is as good as none: what the
// runs that are kept say is replayed.
func (f *Folder) readLedger() (*Ledger, error) {
	l := &Ledger{Format: LedgerFormat}
	data, err := f.disk.readFile(filepath.Join(f.dir, "owed.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the state folder cannot be read: %w", err)
	}
	var found Ledger
	if unseal(data, &found) != nil {
		return l, nil
	}
	if found.Format != LedgerFormat {
		return nil, fmt.Errorf("%s has the format %q, and this program knows %q: use the version of tenet that wrote it",
			filepath.Join(f.dir, "owed.json"), found.Format, LedgerFormat)
	}
	found.base = found.Through
	return &found, nil
}

// writeLedger puts the Ledger into owed.json.
func (f *Folder) writeLedger(l *Ledger, durable bool) error {
	data, err := seal(l)
	if err != nil {
		return err
	}
	return f.disk.replace(filepath.Join(f.dir, "owed.json"), data, durable)
}

// replay adds a run's events to the Ledger. Of a run that has ended no more will
// come: what it has begun is unknown.
func (f *Folder) replay(l *Ledger, id string, ended bool) error {
	status, err := f.head(id)
	if err != nil {
		status = Status{} // the events name the site, too
	}
	r := NewReplay(l, Identity(status.Site, status.Origin), id)
	add := r.Add
	for ev, err := range f.Events(id) {
		if errors.Is(err, ErrNoRun) {
			break // it was cleaned away meanwhile
		}
		if lost := damage(err); lost != nil {
			l.Damaged = append(l.Damaged, fmt.Sprintf("%s: what came after it is lost, and what was begun before counts as unknown", lost))
			break
		}
		if err != nil {
			return fmt.Errorf("the events of run %s cannot be read: %w", id, err)
		}
		if ev.Type == states.EventRun && ev.Format == eventFormat1 {
			add = newEvents1(r).add
		}
		add(&ev)
	}
	if ended {
		r.End()
	}
	return nil
}

// damagedError says what of a run cannot be read, now or ever.
type damagedError struct{ err error }

func (e *damagedError) Error() string { return e.err.Error() }

func (e *damagedError) Unwrap() error { return e.err }

// damage gives the error if it is one of events that are lost.
func damage(err error) error {
	var damaged *damagedError
	if errors.As(err, &damaged) || errors.Is(err, syscall.EIO) {
		return err
	}
	return nil
}

// Events reads a run's events; "" is the latest run. A torn last line, which a
// lost power leaves, is not reported.
func (f *Folder) Events(id string) iter.Seq2[states.Event, error] {
	return func(yield func(states.Event, error) bool) {
		id, err := f.find(id)
		if err != nil {
			yield(states.Event{}, err)
			return
		}
		file, err := f.disk.read(f.path(id, "events.jsonl"))
		if errors.Is(err, fs.ErrNotExist) {
			return // it has just begun, or died before its first event
		}
		if err != nil {
			yield(states.Event{}, err)
			return
		}
		defer file.Close()
		in, lines := bufio.NewReaderSize(file, 1<<16), sealedLines{}
		for {
			line, err := in.ReadBytes('\n')
			if err == io.EOF && isTorn(line) {
				return
			}
			if err != nil && err != io.EOF {
				yield(states.Event{}, err)
				return
			}
			var e states.Event
			if err = lines.check(line); err == nil {
				err = json.Unmarshal(line, &e)
			}
			if err != nil {
				yield(e, &damagedError{fmt.Errorf("an event of run %s is damaged: %w", id, err)})
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// headSize is, but for runs with very many files of modules, more than what
// status.json begins with: all but the report.
const headSize = 1 << 16

// headFirst is enough of it for nearly all runs, and costs much less where there are many.
const headFirst = 1 << 12

// head reads a run's status without its report, which may be large.
func (f *Folder) head(id string) (Status, error) {
	file, err := f.disk.read(f.path(id, "status.json"))
	if err != nil {
		return Status{}, err
	}
	defer file.Close()
	var data []byte
	for _, size := range []int{headFirst, headSize} {
		have := len(data)
		data = append(data, make([]byte, size-have)...)
		n, err := io.ReadFull(file, data[have:])
		data = data[:have+n]
		// Within a string the quotes would be escaped.
		before, _, ok := bytes.Cut(data, []byte(`,"report":`))
		switch {
		case ok:
			return parseStatus(append(before, '}'))
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return parseStatus(data)
		case err != nil:
			return Status{}, err
		}
	}
	return f.whole(id)
}

func parseStatus(data []byte) (s Status, err error) {
	err = json.Unmarshal(data, &s)
	return s, err
}
