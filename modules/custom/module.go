package custom

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// BugError is a mistake in a module's source that showed when it ran.
type BugError struct {
	Module   string
	Function string   // "read", "write" …
	Message  string   // with what to do about it
	Calls    []string // "modules/x.star:3:7 in read", the innermost first
	err      error
}

// Error gives what went wrong, and where in the module.
func (e *BugError) Error() string {
	text := fmt.Sprintf("module %s: %s: %s", e.Module, e.Function, e.Message)
	for i, c := range e.Calls {
		if i == 0 {
			text += "\nat " + c
		} else {
			text += "\ncalled from " + c
		}
	}
	return text
}

// Unwrap gives the cause, if it has one.
func (e *BugError) Unwrap() error { return e.err }

// module is a declared module with its functions, which any number of
// goroutines may call: its globals are frozen, and each call has a thread of
// its own.
type module struct {
	schema    *states.Schema
	functions map[string]*starlark.Function
	limits    sandbox.Limits
}

// call calls a function of the module.
func (m *module) call(ctx context.Context, name string, args ...starlark.Value) (starlark.Value, error) {
	thread, stop := sandbox.NewThread(ctx, m.schema.Name+"."+name, m.limits)
	defer stop()
	v, err := starlark.Call(thread, m.functions[name], args, nil)
	if err == nil {
		return v, nil
	}
	return nil, m.explain(name, err, sandbox.Cause(ctx, thread, err))
}

// explain lets errors of the host, and what the module itself says, come out
// as they are. All else is a mistake in the module.
func (m *module) explain(name string, err, cause error) error {
	var fromHost *hostError
	var own *failure
	var attribute *states.AttributeError
	var failed *starlark.EvalError
	switch {
	case errors.As(err, &fromHost):
		return fromHost.err
	case !errors.As(cause, &failed): // the context has ended
		return cause
	case errors.As(err, &own):
		return own
	case errors.As(err, &attribute):
		if m.schema.Attribute(attribute.Attribute) == nil {
			return m.bug(name, unknownAttribute(m.schema, attribute.Attribute), err)
		}
		return attribute
	}
	return m.bug(name, cause, err)
}

// bug describes a mistake in the module that showed in a function. Where is the
// error that knows the place, if one does.
func (m *module) bug(name string, err, where error) error {
	e := &BugError{Module: m.schema.Name, Function: name, Message: sandbox.Message(err), err: err}
	var attribute *states.AttributeError
	if errors.As(err, &attribute) {
		e.Message = fmt.Sprintf("attribute %q: %s", attribute.Attribute, attribute.Message)
		e.err = nil // the site's author cannot mend it
	}
	if hint := diag.HintOf(err); hint != "" {
		e.Message += " (" + hint + ")"
	}
	for _, frame := range sandbox.Frames(where) {
		e.Calls = append(e.Calls, frame.Pos.String()+" in "+frame.Name)
	}
	if len(e.Calls) == 0 {
		e.Calls = []string{m.functions[name].Position().String() + " in " + name}
	}
	return e
}

// unknownAttribute says that the schema has no such attribute.
func unknownAttribute(schema *states.Schema, name string) error {
	var names []string
	for _, a := range schema.Attributes {
		names = append(names, a.Name)
	}
	return states.InvalidAttribute(name, "there is no such attribute", didYouMean(name, names))
}

// resource makes a value of what is wanted or there; nil is None.
func (m *module) resource(v states.Values) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return resource{m.schema, v}
}

// read is Read. A key that the function leaves out is that of the wanted part.
func (m *module) read(ctx context.Context, h host.Host, want states.Values) (states.Values, error) {
	v, err := m.call(ctx, "read", machine{ctx, h}, m.resource(want))
	if err != nil {
		return nil, err
	}
	have, err := resourceOf(m.schema, v)
	if err != nil {
		return nil, m.bug("read", err, nil)
	}
	if have == nil {
		return nil, nil
	}
	for _, key := range m.schema.Keys() {
		if have[key] == nil {
			have[key] = want[key]
		}
	}
	return have, nil
}

func (m *module) write(ctx context.Context, h host.Host, have, want states.Values) error {
	v, err := m.call(ctx, "write", machine{ctx, h}, m.resource(have), m.resource(want))
	return m.wantNone("write", v, err)
}

func (m *module) remove(ctx context.Context, h host.Host, have states.Values) error {
	v, err := m.call(ctx, "remove", machine{ctx, h}, m.resource(have))
	return m.wantNone("remove", v, err)
}

