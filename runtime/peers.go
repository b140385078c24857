package runtime

import (
	"context"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// peers are the resources that the run declares, by type, for modules that ask the
// host about all of theirs at once.
type peers struct {
	mu     sync.Mutex
	byType map[string][]any
}

// peersOf gives those of a type that are to be present. What is known only later,
// or is wrong, is left out: the part itself will tell.
func (e *engine) peersOf(typ string) []any {
	e.peers.mu.Lock()
	defer e.peers.mu.Unlock()
	if known, ok := e.peers.byType[typ]; ok {
		return known
	}
	var out []any
	m := e.options.Registry.Lookup(typ)
	for i := range e.run.Invocations {
		for k := range e.run.Invocations[i].Parts {
			p := &e.run.Invocations[i].Parts[k]
			if m == nil || p.Type != typ || p.Ensure == states.Absent || len(p.Results) > 0 {
				continue
			}
			r, err := m.Decode(p.Values, e.options.Site)
			if err == nil && m.Check(r) == nil {
				out = append(out, r)
			}
		}
	}
	if e.peers.byType == nil {
		e.peers.byType = map[string][]any{}
	}
	e.peers.byType[typ] = out
	return out
}

// inPart is the context of what is done for a part.
func (e *engine) inPart(ctx context.Context, s *step) context.Context {
	ctx = host.WithPart(ctx, s.part.ID)
	return states.WithSay(ctx, func(text string) { e.recorder.say(s, text) })
}

// say passes on what an act that takes long tells the user.
func (r *recorder) say(s *step, text string) {
	if r.engine.planning() {
		return
	}
	ev := r.event(states.EventSaid, s)
	ev.Reason = r.mask.part(s, text)
	r.emit(ev)
}
