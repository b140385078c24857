// Package importer tells what stands on a machine already as a site would declare it: one
// part, or all that somebody has set up. What it gives plans as "no change" on that machine.
// It only reads.
//
// Secrets are never given: what has one is named instead.
package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// part is one part as it would be declared, and its keys.
type part struct {
	machine.ImportPart
	keys map[string]any
}

// Options say how contents are given.
type Options struct {
	// Inline bounds, in bytes, the contents that stand in the text; 0: 64 KiB.
	Inline int
	// Files lets others stand in the site as files, below the directory "files".
	Files bool
}

// ErrNotThere is the error where a host has nothing of the key.
var ErrNotThere = errors.New("it is not there")

// OmissionError is the error of what must not be given, or cannot be.
type OmissionError struct {
	Why    string
	Secret bool // it is one
}

// Error gives the reason.
func (e *OmissionError) Error() string { return e.Why }

// Read declares one resource of a host. The keys are those of the module, as canonical
// values.
func Read(ctx context.Context, h host.Host, m *states.Module, keys map[string]any, o Options) (*machine.ImportPart, error) {
	p, err := read(ctx, h, m, keys, o)
	if err != nil {
		return nil, err
	}
	return &p.ImportPart, nil
}

func read(ctx context.Context, h host.Host, m *states.Module, keys map[string]any, o Options) (*part, error) {
	if m.Import == nil {
		return nil, &OmissionError{Why: m.Name + " acts, and leaves nothing that could be read"}
	}
	key, err := keyOf(m, keys)
	if err != nil {
		return nil, err
	}
	have, err := m.Import(ctx, h, key)
	if err != nil {
		return nil, err
	}
	if have == nil {
		return nil, ErrNotThere
	}
	values := m.Encode(have)
	maps.Copy(values, keys)
	p := &part{ImportPart: machine.ImportPart{Type: m.Name}, keys: keys}
	if err := p.contents(h, m, values, o); err != nil {
		return nil, err
	}
	if err := p.sayable(m, values); err != nil {
		return nil, err
	}
	withoutDefaults(m, values)
	p.verify(ctx, h, m, values)
	p.secrets(ctx, h, m, keys)
	for _, a := range m.Attributes {
		if v, given := values[a.Name]; given {
			p.Values = append(p.Values, machine.ImportValue{Name: a.Name, Value: v})
		}
	}
	if names := m.Keys(); len(names) > 0 {
		p.setLabel(names[0], fmt.Sprint(keys[names[0]]))
	} else {
		p.Label = m.Name
	}
	return p, nil
}

// CheckKeys tells what is wrong with keys of a module, whatever machine they are for: a *states.AttributeError.
func CheckKeys(m *states.Module, keys map[string]any) error {
	_, err := keyOf(m, keys)
	return err
}

func keyOf(m *states.Module, keys map[string]any) (any, error) {
	key, err := m.Decode(keys, nil)
	if err == nil {
		err = wrongKey(m, m.Check(key))
	}
	return key, err
}

// wrongKey gives those of the mistakes that are in a key.
func wrongKey(m *states.Module, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var wrong []error
		for _, e := range joined.Unwrap() {
			wrong = append(wrong, wrongKey(m, e))
		}
		return errors.Join(wrong...)
	}
	if e, ok := errors.AsType[*states.AttributeError](err); ok && slices.Contains(m.Keys(), e.Attribute) {
		return err
	}
	return nil
}

// setLabel lets the label give the key, if it reads well as one.
func (p *part) setLabel(key, value string) {
	if plainLabel(value) {
		p.Label, p.LabelKey = value, key
		return
	}
	p.Label = slug(value)
}

// plainLabel reports whether a text may stand as a label as it is.
func plainLabel(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune("\"\\${}%", r)
	}) && !strings.HasPrefix(s, "~")
}

// slug makes a label of any text.
func slug(s string) string {
	var b strings.Builder
	for _, r := range s[:min(len(s), 100)] {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	out := strings.Trim(b.String(), "-_")
	if !states.IsIdentifier(out) {
		out = "item_" + out
	}
	return out
}

// sayable drops what the language has no words for: text that is not UTF-8 in its
// normal form. Of a key that is an error.
func (p *part) sayable(m *states.Module, values map[string]any) error {
	for _, a := range m.Attributes {
		v, given := values[a.Name]
		if !given || a.Kind == states.KindSource {
			continue
		}
		_, err := expr.Value(v)
		switch {
		case err == nil && !a.Key && marks().MatchString(fmt.Sprint(v)):
			p.Notes = append(p.Notes, a.Name+" is left out: it holds a private key or the hash of a password")
			delete(values, a.Name)
		case err == nil:
		case a.Key:
			return &OmissionError{Why: fmt.Sprintf("%s cannot be written in a state file: %v", a.Name, err)}
		default:
			p.Notes = append(p.Notes, fmt.Sprintf("%s is left out: %v", a.Name, err))
			delete(values, a.Name)
		}
	}
	return nil
}

// withoutDefaults drops what a new resource gets by itself, as far as the part is
// possible without it.
func withoutDefaults(m *states.Module, values map[string]any) {
	for _, a := range m.Attributes {
		v, given := values[a.Name]
		if !given || a.Key || a.Required || a.Present || !isDefault(a, v) {
			continue
		}
		delete(values, a.Name)
		if r, err := m.Decode(withoutSource(m, values), nil); err != nil || m.Check(r) != nil {
			values[a.Name] = v
		}
	}
}

// isDefault reports whether v is what a new resource gets: the module's default or,
// where that has none, nothing.
func isDefault(a states.Attribute, v any) bool {
	if a.Default != nil {
		return fmt.Sprint(a.Default) == fmt.Sprint(v)
	}
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// withoutSource leaves out what only a site can open.
func withoutSource(m *states.Module, values map[string]any) map[string]any {
	out := maps.Clone(values)
	for _, a := range m.Attributes {
		if a.Kind == states.KindSource {
			delete(out, a.Name)
		}
	}
	return out
}

// verify plans the values, and drops what a plan would change all the same.
func (p *part) verify(ctx context.Context, h host.Host, m *states.Module, values map[string]any) {
	for range len(m.Attributes) {
		changes, err := plan(ctx, host.NewShadow(h), m, withoutSource(m, values))
		switch {
		case err != nil:
			p.Notes = append(p.Notes, "a plan of it fails: "+err.Error())
			return
		case len(changes) == 0:
			return
		}
		dropped := false
		for _, c := range changes {
			if a := m.Attribute(c.Attribute); a != nil && !a.Key && !a.Required && values[a.Name] != nil {
				delete(values, a.Name)
				dropped = true
				p.Notes = append(p.Notes, a.Name+" is left out: it does not read back as it would be declared")
			}
		}
		if !dropped {
			p.Notes = append(p.Notes, "a plan of it would change "+changes[0].Attribute)
			return
		}
	}
}

// plan gives what a plan of the values would change.
func plan(ctx context.Context, h host.Host, m *states.Module, values map[string]any) ([]states.Change, error) {
	want, err := m.Decode(values, nil)
	if err == nil {
		err = m.Check(want)
	}
	if err == nil && m.Complete != nil {
		want, err = m.Complete(ctx, h, want)
	}
	if err != nil {
		return nil, err
	}
	have, err := m.Read(ctx, h, want)
	if err != nil {
		return nil, err
	}
	return m.Diff(have, m.Fill(have, want)), nil
}