func (m *module) foresee(ctx context.Context, h host.Host, have, want states.Values) error {
	v, err := m.call(ctx, "foresee", machine{ctx, h}, m.resource(have), m.resource(want))
	return m.wantNone("foresee", v, err)
}

func (m *module) validate(want states.Values) error {
	v, err := m.call(context.Background(), "validate", m.resource(want))
	return m.wantNone("validate", v, err)
}

// wantNone holds a function to return None: a returned message would be lost.
func (m *module) wantNone(name string, v starlark.Value, err error) error {
	if err != nil || v == starlark.None {
		return err
	}
	hint := "end it with fail(MESSAGE) where it fails"
	if name == "validate" {
		hint = "say what is wrong with wrong(ATTRIBUTE, MESSAGE)"
	}
	return m.bug(name, &diag.HintError{Message: "it returns nothing, not a value of type " + v.Type(), Hint: hint}, nil)
}

// complete is Complete: the function returns a dict of what it adds.
func (m *module) complete(ctx context.Context, h host.Host, want states.Values) (states.Values, error) {
	v, err := m.call(ctx, "complete", machine{ctx, h}, m.resource(want))
	if err != nil {
		return nil, err
	}
	added, err := resourceOf(m.schema, v)
	if err != nil {
		return nil, m.bug("complete", err, nil)
	}
	for _, key := range m.schema.Keys() {
		if now, ok := added[key]; ok && now != want[key] {
			return nil, m.bug("complete", states.InvalidAttribute(key, "a key cannot be changed", ""), nil)
		}
	}
	maps.Copy(want, added)
	return want, nil
}

// act is Act: the function returns whether it changed the host and, if it
// likes, a dict of what was observed.
func (m *module) act(ctx context.Context, h host.Host, want states.Values) (bool, states.Values, error) {
	v, err := m.call(ctx, "act", machine{ctx, h}, m.resource(want))
	if err != nil {
		return false, nil, err
	}
	out := starlark.Value(starlark.None)
	if pair, ok := v.(starlark.Tuple); ok && len(pair) == 2 {
		v, out = pair[0], pair[1]
	}
	changed, ok := v.(starlark.Bool)
	if !ok {
		return false, nil, m.bug("act", fmt.Errorf("it returns True or False (is the host changed?), or a pair of that and a dict of what was observed, not a value of type %s", v.Type()), nil)
	}
	observed, err := resourceOf(m.schema, out)
	if err != nil {
		return false, nil, m.bug("act", err, nil)
	}
	for _, name := range sortedKeys(observed) {
		if !m.schema.Attribute(name).Out {
			return false, nil, m.bug("act", states.InvalidAttribute(name, "it is not observed",
				"declare it with out = True"), nil)
		}
	}
	all := maps.Clone(want)
	maps.Copy(all, observed)
	return bool(changed), all, nil
}

// diff is Diff by the function, which gives a list of (attribute, from, to).
func (m *module) diff(have, want states.Values) ([]states.Change, error) {
	v, err := m.call(context.Background(), "diff", m.resource(have), m.resource(want))
	if err != nil {
		return nil, err
	}
	list, ok := v.(*starlark.List)
	if !ok {
		return nil, m.bug("diff", fmt.Errorf("it returns a list of (attribute, from, to), not a value of type %s", v.Type()), nil)
	}
	var changes []states.Change
	for e := range starlark.Elements(list) {
		c, err := m.change(e)
		if err != nil {
			return nil, m.bug("diff", err, nil)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func (m *module) change(v starlark.Value) (states.Change, error) {
	row, ok := v.(starlark.Tuple)
	if !ok || len(row) != 3 {
		return states.Change{}, fmt.Errorf("a change is (attribute, from, to), not a value of type %s", v.Type())
	}
	name, _ := starlark.AsString(row[0])
	if m.schema.Attribute(name) == nil {
		return states.Change{}, unknownAttribute(m.schema, name)
	}
	c := states.Change{Attribute: name}
	for i, side := range []*any{&c.From, &c.To} {
		if bytes, ok := row[i+1].(content); ok {
			*side = bytes.Content
			continue
		}
		p, err := toPlain(row[i+1])
		if err != nil {
			return c, states.InvalidAttribute(name, err.Error(), "")
		}
		*side = p
		if text, ok := p.(string); ok && m.schema.Attribute(name).Kind == states.KindContent {
			*side = host.Text(text)
		}
	}
	return c, nil
}
