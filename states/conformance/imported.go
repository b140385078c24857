package conformance

import (
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// imported declares what is there as Import gives it: then there is nothing to do.
func (r *runner) imported(h host.Host) {
	m, ctx := r.suite.Module, r.t.Context()
	if m.Import == nil {
		return
	}
	keys := map[string]any{}
	for name, v := range r.values() {
		if a := m.Attribute(name); a != nil && a.Key {
			keys[name] = v
		}
	}
	key, err := m.Decode(keys, nil)
	if err != nil {
		r.t.Errorf("import: %v", err)
		return
	}
	have, err := m.Import(ctx, h, key)
	if err != nil || have == nil {
		r.t.Errorf("import by %v: it is not found, error %v", keys, err)
		return
	}
	values := m.Encode(have)
	for name, v := range values {
		if _, inline := v.(string); m.Attribute(name).Kind == states.KindContent && !inline {
			delete(values, name) // too large to be declared so
		}
	}
	declared := &runner{t: r.t, suite: r.suite, c: Case{Values: values}}
	if d := declared.carryOut(host.NewShadow(h), states.Present); d.err != nil || d.action != "" {
		r.t.Errorf("imported as %v, a plan foretells %v, error %v", values, d.changes, d.err)
	}
}
