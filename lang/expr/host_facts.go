package expr

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
)

// HostFact names a fact of a host.
type HostFact struct {
	Host, Name string
	IsNow      bool // what was known before does not do
}

// HostFactValue is such a fact, as plain data, or why it cannot be had.
type HostFactValue struct {
	Value any
	Err   error
}

// HostFacts are the facts of hosts that expressions of others name. Each is asked for once, when it is
// named first. Evaluations for several hosts may use them at once.
type HostFacts struct {
	ask   func(ctx context.Context, wanted []HostFact) map[HostFact]HostFactValue
	mu    sync.Mutex // held by who asks
	known atomic.Pointer[map[HostFact]HostFactValue]
}

// NewHostFacts takes what asks for facts, all at once.
func NewHostFacts(ask func(ctx context.Context, wanted []HostFact) map[HostFact]HostFactValue) *HostFacts {
	f := &HostFacts{ask: ask}
	f.known.Store(&map[HostFact]HostFactValue{})
	return f
}

// Ask asks for those of the facts that nobody has asked for yet.
func (f *HostFacts) Ask(ctx context.Context, wanted []HostFact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := *f.known.Load()
	var unknown []HostFact
	for _, w := range wanted {
		if _, ok := known[w]; !ok {
			unknown = append(unknown, w)
		}
	}
	if len(unknown) == 0 {
		return
	}
	answers := f.ask(ctx, unknown)
	if ctx.Err() != nil { // why there is none says nothing of the hosts
		return
	}
	all := maps.Clone(known)
	for _, w := range unknown {
		a, ok := answers[w]
		if !ok {
			a.Err = errors.New("nobody knows it here")
		}
		all[w] = a
	}
	f.known.Store(&all)
}

// FactReader is what one evaluation reads of the facts of hosts: those that are known when it begins, so
// that what it computes of them is the same throughout. It notes which others it would need.
type FactReader struct {
	facts *HostFacts // nil: none are known here
	known atomic.Pointer[map[HostFact]HostFactValue]

	mu     sync.Mutex
	wanted map[HostFact]bool
}

// NewFactReader begins to read; f may be nil.
func NewFactReader(f *HostFacts) *FactReader {
	r := &FactReader{facts: f, wanted: map[HostFact]bool{}}
	r.renew()
	return r
}

func (r *FactReader) renew() {
	if r.facts != nil {
		r.known.Store(r.facts.known.Load())
	}
}

// CanAsk reports whether there is anybody to ask.
func (r *FactReader) CanAsk() bool { return r.facts != nil }

// Known is another value whenever other facts are known.
func (r *FactReader) Known() any { return r.known.Load() }

// Get gives a fact; false: it is noted that it is wanted.
func (r *FactReader) Get(f HostFact) (HostFactValue, bool) {
	v, ok := (*r.known.Load())[f]
	if !ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wanted[f] = true
	}
	return v, ok
}

// AskNow asks for facts at once, for who cannot go on without.
func (r *FactReader) AskNow(ctx context.Context, wanted []HostFact) {
	r.facts.Ask(ctx, wanted)
	r.renew()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range wanted {
		delete(r.wanted, f)
	}
}

// IsWanting reports whether a fact was wanted that is not known.
func (r *FactReader) IsWanting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wanted) > 0
}

// AskWanted asks for what was wanted, and reports whether there was anything: what was computed until now
// is then to be computed anew, by another reader.
func (r *FactReader) AskWanted(ctx context.Context) bool {
	r.mu.Lock()
	wanted := make([]HostFact, 0, len(r.wanted))
	for f := range r.wanted {
		wanted = append(wanted, f)
	}
	r.mu.Unlock()
	if len(wanted) > 0 {
		r.facts.Ask(ctx, wanted)
	}
	return len(wanted) > 0
}
