package runner

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// tally tells from events how far a run is.
type tally struct {
	ended map[string]states.Outcome // by address: one that was resumed may have ended before
	begun map[string]machine.Current
}

func (t *tally) add(ev *states.Event) {
	if t.ended == nil {
		t.ended, t.begun = map[string]states.Outcome{}, map[string]machine.Current{}
	}
	switch ev.Type {
	case states.EventResume:
		clear(t.begun)
	case states.EventBegin:
		t.begun[ev.Address] = machine.Current{Address: ev.Address, Since: ev.Time}
	case states.EventConfirm:
		if t.begun[ev.Address] = (machine.Current{Address: ev.Address, Since: ev.Time}); ev.Outcome != "" {
			delete(t.begun, ev.Address)
		}
	case states.EventPart:
		delete(t.begun, ev.Address)
		t.ended[ev.Address] = ev.Outcome
	}
}

func (t *tally) counts() *states.Counts {
	c := &states.Counts{}
	sums := map[states.Outcome]*int{
		states.Changed: &c.Changed, states.Unchanged: &c.Unchanged, states.Failed: &c.Failed, states.Blocked: &c.Blocked,
		states.Skipped: &c.Skipped, states.Idle: &c.Idle, states.Unknown: &c.Unknown,
	}
	for _, outcome := range t.ended {
		if n := sums[outcome]; n != nil {
			*n++
		}
	}
	return c
}

func (t *tally) progress(parts int) *machine.Progress {
	p := &machine.Progress{Ended: len(t.ended), Parts: parts, Now: []machine.Current{}}
	for _, c := range t.begun {
		p.Now = append(p.Now, c)
	}
	slices.SortFunc(p.Now, func(a, b machine.Current) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Address, b.Address))
	})
	return p
}
