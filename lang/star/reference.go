package star

import (
	"cmp"
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// step of a reference: a name, or a key in brackets.
type refStep struct {
	key   string
	index bool
}

// reference is a value that names a declaration, or a part of one.
type reference struct {
	run   *run
	kind  string // "state", "run", "block", "component", …, "part", or "" if not known
	steps []refStep
	// module is that of a part, nil if it is not known.
	module *states.Module
	// block is what a script declared, nil for what another file may declare.
	block  *syntax.Block
	inRole bool
}

var (
	_ expressive        = (*reference)(nil)
	_ starlark.HasAttrs = (*reference)(nil)
)

func (ref *reference) build() (protoExpression, error) {
	return refBuilt(func(*state) []refStep { return ref.steps }), nil
}

// refBuilt makes an expression of steps that are known when it is made.
func refBuilt(steps func(in *state) []refStep) protoExpression {
	return protoExpression{size: 1, depth: 1, make: func(in *state, src hcl2.Range) hclsyntax.Expression {
		list := steps(in)
		if list == nil { // reported elsewhere
			return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: src}
		}
		t := hcl2.Traversal{hcl2.TraverseRoot{Name: list[0].key, SrcRange: src}}
		for _, s := range list[1:] {
			if s.index || !hclsyntax.ValidIdentifier(s.key) {
				t = append(t, hcl2.TraverseIndex{Key: cty.StringVal(s.key), SrcRange: src})
			} else {
				t = append(t, hcl2.TraverseAttr{Name: s.key, SrcRange: src})
			}
		}
		return &hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: src}
	}}
}

// String writes the reference as HCL does.
func (ref *reference) String() string {
	text := ref.steps[0].key
	for i := 1; i < len(ref.steps); i++ {
		switch s := ref.steps[i]; {
		case s.index:
			text = states.InstanceAddress(text, s.key)
		default:
			text = states.LabelAddress(text, s.key)
		}
	}
	return text
}

// Type is "reference".
func (ref *reference) Type() string { return "reference" }

// Freeze does nothing: it cannot change.
func (ref *reference) Freeze() {}

// Truth is true.
func (ref *reference) Truth() starlark.Bool { return true }

// Hash makes references keys.
func (ref *reference) Hash() (uint32, error) { return starlark.String(ref.String()).Hash() }

// methods are what references of a kind offer.
func methods(kind string) []string {
	switch kind {
	case "state", "run":
		return []string{"part"}
	case "component", "": // of a reference by name the kind is not known
		return []string{"block", "component", "handler", "output", "part", "run", "state"}
	}
	return nil
}

// AttrNames lists what can be named behind it.
func (ref *reference) AttrNames() []string {
	if ref.kind == "part" && ref.module != nil {
		return attributeNames(ref.module)
	}
	return methods(ref.kind)
}

