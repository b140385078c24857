package conformance

import (
	"maps"
	"slices"

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

// Hostile tries each text of an example with values that are meant to break
// out: the module may refuse them or fail, but not panic, not hand them to a
// shell, and where it does take them it must converge. The named attributes are
// left out.
func Hostile(t T, s Suite, e Example, trusted []string) {
	for _, a := range s.Module.Attributes {
		if a.Out || slices.Contains(trusted, a.Name) || len(a.Enum) > 0 {
			continue
		}
		for _, text := range hostileTexts() {
			value := hostileValue(a, text)
			if value == nil {
				continue
			}
			values := maps.Clone(e.Values)
			values[a.Name] = value
			wrong := Collect(t.Context(), func(t T) { tryHostile(t, s, values, text) })
			for _, message := range wrong {
				t.Errorf("attribute %s = %.60q: %s", a.Name, text, message)
			}
			if len(wrong) > 0 {
				break // others would say the same again
			}
		}
	}
}

func hostileTexts() []string {
	long := make([]byte, 1<<16)
	for i := range long {
		long[i] = 'a'
	}
	return []string{
		"", " ", "-x", "--tenet-hostile", "..", "../../etc/passwd", "/..", "/tmp/../etc/x", "a\nb", "a\x00b", "a\r\nb", "a:b", "a,b", "a=b", "#a",
		"$(touch /tenet-hostile)", "`touch /tenet-hostile`", "'; touch /tenet-hostile; '", "\"; touch /tenet-hostile; \"",
		"|touch /tenet-hostile", "%s%n%d", "${HOME}", "\\", "\u202eabc", "ü", string(long),
	}
}

// hostileValue puts the text into a value of the attribute's kind, or gives nil.
func hostileValue(a states.Attribute, text string) any {
	switch a.Kind {
	case states.KindString, states.KindContent, states.KindAny:
		return text
	case states.KindList, states.KindSet:
		return []any{text}
	case states.KindMap:
		return map[string]any{"key": text}
	}
	return nil
}

func tryHostile(t T, s Suite, values map[string]any, text string) {
	r := &runner{t: t, suite: s, c: Case{Values: values}}
	h := &watched{Host: s.Host(t), t: t, text: text}
	first := r.carryOut(h, states.Present)
	if first.err != nil || s.Module.IsAct() {
		return
	}
	before := snapshot(t, h)
	again := r.carryOut(h, states.Present)
	if again.err != nil || again.action != "" {
		t.Errorf("carried out again: changes %v, error %v", again.changes, again.err)
	}
	compareTrees(t, "carried out again, it changed the host", before, snapshot(t, h))
	if s.Module.Remove == nil {
		return
	}
	if gone := r.carryOut(h, states.Absent); gone.err != nil {
		t.Errorf("absent: %v", gone.err)
	} else if again := r.carryOut(h, states.Absent); again.err != nil || again.action != "" {
		t.Errorf("absent again: changes %v, error %v", again.changes, again.err)
	}
}
