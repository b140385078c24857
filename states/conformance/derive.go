package conformance

import (
	"maps"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Example is one part, of which cases are derived.
type Example struct {
	Name   string
	Values map[string]any
	// Updates gives attributes another value each. Those of kind bool and mode,
	// and those with an enumeration, find one themselves.
	Updates map[string]any
	// Trusted are the attributes that Hostile leaves out: those that are code, or that
	// name a program to run.
	Trusted []string
	// Lines are the texts that may be several lines of a file. Contents are by
	// themselves.
	Lines []string
}

// Derive makes cases of examples: each is created; each attribute is changed
// alone; what is there is removed, and what is not there stays so; unknown and
// missing attributes are refused. Untried are the attributes that no case
// changes, since nobody gave them another value.
func Derive(m *states.Module, examples []Example) (cases []Case, untried []string) {
	tried := map[string]bool{}
	for _, e := range examples {
		name := e.Name
		if name != "" {
			name += ": "
		}
		what := "creates"
		if m.IsAct() {
			what = "acts"
		}
		cases = append(cases, Case{Name: name + what, Values: e.Values, Any: true})
		if !m.IsAct() {
			cases = append(cases, updates(m, name, e, tried)...)
		}
		if m.Remove != nil {
			cases = append(cases, Case{Name: name + "removes", Values: e.Values, Ensure: states.Absent, Any: true, Prepare: carriedOut(e)})
		}
		cases = append(cases, refusals(m, name, e)...)
	}
	for _, a := range m.Attributes {
		if changeable(m, a) && !tried[a.Name] {
			untried = append(untried, a.Name)
		}
	}
	return cases, untried
}

func changeable(m *states.Module, a states.Attribute) bool {
	return !m.IsAct() && !a.Key && !a.In && !a.Out
}

// updates changes one attribute after the other.
func updates(m *states.Module, name string, e Example, tried map[string]bool) []Case {
	var out []Case
	for _, a := range m.Attributes {
		value, given := e.Updates[a.Name]
		if !given {
			value = another(a, e.Values[a.Name])
		}
		if !changeable(m, a) || value == nil {
			continue
		}
		tried[a.Name] = true
		values := maps.Clone(e.Values)
		values[a.Name] = value
		out = append(out, Case{Name: name + "changes " + a.Name, Values: values, Any: true, Changing: a.Name, Prepare: carriedOut(e)})
	}
	return out
}

// another gives a value that differs, or nil where none is known to be right.
func another(a states.Attribute, v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case string:
		if a.Kind == states.KindMode && v != "0600" {
			return "0600"
		} else if a.Kind == states.KindMode {
			return "0640"
		}
		for _, word := range a.Enum {
			if word != v {
				return word
			}
		}
	}
	return nil
}

// carriedOut makes what the example declares.
func carriedOut(e Example) func(T, host.Host) {
	return func(t T, h host.Host) {
		t.Helper()
		r, ok := t.(*prepared)
		if !ok {
			t.Fatalf("a derived case is carried out by Run only")
		}
		before := *r.runner
		before.c = Case{Values: e.Values}
		if d := before.carryOut(h, states.Present); d.err != nil {
			t.Fatalf("the example itself: %v", d.err)
		}
	}
}

// prepared is the T that Prepare gets: it knows who runs.
type prepared struct {
	T
	runner *runner
}

// refusals are values that no host would have.
func refusals(m *states.Module, name string, e Example) []Case {
	const unknown = "no_such_attribute"
	values := maps.Clone(e.Values)
	values[unknown] = "x"
	out := []Case{{Name: name + "refuses an unknown attribute", Values: values, Unknown: unknown, Wrong: unknown}}
	for _, a := range m.Attributes {
		if _, given := e.Values[a.Name]; !given || !a.Required {
			continue
		}
		values := maps.Clone(e.Values)
		delete(values, a.Name)
		out = append(out, Case{Name: name + "refuses to be without " + a.Name, Values: values, Wrong: a.Name})
	}
	return out
}
