package states

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
)

// Define makes a module of a Go struct and functions over it. It panics on a
// mistake in the declaration, which no site can cause.
func Define[T any](t Type[T]) *Module {
	c := newCodec[T](t.Name, t.New)
	if err := checkType(t, c.attributes); err != nil {
		panic("states: module " + t.Name + ": " + err.Error())
	}
	m := &Module{
		Schema: Schema{
			Name: t.Name, Doc: t.Doc, Example: t.Example, Attributes: c.attributes,
			NoAbsent: t.NoAbsent, Handler: t.Handler, Locks: t.Locks, Root: t.Root, Retry: t.Retry,
			Type: fmt.Sprintf("%T", *new(T)),
		},
		Decode: func(values map[string]any, site fs.FS) (any, error) { return c.decode(values, site) },
		Encode: func(r any) map[string]any { return c.encode(r.(*T)) },
		Check: func(r any) error {
			if err := c.checkRequired(r.(*T)); err != nil || t.Validate == nil {
				return err
			}
			return t.Validate(*r.(*T))
		},
		Fill: func(have, want any) any { return c.fill(pointer[T](have), want.(*T)) },
	}
	m.Diff = func(have, want any) []Change {
		if t.Diff != nil && want != nil {
			return t.Diff(pointer[T](have), *want.(*T))
		}
		changes := c.diff(pointer[T](have), pointer[T](want))
		if t.Extra != nil && have != nil && want != nil {
			changes = append(changes, t.Extra(*have.(*T), *want.(*T))...)
		}
		return changes
	}
	setActs(m, t)
	return m
}

// setActs adapts the functions that t offers.
func setActs[T any](m *Module, t Type[T]) {
	if t.Complete != nil {
		m.Complete = func(ctx context.Context, h host.Host, want any) (any, error) {
			w := *want.(*T)
			err := t.Complete(ctx, h, &w)
			return &w, err
		}
	}
	if t.Read != nil {
		m.Read = func(ctx context.Context, h host.Host, want any) (any, error) {
			have, err := t.Read(ctx, h, *want.(*T))
			if err != nil || have == nil {
				return nil, err
			}
			return have, nil
		}
	}
	if t.Write != nil {
		m.Write = func(ctx context.Context, h host.Host, have, want any) error {
			return t.Write(ctx, h, pointer[T](have), *want.(*T))
		}
	}
	if t.Remove != nil {
		m.Remove = func(ctx context.Context, h host.Host, have any) error {
			return t.Remove(ctx, h, *have.(*T))
		}
	}
	if t.Act != nil {
		m.Act = func(ctx context.Context, h host.Host, want any) (bool, any, error) {
			changed, out, err := t.Act(ctx, h, *want.(*T))
			return changed, &out, err
		}
	}
	if t.Foresee != nil {
		m.Foresee = func(ctx context.Context, h host.Host, have, want any) error {
			return t.Foresee(ctx, h, pointer[T](have), pointer[T](want))
		}
	}
	if t.Batch != nil {
		m.Batch = func(ctx context.Context, h host.Host, items []Item) []error {
			typed := make([]ItemOf[T], len(items))
			for i, item := range items {
				typed[i] = ItemOf[T]{Have: pointer[T](item.Have), Want: pointer[T](item.Want)}
			}
			return t.Batch(ctx, h, typed)
		}
	}
}

// pointer gives the resource, or nil for none.
func pointer[T any](r any) *T {
	if r == nil {
		return nil
	}
	return r.(*T)
}

func checkType[T any](t Type[T], attributes []Attribute) error {
	if !IsIdentifier(t.Name) || slices.Contains(ReservedNames(), t.Name) {
		return fmt.Errorf("the name is no identifier, or a word of the language")
	}
	if t.Doc == "" {
		return fmt.Errorf("it has no documentation")
	}
	options := OptionNames()
	for _, a := range attributes {
		if slices.Contains(options, a.Name) {
			return fmt.Errorf("attribute %q is named like an option", a.Name)
		}
		if a.Doc == "" {
			return fmt.Errorf("attribute %q has no documentation", a.Name)
		}
	}
	switch act := t.Act != nil; {
	case act && (t.Read != nil || t.Write != nil || t.Remove != nil):
		return fmt.Errorf("it has Act beside Read, Write or Remove")
	case !act && (t.Read == nil || t.Write == nil):
		return fmt.Errorf("it has neither Act nor Read and Write")
	case (t.Remove == nil) != (t.NoAbsent != ""):
		return fmt.Errorf("it needs either Remove or a reason in NoAbsent")
	}
	return nil
}
