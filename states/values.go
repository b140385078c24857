package states

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
)

// Values is a resource of a module that has no Go struct: the canonical values
// of its attributes by name, but a host.Content for a content, and a *Source
// for a source. What is not managed is not in it.
type Values map[string]any

// ValuesType describes a module as functions over Values; see DefineValues.
// Its fields mean what those of Type mean.
type ValuesType struct {
	Schema

	Read   func(ctx context.Context, h host.Host, want Values) (Values, error)
	Write  func(ctx context.Context, h host.Host, have, want Values) error
	Remove func(ctx context.Context, h host.Host, have Values) error
	Act    func(ctx context.Context, h host.Host, want Values) (changed bool, out Values, err error)

	Validate func(want Values) error
	Complete func(ctx context.Context, h host.Host, want Values) (Values, error)
	Diff     func(have, want Values) []Change
	Foresee  func(ctx context.Context, h host.Host, have, want Values) error
	Effects  func(want Values, absent bool) Effects
}

// DefineValues makes a module whose schema is known only while the program
// runs, as that of one written in another language. Attributes' flags and
// defaults mean what the tags of Type mean. The error names all mistakes in the
// declaration, those in an attribute as *AttributeErrors.
func DefineValues(t ValuesType) (*Module, error) {
	c := &valuesCodec{attributes: slices.Clone(t.Attributes), defaults: Values{}}
	var errs []error
	for i := range c.attributes {
		errs = append(errs, c.prepare(&c.attributes[i]))
	}
	m := &Module{
		Schema: t.Schema,
		Decode: func(values map[string]any, site fs.FS) (any, error) {
			out, err := c.decode(values, site)
			return out, err
		},
		Encode: func(r any) map[string]any { return c.encode(r.(Values)) },
		Check: func(r any) error {
			err := firstMissing(c.attributes, func(i int) bool { return c.get(r.(Values), i) != nil })
			if err != nil || t.Validate == nil {
				return err
			}
			return t.Validate(r.(Values))
		},
		Fill: func(have, want any) any { return c.fill(valuesOf(have), want.(Values)) },
		Diff: func(have, want any) []Change {
			if t.Diff != nil && want != nil {
				return t.Diff(valuesOf(have), valuesOf(want))
			}
			from, to := valuesOf(have), valuesOf(want)
			return differences(c.attributes, want == nil,
				func(i int) any { return c.get(from, i) }, func(i int) any { return c.get(to, i) })
		},
	}
	m.Attributes = c.attributes
	setValuesActs(m, t)
	if err := errors.Join(append(errs, checkModule(m))...); err != nil {
		return nil, err
	}
	return m, nil
}

// setValuesActs adapts the functions that t offers.
func setValuesActs(m *Module, t ValuesType) {
	if t.Complete != nil {
		m.Complete = func(ctx context.Context, h host.Host, want any) (any, error) {
			done, err := t.Complete(ctx, h, maps.Clone(want.(Values)))
			return done, err
		}
	}
	if t.Read != nil {
		m.Read = func(ctx context.Context, h host.Host, want any) (any, error) {
			have, err := t.Read(ctx, h, want.(Values))
			if err != nil || have == nil {
				return nil, err
			}
			return have, nil
		}
		m.Import = func(ctx context.Context, h host.Host, key any) (any, error) {
			have, err := t.Read(ctx, h, key.(Values)) // as of a part that says no more than its keys
			if err != nil || have == nil {
				return nil, err
			}
			return importableValues(m.Attributes, have), nil
		}
	}
	if t.Write != nil {
		m.Write = func(ctx context.Context, h host.Host, have, want any) error {
			return t.Write(ctx, h, valuesOf(have), want.(Values))
		}
	}
	if t.Remove != nil {
		m.Remove = func(ctx context.Context, h host.Host, have any) error { return t.Remove(ctx, h, have.(Values)) }
	}
	if t.Act != nil {
		m.Act = func(ctx context.Context, h host.Host, want any) (bool, any, error) {
			changed, out, err := t.Act(ctx, h, want.(Values))
			if out == nil {
				out = maps.Clone(want.(Values))
			}
			return changed, out, err
		}
	}
	if t.Foresee != nil {
		m.Foresee = func(ctx context.Context, h host.Host, have, want any) error {
			return t.Foresee(ctx, h, valuesOf(have), valuesOf(want))
		}
	}
	if t.Effects != nil {
		m.Effects = func(want any, absent bool) Effects { return t.Effects(want.(Values), absent) }
	}
}

// valuesOf gives the resource, or nil for none.
func valuesOf(r any) Values {
	if r == nil {
		return nil
	}
	return r.(Values)
}

// valuesCodec is codec for Values.
type valuesCodec struct {
	attributes []Attribute
	defaults   Values
}

