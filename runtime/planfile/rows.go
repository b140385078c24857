package planfile

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Rows gives those of a plan's events that say what would be done, without
// numbers and times.
func Rows(events []states.Event) []states.Event {
	rows := []states.Event{}
	for _, ev := range events {
		switch ev.Type {
		case states.EventRun, states.EventResume, states.EventBegin, states.EventRetry, states.EventSaid, states.EventSummary,
			states.EventInvocation: // the sum of its parts
			continue
		}
		ev.Seq, ev.Time, ev.Duration = 0, time.Time{}, 0
		rows = append(rows, ev)
	}
	return rows
}

// Observe adds to a row that would remove a file what file that is. The row of a
// part that is to be absent does not say so itself, and what was saved must not
// stand for the removal of something that nobody has seen: when it was changed
// tells that, without a word about its content.
func Observe(ev *states.Event, h host.Reader) {
	if ev.Type != states.EventPart || ev.Action != states.Remove || !path.IsAbs(ev.Key) {
		return
	}
	info, err := h.Lstat(ev.Key)
	if err != nil || info.Kind != host.Regular {
		return
	}
	was := fmt.Sprintf("%d bytes, changed %s", info.Size, info.ModTime.UTC().Format(time.RFC3339Nano))
	ev.Changes = append(slices.Clone(ev.Changes), states.Change{Attribute: "file", From: was})
}

// SameAct reports whether the same would be done for the same part, if for other
// reasons, or more or less surely.
func SameAct(d machine.Difference) bool {
	if d.Planned == nil || d.Now == nil || d.Planned.Type != states.EventPart {
		return false
	}
	planned, now := timeless(*d.Planned), timeless(*d.Now)
	for _, ev := range []*states.Event{&planned, &now} {
		ev.Certain, ev.Reason, ev.Cause, ev.Assured = nil, "", "", false
	}
	was, err := encode(planned)
	if err != nil {
		return false
	}
	is, err := encode(now)
	return err == nil && bytes.Equal(was, is)
}

// Compare compares a plan's events with those of another plan, row by row: in
// all but times. What is left of runs that were killed does not count: a program of
// theirs may end by itself at any time, or start others, and each apply clears that
// away; the parts that it is of have rows of their own. The differences come in the order of the first plan, then those
// that only the second one has.
func Compare(planned, now []states.Event) ([]machine.Difference, error) {
	before, err := tableOf(planned)
	if err != nil {
		return nil, err
	}
	after, err := tableOf(now)
	if err != nil {
		return nil, err
	}
	var list []machine.Difference
	for _, key := range before.order {
		was, is := before.rows[key], after.rows[key]
		if is.event == nil || !bytes.Equal(was.text, is.text) {
			list = append(list, machine.Difference{Planned: was.event, Now: is.event})
		}
	}
	for _, key := range after.order {
		if before.rows[key].event == nil {
			list = append(list, machine.Difference{Now: after.rows[key].event})
		}
	}
	return list, nil
}

// rowKey is what a row is about; several rows about the same are numbered.
type rowKey struct {
	typ, address, part, key, run string
	number                       int
}

// row is a row, and the text by which it is compared.
type row struct {
	event *states.Event
	text  []byte
}

type table struct {
	order []rowKey
	rows  map[rowKey]row
}

func tableOf(events []states.Event) (*table, error) {
	t := &table{rows: map[rowKey]row{}}
	for _, ev := range Rows(events) {
		if ev.Type == states.EventCleaned {
			continue
		}
		text, err := encode(withoutDoubt(timeless(ev)))
		if err != nil {
			return nil, err
		}
		key := rowKey{typ: ev.Type, address: ev.Address, part: ev.Part, key: ev.Key, run: ev.Run}
		for t.rows[key].event != nil {
			key.number++
		}
		t.order = append(t.order, key)
		t.rows[key] = row{&ev, text}
	}
	return t, nil
}

// withoutDoubt is a row without how sure it is that nothing would be done: that is as other
// rows say, which are compared, too.
func withoutDoubt(ev states.Event) states.Event {
	ev.Cause, ev.Assured = "", false // the reason says it, and older plans have only that
	if ev.Type == states.EventPart && (ev.Outcome == "" && ev.Action == states.NoChange || ev.Outcome == states.Skipped) {
		ev.Certain, ev.Reason = nil, ""
	}
	return ev
}

// timeless is a row without the times that stand within it.
func timeless(ev states.Event) states.Event {
	if len(ev.Owed) > 0 {
		owed := make([]states.Debt, len(ev.Owed))
		for i, d := range ev.Owed {
			d.Since = time.Time{}
			owed[i] = d
		}
		ev.Owed = owed
	}
	return ev
}
