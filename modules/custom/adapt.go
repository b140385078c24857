package custom

import (
	"context"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// valuesType adapts the functions.
func (m *module) valuesType() states.ValuesType {
	t := states.ValuesType{Schema: *m.schema}
	has := func(name string) bool { return m.functions[name] != nil }
	if has("read") {
		t.Read = m.read
	}
	if has("write") {
		t.Write = m.write
	}
	if has("remove") {
		t.Remove = m.remove
	}
	if has("act") {
		t.Act = m.act
	}
	if has("validate") {
		t.Validate = m.validate
	}
	if has("complete") {
		t.Complete = m.complete
	}
	if has("foresee") {
		t.Foresee = m.foresee
	}
	if has("diff") {
		m.withDiff(&t)
	}
	return t
}

// withDiff adds the comparison. A comparison cannot fail, but a function can:
// so Read tries it beforehand, on what will be compared.
func (m *module) withDiff(t *states.ValuesType) {
	plain := *t
	plain.Diff = nil
	attributeWise, err := states.DefineValues(plain)
	if err != nil {
		return // which is found anyway
	}
	compare := func(have, want states.Values) []states.Change {
		var had any
		if have != nil {
			had = have
		}
		return attributeWise.Diff(had, want)
	}
	t.Read = func(ctx context.Context, h host.Host, want states.Values) (states.Values, error) {
		have, err := m.read(ctx, h, want)
		if err != nil || have == nil {
			return have, err
		}
		_, err = m.diff(have, attributeWise.Fill(have, want).(states.Values))
		return have, err
	}
	t.Diff = func(have, want states.Values) []states.Change {
		if have == nil {
			return compare(have, want)
		}
		changes, err := m.diff(have, want)
		if err != nil {
			return compare(have, want)
		}
		return changes
	}
}