// prepare checks what the tags of a struct cannot get wrong, and takes the
// default.
func (c *valuesCodec) prepare(a *Attribute) error {
	e := &AttributeError{Attribute: a.Name}
	text := a.Kind == KindString
	list := a.Kind == KindList || a.Kind == KindSet
	switch {
	case !IsIdentifier(a.Name):
		e.Message = fmt.Sprintf("%q is no identifier", a.Name)
	case !slices.Contains(Kinds(), a.Kind):
		e.Message = fmt.Sprintf("there is no kind %q", a.Kind)
	case a.Key && !text:
		e.Message = fmt.Sprintf("a key is a string, not a %s", a.Kind)
	case a.Path && !text && !list:
		e.Message = fmt.Sprintf("a path is a string or a list, not a %s", a.Kind)
	case len(a.Enum) > 0 && !text:
		e.Message = fmt.Sprintf("only a string can be one of several, not a %s", a.Kind)
	case a.Key && (a.In || a.Out || a.Sensitive || a.Default != nil), a.In && a.Out,
		a.Out && (a.Required || a.Present || a.Default != nil), a.In && a.Default != nil:
		e.Message = "its flags contradict each other"
		e.Hint = "a key is neither in, out, sensitive nor has it a default; what is observed cannot be required or have one"
	default:
		a.Required = a.Required || a.Key
		return c.takeDefault(a)
	}
	return e
}

func (c *valuesCodec) takeDefault(a *Attribute) error {
	if a.Default == nil {
		return nil
	}
	values, err := c.decode(map[string]any{a.Name: a.Default}, nil)
	if err != nil {
		return err
	}
	c.defaults[a.Name] = values[a.Name]
	a.Default = c.encode(values)[a.Name]
	return nil
}

func (c *valuesCodec) decode(values map[string]any, site fs.FS) (Values, error) {
	out := Values{}
	err := eachValue(c.attributes, values, func(i int, canonical any) (err error) {
		out[c.attributes[i].Name], err = decodeValue(c.attributes[i].Kind, canonical, site)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// decodeValue gives the form that a canonical value has in Values.
func decodeValue(kind Kind, canonical any, site fs.FS) (any, error) {
	switch kind {
	case KindContent:
		return host.Text(canonical.(string)), nil
	case KindSource:
		return decodeSource(canonical.(map[string]any), site)
	case KindNumber:
		f, err := canonical.(json.Number).Float64()
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(f)
		return json.Number(data), err
	}
	return canonical, nil
}

func (c *valuesCodec) encode(r Values) map[string]any {
	values := map[string]any{}
	for i, a := range c.attributes {
		switch v := c.get(r, i).(type) {
		case nil:
		case host.Content:
			values[a.Name] = encodeContent(v)
		case *Source:
			values[a.Name] = encodeSource(v)
		default:
			values[a.Name] = v
		}
	}
	return values
}

func (c *valuesCodec) get(r Values, i int) any {
	v := r[c.attributes[i].Name]
	if c.attributes[i].Key && v == "" {
		return nil // like a key of a struct that is not set
	}
	return v
}

func (c *valuesCodec) fill(have, want Values) Values {
	filled := maps.Clone(want)
	from := have
	if have == nil {
		from = c.defaults
	}
	for i, a := range c.attributes {
		if v := c.get(from, i); v != nil && isFilled(a) && c.get(filled, i) == nil {
			filled[a.Name] = v
		}
	}
	if have != nil {
		c.withhold(have, want, filled)
	}
	return filled
}

// withhold is codec.withhold.
func (c *valuesCodec) withhold(have, want, filled Values) {
	for i, a := range c.attributes {
		text, ok := c.get(filled, i).(string)
		if !ok || !isModeOfFile(a) || c.get(want, i) != nil {
			continue
		}
		mode, err := ParseMode(text)
		if err != nil || !mayWithhold(mode) {
			continue
		}
		bits := withheld(c.attributes, func(i int) any { return c.get(have, i) }, func(i int) any { return c.get(filled, i) })
		filled[a.Name] = FormatMode(mode &^ bits)
	}
}

// Observe gives observed values the form that they have in Values: canonical
// ones of each attribute's kind. Values may hold a host.Content for a content,
// and a *Source for a source. The error is an *AttributeError.
func (s *Schema) Observe(values map[string]any) (Values, error) {
	out := Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a := s.Attribute(name)
		if a == nil {
			return nil, InvalidAttribute(name, "there is no such attribute", "")
		}
		switch v := values[name].(type) {
		case nil:
			continue
		case host.Content:
			if a.Kind != KindContent {
				return nil, InvalidAttribute(name, fmt.Sprintf("a %s is required, not a content", a.Kind), "")
			}
			out[name] = v
		case *Source:
			if a.Kind != KindSource {
				return nil, InvalidAttribute(name, fmt.Sprintf("a %s is required, not a source", a.Kind), "")
			}
			out[name] = v
		default:
			canonical, err := a.Normalize(v)
			if err != nil {
				return nil, err
			}
			if out[name], err = decodeValue(a.Kind, canonical, nil); err != nil {
				return nil, InvalidAttribute(name, err.Error(), "")
			}
		}
	}
	return out, nil
}
