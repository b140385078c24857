package custom

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// resource is a part's values, wanted or observed: want.path. What is not
// managed is None.
type resource struct {
	schema *states.Schema
	values states.Values
}

// String tells the type alone: values may be secrets.
func (r resource) String() string { return "<" + r.schema.Name + ">" }

// Type is the type's name in Starlark.
func (r resource) Type() string { return r.schema.Name }

// Freeze does nothing: a resource never changes.
func (r resource) Freeze() {}

// Truth is always true.
func (r resource) Truth() starlark.Bool { return true }

// Hash refuses to make a key of it.
func (r resource) Hash() (uint32, error) {
	return 0, fmt.Errorf("unhashable type: %s", r.schema.Name)
}

// Attr gives the value of an attribute.
func (r resource) Attr(name string) (starlark.Value, error) {
	if r.schema.Attribute(name) == nil {
		return nil, nil
	}
	return fromPlain(r.values[name])
}

// AttrNames lists the attributes.
func (r resource) AttrNames() []string {
	var names []string
	for _, a := range r.schema.Attributes {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// content is bytes that need not be in memory.
type content struct{ host.Content }

// String tells size and digest.
func (c content) String() string { return fmt.Sprintf("<content of %d bytes>", c.Size()) }

// Type is the type's name in Starlark.
func (c content) Type() string { return "content" }

// Freeze does nothing: a content never changes.
func (c content) Freeze() {}

// Truth is whether there is a byte.
func (c content) Truth() starlark.Bool { return c.Size() > 0 }

// Hash refuses to make a key of it.
func (c content) Hash() (uint32, error) { return 0, errors.New("unhashable type: content") }

// Attr gives size and digest.
func (c content) Attr(name string) (starlark.Value, error) {
	switch name {
	case "size":
		return starlark.MakeInt64(c.Size()), nil
	case "sha256":
		return starlark.String(c.Sum()), nil
	}
	return nil, nil
}

// AttrNames lists what Attr gives.
func (c content) AttrNames() []string { return []string{"sha256", "size"} }

// CompareSameType tells whether two contents hold the same bytes.
func (c content) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	switch op {
	case syntax.EQL:
		return c.Equal(y.(content).Content), nil
	case syntax.NEQ:
		return !c.Equal(y.(content).Content), nil
	}
	return false, fmt.Errorf("contents have no order: content %s content", op)
}

// source is a file of the site.
type source struct{ *states.Source }

// String tells the path.
func (s source) String() string { return fmt.Sprintf("<source %q>", s.Path) }

// Type is the type's name in Starlark.
func (s source) Type() string { return "source" }

// Freeze does nothing: a source never changes.
func (s source) Freeze() {}

// Truth is always true.
func (s source) Truth() starlark.Bool { return true }

// Hash refuses to make a key of it.
func (s source) Hash() (uint32, error) { return 0, errors.New("unhashable type: source") }

// Attr gives path, size, digest and the way to the bytes.
func (s source) Attr(name string) (starlark.Value, error) {
	switch name {
	case "path":
		return starlark.String(s.Path), nil
	case "size":
		return starlark.MakeInt64(s.Size), nil
	case "sha256":
		return starlark.String(s.SHA256), nil
	case "content":
		return starlark.NewBuiltin("content", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := starlark.UnpackArgs("content", args, kwargs); err != nil {
				return nil, err
			}
			c, err := s.Content()
			if err != nil {
				return nil, &hostError{fmt.Errorf("reading the source: %w", err)}
			}
			return content{c}, nil
		}), nil
	}
	return nil, nil
}

// AttrNames lists what Attr gives.
func (s source) AttrNames() []string { return []string{"content", "path", "sha256", "size"} }

// resourceOf takes what a function returned: a dict of attributes, or a
// resource. It is nil for None.
func resourceOf(schema *states.Schema, v starlark.Value) (states.Values, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case resource:
		if v.schema.Name == schema.Name {
			return maps.Clone(v.values), nil
		}
	case *starlark.Dict:
		if err := sandbox.CheckValue(v); err != nil {
			return nil, err
		}
		values := map[string]any{}
		for _, item := range v.Items() {
			name, ok := starlark.AsString(item[0])
			if !ok {
				return nil, fmt.Errorf("a dict of attributes has strings for keys, not %s", item[0].Type())
			}
			a := schema.Attribute(name)
			if a == nil {
				return nil, unknownAttribute(schema, name)
			}
			p, err := observedValue(a, item[1])
			if err != nil {
				return nil, states.InvalidAttribute(name, err.Error(), "")
			}
			values[name] = p
		}
		return schema.Observe(values)
	}
	return nil, fmt.Errorf("a dict of attributes, or None, is to be returned, not a value of type %s", v.Type())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
