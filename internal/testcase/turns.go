package testcase

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/fleet"
)

// turns are what a rollout has done, in order: what is done at once is one.
type turns struct {
	batches []fleet.Batch
	list    []turn
}

// turn is a batch, or a hook around one.
type turn struct {
	key   string // differs from that of any other
	hosts []string
	state string // of a hook
}

// String writes it as expect_rollout has it: "web1, web2", "lb1 state.drain".
func (t turn) String() string {
	return strings.TrimSuffix(strings.Join(t.hosts, ", ")+" "+t.state, " ")
}

// addBatch notes the turn of a host in its batch.
func (t *turns) addBatch(host string) {
	i := slices.IndexFunc(t.batches, func(b fleet.Batch) bool { return slices.Contains(b.Machines, host) })
	t.add(fmt.Sprint("batch ", i), host, "")
}

// add notes what is done on a host; keys differ between what is done one after the other.
func (t *turns) add(key, host, state string) {
	if n := len(t.list); n > 0 && t.list[n-1].key == key {
		t.list[n-1].hosts = append(t.list[n-1].hosts, host)
		return
	}
	t.list = append(t.list, turn{key, []string{host}, state})
}

// checkTurns compares the turns of the rollout with those that are expected.
func (f *fleetRun) checkTurns() {
	b := f.c.block.single("expect_rollout")
	if b == nil {
		return
	}
	want, given := get[[]string](b, "turns")
	if !given {
		return
	}
	got := []string{}
	for _, t := range f.turns.list {
		got = append(got, t.String())
	}
	f.compareLists("the turns of the rollout are others", want, got, b.fields["turns"].at)
}

// checkTurn compares what was done on a host with what is expected of it. What hooks did there is part of it, but
// for what its plan is compared with.
func (h *hostRun) checkTurn() {
	if h.applied == nil {
		if b := h.c.block.single("expect_apply"); b != nil && len(h.hooks) == 0 {
			f := Failure{Message: "it had no turn", Expected: "an apply", Got: "none", Range: b.at}
			switch {
			case h.unselected != nil:
				f.Got = h.unselected.Error()
			case h.why != nil:
				f.Got = h.why.Error()
			}
			h.fail(f)
			return
		}
	}
	h.checkApply(h.together())
	if h.applied != nil {
		h.checkForetold(h.planned, h.applied)
	}
	if after := h.expectation(untilApply).single("after"); after != nil {
		h.checkAfter(after)
	}
}

// together is what the turn of the host and the hooks did there: of what several of them did, what failed.
func (h *hostRun) together() *story {
	all := newStory()
	for _, s := range slices.Concat([]*story{h.applied}, h.hooks) {
		if s == nil {
			continue
		}
		for _, address := range s.order {
			ev, known := s.ends[address], slices.Contains(all.order, address)
			if !known {
				all.order = append(all.order, address)
			}
			if !known || failedOutcome(ev) {
				all.ends[address] = ev
			}
		}
	}
	return all
}