func attributeNames(m *states.Module) []string {
	var names []string
	for _, a := range m.Attributes {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// Attr gives a method, or the result of a part.
func (ref *reference) Attr(name string) (starlark.Value, error) {
	switch {
	case ref.kind == "part":
		if err := checkResult(ref.module, ref.String(), name); err != nil {
			return nil, err
		}
	case slices.Contains(methods(ref.kind), name):
		return ref.method(name), nil
	case ref.kind != "":
		return nil, &diag.HintError{Message: fmt.Sprintf("%s has no .%s", ref, name), Hint: noAttribute(ref.kind)}
	}
	steps := append(slices.Clone(ref.steps), refStep{key: name})
	return &opaque{run: ref.run, expr: refBuilt(func(*state) []refStep { return steps }), value: cty.DynamicVal,
		what: "the result " + ref.String() + "." + name}, nil
}

func noAttribute(kind string) string {
	switch kind {
	case "state", "run":
		return `name one of its parts: .part("TYPE", "LABEL"), whose attributes are results`
	case "component":
		return `write .output("NAME"), or .state("NAME"), .run("NAME"), .part("TYPE", "LABEL")`
	}
	return "name a part of a state: STATE.part(\"TYPE\", \"LABEL\")"
}

// checkResult looks for an attribute of a part.
func checkResult(m *states.Module, part, name string) error {
	if m == nil || m.Attribute(name) != nil {
		return nil
	}
	names := attributeNames(m)
	return &diag.HintError{Message: fmt.Sprintf("%s has no attribute %q", part, name),
		Hint: cmp.Or(diag.DidYouMean(name, names), fmt.Sprintf("tenet doc %s lists its attributes", m.Name))}
}

// method is .part(TYPE, LABEL), .output(NAME) and so on.
func (ref *reference) method(name string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var first, label string
		var key starlark.Value = starlark.None
		steps := slices.Clone(ref.steps)
		if name == "part" {
			if err := starlark.UnpackArgs(name, args, kwargs, "type", &first, "label", &label, "instance?", &key); err != nil {
				return nil, err
			}
			steps = append(steps, refStep{key: first}, refStep{key: label})
		} else {
			if err := starlark.UnpackArgs(name, args, kwargs, "name", &first, "instance?", &key); err != nil {
				return nil, err
			}
			if name == "output" {
				steps = append(steps, refStep{key: first})
				return &opaque{run: ref.run, expr: refBuilt(func(*state) []refStep { return steps }), value: cty.DynamicVal,
					what: fmt.Sprintf("the output %q of %s", first, ref)}, nil
			}
			name = expr.DeclaredRoot(name)
			steps = append(steps, refStep{key: name}, refStep{key: first})
		}
		if text, ok := starlark.AsString(key); ok {
			steps = append(steps, refStep{key: text, index: true})
		} else if key != starlark.None {
			return nil, fmt.Errorf("an instance is named by text, not %s", key.Type())
		}
		out := &reference{run: ref.run, kind: name, steps: steps}
		if name == "part" {
			if out.module = ref.run.options.Registry.Lookup(first); out.module == nil {
				return nil, &diag.HintError{Message: fmt.Sprintf("there is no type of part %q", first),
					Hint: cmp.Or(diag.DidYouMean(first, ref.run.options.Registry.Names()), "tenet doc lists all types of parts")}
			}
		}
		return out, nil
	})
}

// state is a state that is declared, and owns parts.
type state struct {
	block *syntax.Block
	steps []refStep
}

// part is a part that a script has made. Where it belongs is known once a state
// has taken it, or its file has ended.
type part struct {
	run       *run
	block     *syntax.Block
	module    *states.Module
	owner     *state
	top       bool   // it stands at top level
	ownerName string // what it belongs to, for messages; empty: nothing yet
}

var (
	_ expressive        = (*part)(nil)
	_ starlark.HasAttrs = (*part)(nil)
)

func (p *part) build() (protoExpression, error) { return refBuilt(p.steps), nil }

// steps name the part from within a state, or from elsewhere.
func (p *part) steps(in *state) []refStep {
	var steps []refStep
	switch {
	case p.owner != nil && p.owner == in:
		steps = []refStep{{key: "self"}}
	case p.owner != nil:
		steps = slices.Clone(p.owner.steps)
	case !p.top:
		return nil
	}
	steps = append(steps, refStep{key: p.block.Type}, refStep{key: p.block.Labels[0]})
	if p.block.Instance != nil {
		steps = append(steps, refStep{key: *p.block.Instance, index: true})
	}
	return steps
}

// String writes the part as a call.
func (p *part) String() string { return fmt.Sprintf("%s(%q)", p.block.Type, p.block.Labels[0]) }

// Type is "part".
func (p *part) Type() string { return "part" }

// Freeze does nothing: a state may take it later.
func (p *part) Freeze() {}

// Truth is true.
func (p *part) Truth() starlark.Bool { return true }

// Hash makes parts keys.
func (p *part) Hash() (uint32, error) { return starlark.String(p.String()).Hash() }

// AttrNames lists its results.
func (p *part) AttrNames() []string { return attributeNames(p.module) }

// Attr gives a result: a value that the part has on the host.
func (p *part) Attr(name string) (starlark.Value, error) {
	if err := checkResult(p.module, p.String(), name); err != nil {
		return nil, err
	}
	steps := func(in *state) []refStep {
		if list := p.steps(in); list != nil {
			return append(list, refStep{key: name})
		}
		return nil
	}
	return &opaque{run: p.run, expr: refBuilt(steps), value: cty.DynamicVal, what: fmt.Sprintf("the result %s.%s", p, name)}, nil
}
