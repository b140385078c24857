package states

import (
	"encoding/json"
	"maps"
	"reflect"
)

// managed gives r with the zero value in each attribute that is compared and not
// set, so that a Read looks at all of them.
func (c *codec[T]) managed(r *T) *T {
	out := *r
	target := reflect.ValueOf(&out).Elem()
	for i, a := range c.attributes {
		field := target.Field(c.fields[i])
		if a.In || a.Out || a.Key || !isUnset(field) {
			continue
		}
		switch field.Kind() {
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Map:
			field.Set(reflect.MakeMap(field.Type()))
		case reflect.Slice:
			if field.Type() == reflect.TypeFor[json.RawMessage]() {
				field.SetBytes([]byte("null"))
				continue
			}
			field.Set(reflect.MakeSlice(field.Type(), 0, 0))
		}
	}
	return &out
}

// importable gives r without what cannot be declared, or should not stand in a
// site: secrets.
func (c *codec[T]) importable(r *T) *T {
	out := *r
	target := reflect.ValueOf(&out).Elem()
	for i, a := range c.attributes {
		if a.In || a.Out || a.Sensitive {
			target.Field(c.fields[i]).SetZero()
		}
	}
	return &out
}

// importableValues gives values without the same.
func importableValues(attributes []Attribute, have Values) Values {
	out := maps.Clone(have)
	for _, a := range attributes {
		if a.In || a.Out || a.Sensitive {
			delete(out, a.Name)
		}
	}
	return out
}
