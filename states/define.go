package states

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
)

// Define makes a module of a Go struct and functions over it. It panics on a
// mistake in the declaration, which no site can cause.
func Define[T any](t Type[T]) *Module {
	c := newCodec[T](t.Name, t.New)
	m := &Module{
		Schema: Schema{
			Name: t.Name, Doc: t.Doc, Example: t.Example, Attributes: c.attributes,
			NoAbsent: t.NoAbsent, Handler: t.Handler, HandlerType: t.HandlerType, Locks: t.Locks, Root: t.Root, Reboots: t.Reboots, Retry: t.Retry,
			Type: fmt.Sprintf("%T", *new(T)),
		},
		Decode: func(values map[string]any, site fs.FS) (any, error) { return c.decode(values, site) },
		Encode: func(r any) map[string]any { return c.encode(r.(*T)) },
		Check: func(r any) error {
			if err := c.checkRequired(r.(*T)); err != nil || t.Validate == nil {
				return err
			}
			return readable(t.Validate(*r.(*T)))
		},
		Fill:   func(have, want any) any { return c.fill(pointer[T](have), want.(*T)) },
		Claims: t.Claims, Needs: t.Needs,
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
	if t.Makes != nil {
		m.Makes = func(ctx context.Context, h host.Host, have, want any) ([]TreeChange, error) {
			return t.Makes(ctx, h, pointer[T](have), *want.(*T))
		}
	}
	if t.Changes != nil {
		m.Changes = func(out any) []Change { return t.Changes(*out.(*T)) }
	}
	setActs(m, t, c)
	if err := checkModule(m); err != nil {
		panic("states: module " + t.Name + ": " + err.Error())
	}
	return m
}

// setActs adapts the functions that t offers.
func setActs[T any](m *Module, t Type[T], c *codec[T]) {
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
	if t.Read != nil {
		if t.Import == nil {
			t.Import = func(ctx context.Context, h host.Host, key T) (*T, error) {
				return t.Read(ctx, h, *c.managed(&key))
			}
		}
		m.Import = func(ctx context.Context, h host.Host, key any) (any, error) {
			have, err := t.Import(ctx, h, *key.(*T))
			if err != nil || have == nil {
				return nil, err
			}
			return c.importable(have), nil
		}
	}
	if t.List != nil {
		m.List = func(ctx context.Context, h host.Host, paths []string) ([]any, error) {
			keys, err := t.List(ctx, h, paths)
			out := make([]any, len(keys))
			for i := range keys {
				out[i] = &keys[i]
			}
			return out, err
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
	if t.Effects != nil {
		m.Effects = func(want any, absent bool) Effects { return t.Effects(*want.(*T), absent) }
	}
	if t.Recover != nil {
		m.Recover = func(ctx context.Context, h host.Host, want any, begun Begun) (Outcome, error) {
			return t.Recover(ctx, h, *want.(*T), begun)
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

// checkModule finds all mistakes in a declaration. Those in an attribute are
// *AttributeErrors.
func checkModule(m *Module) error {
	var errs []error
	mistake := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !IsIdentifier(m.Name) || slices.Contains(ReservedNames(), m.Name) {
		mistake("the name is no identifier, or a word of the language")
	}
	if m.Doc == "" {
		mistake("it has no documentation")
	}
	switch act := m.Act != nil; {
	case act && (m.Read != nil || m.Write != nil || m.Remove != nil):
		mistake("it has Act beside Read, Write or Remove")
	case !act && (m.Read == nil || m.Write == nil):
		mistake("it has neither Act nor Read and Write")
	case (m.Remove == nil) != (m.NoAbsent != ""):
		mistake("it needs either Remove or a reason in NoAbsent")
	case !act && m.Reboots:
		mistake("it has Reboots, but no Act")
	}
	for _, a := range m.Attributes {
		if err := checkAttribute(a); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func checkAttribute(a Attribute) error {
	e := &AttributeError{Attribute: a.Name}
	switch {
	case slices.Contains(OptionNames(), a.Name):
		e.Message = fmt.Sprintf("attribute %q is named like an option", a.Name)
		e.Hint = "every part has that option already; take another word"
	case a.Doc == "":
		e.Message = fmt.Sprintf("attribute %q has no documentation", a.Name)
		e.Hint = "say in a sentence what it means"
	default:
		return nil
	}
	return e
}
