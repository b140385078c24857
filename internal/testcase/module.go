package testcase

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/conformance"
)

// module carries out the suite that every module passes, on cases derived of the
// examples.
func (r *caseRun) module(ctx context.Context) {
	b := r.c.block
	m := r.o.Registry.Lookup(b.label)
	if m == nil {
		r.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("there is no module %q", b.label),
			Hint: nearest(b.label, r.o.Registry.Names()), Range: b.at})
		return
	}
	if _, err := simulated.New(ctx, r.c.machine.Machine); err != nil {
		r.diagnostics.Add(r.c.machine.diagnose(err, r.c))
		return
	}
	suite := conformance.Suite{Module: m, Site: r.site(), Host: func(t conformance.T) host.Host {
		h, err := simulated.New(ctx, r.c.machine.Machine)
		if err != nil {
			t.Fatalf("%v", err)
		}
		return h
	}}
	r.collect(ctx, "", b.at, func(t conformance.T) { conformance.CheckSchema(t, m) })
	var examples []conformance.Example
	for i, e := range b.blocksOf("example") {
		example := conformance.Example{Name: e.label, Values: r.attributes(m, e)}
		if example.Name == "" && len(b.blocksOf("example")) > 1 {
			example.Name = fmt.Sprintf("example %d", i+1)
		}
		if changes := e.single("changes"); changes != nil {
			example.Updates = r.attributes(m, changes)
		}
		examples = append(examples, example)
	}
	r.checkTrusted(m)
	if r.diagnostics.HasErrors() {
		return
	}
	tried := map[string]int{}
	for i, e := range examples {
		at := b.blocksOf("example")[i].at
		cases, untried := conformance.Derive(m, []conformance.Example{e})
		for _, name := range untried {
			tried[name]++
		}
		for _, c := range cases {
			r.collect(ctx, c.Name, at, func(t conformance.T) { conformance.Run(t, suite, c) })
		}
		e.Trusted = the[[]string](b, "trusted")
		r.collect(ctx, e.Name, at, func(t conformance.T) { conformance.Hostile(t, suite, e) })
	}
	var names []string
	for _, a := range m.Attributes {
		if tried[a.Name] == len(examples) {
			names = append(names, a.Name)
		}
	}
	if len(names) > 0 {
		r.notes = append(r.notes, "not changed, since changes { … } of an example has no other value: "+strings.Join(names, ", "))
	}
}

// collect makes failures of what is wrong.
func (r *caseRun) collect(ctx context.Context, name string, at diag.Range, run func(conformance.T)) {
	for _, wrong := range conformance.Collect(ctx, run) {
		if name != "" {
			wrong = name + ": " + wrong
		}
		message, rest, _ := strings.Cut(wrong, "\n")
		r.fail(Failure{Message: message, Got: rest, Range: at})
	}
}

// attributes gives the values of an example, as a site would give them.
func (r *caseRun) attributes(m *states.Module, b *block) map[string]any {
	out := map[string]any{}
	for _, name := range fieldsInOrder(b) {
		f := b.fields[name]
		a := m.Attribute(name)
		if a == nil {
			r.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has no attribute %q", m.Name, name),
				Hint: nearest(name, attributeNames(m)), Range: f.name})
			continue
		}
		v := f.value
		if s, isPath := v.(string); isPath && a.Kind == states.KindSource {
			source, err := expr.NewFiles(r.site()).Source(Dir, s)
			if err != nil {
				r.diagnostics.Add(diag.Diagnose(err, f.at))
				continue
			}
			v = source
		}
		canonical, err := a.Normalize(v)
		if err != nil {
			r.diagnostics.Add(diag.Diagnostic{Summary: err.Error(), Hint: "write a value that the attribute can have", Range: f.at})
			continue
		}
		if canonical != nil {
			out[name] = canonical
		}
	}
	return out
}

func (r *caseRun) checkTrusted(m *states.Module) {
	for _, name := range the[[]string](r.c.block, "trusted") {
		if m.Attribute(name) == nil {
			r.diagnostics.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has no attribute %q", m.Name, name),
				Hint: nearest(name, attributeNames(m)), Range: r.c.block.fields["trusted"].at})
		}
	}
}

func attributeNames(m *states.Module) []string {
	var names []string
	for _, a := range m.Attributes {
		names = append(names, a.Name)
	}
	return names
}
