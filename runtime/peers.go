package runtime

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// peers are the resources that the run declares, by type, for modules that ask the
// host about all of theirs at once.
type peers struct {
	mu     sync.Mutex
	byType map[string][]any

	// paths are sorted; see declaredBelow. A panic is met by all who ask: purging goes by it.
	paths func() []string
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
	m := e.options.Registry.ModuleOf(typ)
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

// declaredBelow gives the paths below a directory that the site declares, relative
// to it: also those of parts that this run leaves out. What is to be absent is none
// of them, nor what only the host will name.
func (p *peers) declaredBelow(dir string) []string {
	paths := p.paths()
	prefix := strings.TrimSuffix(path.Clean(dir), "/") + "/"
	first, _ := slices.BinarySearch(paths, prefix)
	var names []string
	for _, path := range paths[first:] {
		name, below := strings.CutPrefix(path, prefix)
		if !below {
			break
		}
		names = append(names, name)
	}
	return names
}

func collectPaths(run *states.StateRun, registry *states.Registry) []string {
	var paths []string
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				p := &list[i].Parts[k]
				if m := registry.ModuleOf(p.Type); m != nil && p.Ensure != states.Absent {
					paths = append(paths, m.Paths(p.Values)...)
				}
			}
		}
	}
	for _, r := range run.LeftOut {
		if m := registry.ModuleOf(r.Type); m != nil && onlyPathKey(m) != "" && path.IsAbs(r.Key) {
			paths = append(paths, r.Key)
		}
	}
	for i := range paths {
		paths[i] = path.Clean(paths[i])
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// inPart is the context of what is done for a part.
func (e *engine) inPart(ctx context.Context, s *step) context.Context {
	ctx = host.WithPart(ctx, s.part.ID)
	if s.part.Type == states.ComparisonType {
		ctx = states.WithComparer(ctx, func(c states.Comparison) (map[string]states.Differing, error) { return e.compareNodes(s, c) })
	}
	return states.WithSay(ctx, func(text string) { e.recorder.recordNote(s, text) })
}

// recordNote passes on what an act that takes long tells the user.
func (r *recorder) recordNote(s *step, text string) {
	if r.engine.planning() {
		return
	}
	ev := r.event(states.EventSaid, s)
	ev.Reason = r.mask.part(s, text)
	r.emit(ev)
}

// noteOnce passes on, what a part leaves alone.
func (r *recorder) noteOnce(s *step, text string) {
	r.mu.Lock()
	known := r.shownNotes[[2]string{s.part.Address, text}]
	if r.shownNotes == nil {
		r.shownNotes = map[[2]string]bool{}
	}
	r.shownNotes[[2]string{s.part.Address, text}] = true
	r.mu.Unlock()
	if known {
		return
	}
	ev := r.event(states.EventSaid, s)
	ev.Reason = r.mask.part(s, text)
	r.emit(ev)
}
