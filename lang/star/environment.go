package star

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/states"
)

// deferredFunctions are functions of the language that the evaluator of a site adds to the
// table: they need more than files.
func deferredFunctions() []string { return []string{"hosts", "secret"} }

// namespaces are names with attributes.
func namespaces() []string { return []string{"data", "fact", "host", "local", "var"} }

// predeclaredNames lists all names that a script may use beside Starlark's own.
func predeclaredNames(registry *states.Registry) []string {
	names := slices.Concat(slices.Collect(maps.Keys(words())), deferredFunctions(), namespaces(), slices.Collect(maps.Keys(operators())), []string{"if_", "result"})
	for _, f := range expr.FunctionDocs() {
		names = append(names, scriptName(f.Name))
	}
	for _, name := range registry.Names() {
		names = append(names, name)
		if isKeyword(name) {
			names = append(names, name+"_")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isKeyword reports whether Starlark keeps a name for itself.
func isKeyword(name string) bool {
	return slices.Contains([]string{"and", "as", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
		"except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "load", "nonlocal", "not", "or",
		"pass", "raise", "return", "try", "while", "with", "yield"}, name)
}

// scriptName is the name by which scripts call a function: try_ for try, which
// Starlark keeps for itself.
func scriptName(function string) string {
	if isKeyword(function) {
		return function + "_"
	}
	return function
}

// environment makes the names for one run. Where one name stands for several
// things, a word or a module comes before a function.
func (r *run) environment() starlark.StringDict {
	env, guards := starlark.StringDict{}, sandbox.Environment(nil)
	for _, f := range expr.FunctionDocs() {
		env[scriptName(f.Name)] = r.function(f.Name, guards)
	}
	for _, name := range deferredFunctions() {
		env[name] = r.function(name, guards)
	}
	for name, op := range operators() {
		env[name] = r.operator(name, op)
	}
	env["if_"] = r.conditional()
	env["result"] = r.traversal("result", cty.DynamicVal, "result") // in changed_if and failed_if
	for _, name := range r.options.Registry.Names() {
		fn := r.builtin(name, module(r.options.Registry.Lookup(name)))
		env[name] = fn
		if isKeyword(name) {
			env[name+"_"] = fn
		}
	}
	for name, w := range words() {
		env[name] = r.builtin(name, w)
	}
	for _, name := range namespaces() {
		env[name] = &namespace{run: r, name: name}
	}
	return env
}

// namespace is data, fact, host, var or local: its attributes are values. data and host can be
// called, too: they declare one.
type namespace struct {
	run  *run
	name string
}

var (
	_ starlark.HasAttrs = (*namespace)(nil)
	_ starlark.Callable = (*namespace)(nil)
)

// String gives the name.
func (n *namespace) String() string { return n.name }

// Type is the name, too.
func (n *namespace) Type() string { return n.name }

// Freeze does nothing.
func (n *namespace) Freeze() {}

// Truth is true.
func (n *namespace) Truth() starlark.Bool { return true }

// Hash is that of the name.
func (n *namespace) Hash() (uint32, error) { return starlark.String(n.name).Hash() }

// Name gives the name.
func (n *namespace) Name() string { return n.name }

// AttrNames gives those that are fixed.
func (n *namespace) AttrNames() []string {
	if n.name == "host" {
		return []string{"cluster", "labels", "name", "vars"}
	}
	return nil
}

// Attr gives a value.
func (n *namespace) Attr(name string) (starlark.Value, error) {
	r := n.run
	what := n.name + "." + name
	if n.name == "local" || n.name == "data" {
		return r.traversal(what, cty.DynamicVal, n.name, name), nil
	}
	if n.name == "host" && !slices.Contains(n.AttrNames(), name) {
		return nil, &diag.HintError{Message: fmt.Sprintf("host has no %q", name), Hint: "it has name, labels, vars and cluster; what the machine is stands in fact"}
	}
	v, err := r.world.Value(n.name, name)
	if err != nil {
		return nil, err
	}
	value, err := r.scriptValue(v, what, n.name, name)
	if d, ok := value.(*starlark.Dict); ok {
		return &object{d: d, name: what}, err
	}
	return value, err
}

// CallInternal is host(NAME, …) or data(NAME, …).
func (n *namespace) CallInternal(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	switch n.name {
	case "host":
		return labelledBlock("host")(n.run, n.run.call(), args, kwargs)
	case "data":
		return declareData(n.run, n.run.call(), args, kwargs)
	}
	return nil, &diag.HintError{Message: n.name + " is no function", Hint: fmt.Sprintf("write %s.NAME", n.name)}
}

// object is a dict whose keys are attributes too: fact.os.id.
type object struct {
	d    *starlark.Dict
	name string
}

var (
	_ starlark.HasAttrs        = (*object)(nil)
	_ starlark.IterableMapping = (*object)(nil)
	_ starlark.Sequence        = (*object)(nil)
)

// String writes it as a dict.
func (o *object) String() string { return o.d.String() }

// Type is "object".
func (o *object) Type() string { return "object" }

// Freeze makes it immutable; it cannot be changed anyway.
func (o *object) Freeze() { o.d.Freeze() }

// Truth is whether it holds anything.
func (o *object) Truth() starlark.Bool { return o.d.Truth() }

// Hash refuses it as a key, like a dict.
func (o *object) Hash() (uint32, error) { return o.d.Hash() }

// Get looks a key up.
func (o *object) Get(key starlark.Value) (starlark.Value, bool, error) { return o.d.Get(key) }

// Items lists keys and values.
func (o *object) Items() []starlark.Tuple { return o.d.Items() }

// Iterate goes over the keys.
func (o *object) Iterate() starlark.Iterator { return o.d.Iterate() }

// Len is the number of keys.
func (o *object) Len() int { return o.d.Len() }

// AttrNames lists the keys.
func (o *object) AttrNames() []string {
	names := []string{"get", "items", "keys", "values"}
	for _, key := range o.d.Keys() {
		if text, ok := starlark.AsString(key); ok {
			names = append(names, text)
		}
	}
	slices.Sort(names)
	return names
}

// Attr gives the value of a key, or a method of dicts.
func (o *object) Attr(name string) (starlark.Value, error) {
	v, found, err := o.d.Get(starlark.String(name))
	if err != nil {
		return nil, err
	}
	if inner, ok := v.(*starlark.Dict); ok && found {
		return &object{d: inner, name: o.name + "." + name}, nil
	}
	if found {
		return v, nil
	}
	switch name {
	case "get", "items", "keys", "values":
		return o.d.Attr(name)
	}
	return nil, &diag.HintError{Message: fmt.Sprintf("%s has no %q", o.name, name),
		Hint: cmp.Or(diag.DidYouMean(name, o.AttrNames()), diag.Choices(o.AttrNames()), "tenet facts lists all facts")}
}
