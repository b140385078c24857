package runtime

import (
	"context"
	"errors"
	"slices"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// withLateRemovals gives the run with an invocation for each thing that is older than what
// is to be retained. They come one after the other, behind everything else, and only if
// that has succeeded.
func (e *engine) withLateRemovals(run *states.StateRun) *states.StateRun {
	late := e.lateRemovals()
	if len(late) == 0 {
		return run
	}
	requires := outermost(run)
	out := *run
	out.Invocations = slices.Clone(run.Invocations)
	for _, o := range late {
		inv := states.Invocation{Address: o.address(), State: o.address(), Requires: requires, Parts: []states.Part{o.part(run.Host)}}
		out.Invocations = append(out.Invocations, inv)
		requires = []string{inv.Address}
	}
	return &out
}

// outermost lists what is in no block: if all of it succeeds, so does the run.
func outermost(run *states.StateRun) []string {
	inner := map[string]bool{}
	for i := range run.Blocks {
		b := &run.Blocks[i]
		for _, address := range slices.Concat(b.Members, b.Rescue, b.Always) {
			inner[address] = true
		}
	}
	var list []string
	for i := range run.Invocations {
		if a := run.Invocations[i].Address; !inner[a] {
			list = append(list, a)
		}
	}
	for i := range run.Blocks {
		if a := run.Blocks[i].Address; !inner[a] {
			list = append(list, a)
		}
	}
	return list
}

// lateRemovals lists what is removed behind everything else: whatever is below another one
// of them before that.
func (e *engine) lateRemovals() []*orphan {
	var list, out []*orphan
	for _, o := range e.orphans.list {
		if o.lateReason != "" && o.keepReason == "" && !o.isRetained {
			list = append(list, o)
		}
	}
	added := map[*orphan]bool{}
	var add func(o *orphan)
	add = func(o *orphan) {
		if added[o] {
			return
		}
		added[o] = true
		around := map[string]bool{placeOf(e.options.Registry, o.entry.Resource()): true}
		for _, other := range list {
			if isBelow(placeOf(e.options.Registry, other.entry.Resource()), around) {
				add(other)
			}
		}
		out = append(out, o)
	}
	for _, o := range list {
		add(o)
	}
	return out
}

// tryLateRemovals lets stay what could not be removed as things are, such as a directory in
// which somebody else has put something: nobody has asked for its removal in particular, so
// that this is told, and is no failure.
func (e *engine) tryLateRemovals(ctx context.Context) {
	late := e.lateRemovals()
	isWhole := func(o *orphan) bool { return o.removal == nil && placeOf(e.options.Registry, o.entry.Resource()) != "" }
	if !slices.ContainsFunc(late, isWhole) {
		return
	}
	on := host.NewShadow(e.actors.of(ctx, "").view(nil, nil))
	for _, o := range late {
		if err := e.tryRemoval(ctx, o, on); err != nil && !errors.Is(err, host.ErrUnforeseeable) && isWhole(o) {
			o.keepReason = "it cannot be removed: " + err.Error()
		}
	}
}

// tryRemoval removes something from a shadow.
func (e *engine) tryRemoval(ctx context.Context, o *orphan, on host.Host) (err error) {
	defer fault.Catch(&err)
	m := e.options.Registry.Lookup(o.entry.Type)
	if o.removal != nil {
		m = o.removal.module(m)
	}
	want, err := m.Decode(o.entry.Values, nil)
	if err != nil {
		return err
	}
	have, err := m.Read(ctx, on, want)
	if err != nil || have == nil {
		return err
	}
	return m.Remove(ctx, on, have)
}
