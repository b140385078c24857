package states

import (
	"io/fs"
	"reflect"

	"github.com/tenetcm/tenet/runtime/host"
)

// checkRequired reports the first required attribute that is not set.
func (c *codec[T]) checkRequired(r *T) error {
	source := reflect.ValueOf(r).Elem()
	return firstMissing(c.attributes, func(i int) bool { return !isUnset(source.Field(c.fields[i])) })
}

func firstMissing(attributes []Attribute, isSet func(i int) bool) error {
	for i, a := range attributes {
		if a.Required && !isSet(i) {
			return InvalidAttribute(a.Name, "it is required, and not given", "")
		}
	}
	return nil
}

// fill completes want from have or, without have, from the defaults. A mode that is taken
// from have may lose bits: see withheld.
func (c *codec[T]) fill(have, want *T) *T {
	filled := *want
	from := have
	if have == nil {
		from = &c.defaults
	}
	source, target := reflect.ValueOf(from).Elem(), reflect.ValueOf(&filled).Elem()
	for i, a := range c.attributes {
		index := c.fields[i]
		if !isFilled(a) || !isUnset(target.Field(index)) {
			continue
		}
		target.Field(index).Set(source.Field(index))
	}
	if have != nil {
		c.withhold(have, want, &filled)
	}
	return &filled
}

// withhold takes those bits off the modes in filled that want does not give and that must
// not be taken from have.
func (c *codec[T]) withhold(have, want, filled *T) {
	source, target := reflect.ValueOf(want).Elem(), reflect.ValueOf(filled).Elem()
	for i, a := range c.attributes {
		index := c.fields[i]
		if !isModeOfFile(a) || !isUnset(source.Field(index)) {
			continue
		}
		mode, _ := target.Field(index).Interface().(*fs.FileMode)
		if mode == nil || !mayWithhold(*mode) {
			continue
		}
		bits := withheld(c.attributes, func(i int) any { return c.value(have, i) }, func(i int) any { return c.value(filled, i) })
		target.Field(index).Set(reflect.ValueOf(new(*mode &^ bits)))
	}
}

// isFilled reports whether an attribute that is not given is taken from what is
// there.
func isFilled(a Attribute) bool { return !a.In }

// diff compares what is set in want (have, when want is nil), keys apart, by
// attribute. Content stays a host.Content in the Change, for who shows it.
func (c *codec[T]) diff(have, want *T) []Change {
	return differences(c.attributes, want == nil,
		func(i int) any { return c.value(have, i) }, func(i int) any { return c.value(want, i) })
}

// differences compares by attribute, given the values of each.
func differences(attributes []Attribute, removed bool, have, want func(i int) any) []Change {
	var changes []Change
	for i, a := range attributes {
		if a.In || a.Out || a.Key {
			continue
		}
		from, to := have(i), want(i)
		if !removed && to == nil || sameValue(from, to) {
			continue
		}
		changes = append(changes, Change{Attribute: a.Name, From: from, To: to})
	}
	return changes
}

// value is the canonical value of attribute i, but a host.Content as it is.
func (c *codec[T]) value(r *T, i int) any {
	if r == nil {
		return nil
	}
	field := reflect.ValueOf(r).Elem().Field(c.fields[i])
	if content, ok := field.Interface().(*host.Content); ok {
		if content == nil {
			return nil
		}
		return *content
	}
	return encodeField(c.attributes[i].Kind, field)
}

func sameValue(a, b any) bool {
	if x, ok := a.(host.Content); ok {
		y, ok := b.(host.Content)
		return ok && x.Equal(y)
	}
	return reflect.DeepEqual(a, b)
}
