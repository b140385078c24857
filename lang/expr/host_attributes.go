package expr

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// What hosts(PATTERN) gives of each host is its name, its address and its labels. Further
// attributes are looked up when an expression names them, so that a list of a thousand hosts
// is not made anew for each of its uses, and nobody is asked for what nobody needs:
// ReplaceHostAttributes lets HOST.exports.NAME call HostFunction.

// HostFunction is the name of that function; no source can write it.
const HostFunction = "(host)"

// HostAttributes lists these further attributes.
func HostAttributes() []string { return []string{"exports", "facts", "outputs"} }

// VariesByReader reports whether the steps may lead to what depends on who asks: a host's own outputs
// are none that it may read.
func VariesByReader(steps hcl.Traversal) bool {
	return slices.ContainsFunc(steps, func(s hcl.Traverser) bool {
		attr, ok := s.(hcl.TraverseAttr)
		return ok && attr.Name == "outputs"
	})
}

// HostAttribute is what an expression wants to know of a host.
type HostAttribute struct {
	Host      string
	Attribute string // one of HostAttributes
	Name      string // what is wanted of it; "": all, or nothing in particular
	IsNow     bool   // of facts: what was known before does not do
	Pattern   string // by which a script has asked for the host, and may ask for others; "": nobody knows
}

// hostAttributeFunction makes HostFunction, which looks into anything that has attributes:
// what is no host is looked into as usual. While look is nil, nothing is known of hosts.
func hostAttributeFunction(look func(HostAttribute) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "host", Type: cty.DynamicPseudoType, AllowMarked: true, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
			{Name: "attribute", Type: cty.String},
		},
		VarParam: &function.Parameter{Name: "name", Type: cty.String},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			want := HostAttribute{Attribute: args[1].AsString()}
			if len(args) > 2 {
				want.Name = args[2].AsString()
			}
			if len(args) > 3 {
				want.Pattern = args[3].AsString()
			}
			host, ok := hostNameOf(args[0])
			if !ok || look == nil || want.Attribute != "facts" && args[0].Type().HasAttribute(want.Attribute) {
				return plainAttribute(args[0], want)
			}
			want.Host, want.IsNow = host, args[0].Type().HasAttribute("facts")
			return look(want)
		},
	})
}

// hostNameOf gives the name of a host that hosts(PATTERN) has listed; false: the value is none.
func hostNameOf(v cty.Value) (string, bool) {
	if v.IsMarked() || !v.IsKnown() || v.IsNull() || !isHostType(v.Type()) {
		return "", false
	}
	name := v.GetAttr("name")
	if name.IsMarked() || !name.IsKnown() || name.IsNull() {
		return "", false
	}
	return name.AsString(), true
}

// isHostType reports whether values of a type are hosts, with what options of hosts() add to them.
func isHostType(t cty.Type) bool {
	if !t.IsObjectType() {
		return false
	}
	known, own := t.AttributeTypes(), hostType().AttributeTypes()
	for name, of := range own {
		if has, ok := known[name]; !ok || !has.Equals(of) {
			return false
		}
	}
	for name, of := range known {
		if _, ok := own[name]; !ok && name != "outputs" && (name != "facts" || !of.Equals(cty.EmptyObject)) {
			return false
		}
	}
	return true
}

// plainAttribute takes the steps as the library does.
func plainAttribute(v cty.Value, want HostAttribute) (cty.Value, error) {
	steps := hcl.Traversal{hcl.TraverseAttr{Name: want.Attribute}}
	if want.Name != "" {
		steps = append(steps, hcl.TraverseAttr{Name: want.Name})
	}
	out, diags := steps.TraverseRel(v)
	if diags.HasErrors() {
		return cty.DynamicVal, FromHCL(diags)
	}
	return out, nil
}

// NamesHostAttribute reports whether the steps may lead to an attribute of a host.
func NamesHostAttribute(steps hcl.Traversal) bool {
	return slices.ContainsFunc(steps, func(s hcl.Traverser) bool {
		attr, ok := s.(hcl.TraverseAttr)
		return ok && slices.Contains(HostAttributes(), attr.Name)
	})
}

// ReplaceHostAttributes gives an expression in which each step to an attribute of a host is a
// call of HostFunction. within says at which step of a name it may be; below 0: nowhere.
func ReplaceHostAttributes(x hclsyntax.Expression, within func(hcl.Traversal) int) hclsyntax.Expression {
	r := hostReplacer{within}
	return r.expression(x)
}

type hostReplacer struct{ within func(hcl.Traversal) int }

func (r hostReplacer) expression(x hclsyntax.Expression) hclsyntax.Expression {
	switch x := x.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		from := r.within(x.Traversal)
		if from < 0 || from > len(x.Traversal) {
			return x
		}
		return replaceSteps(x, x.Traversal, from, func(n int) hclsyntax.Expression {
			return &hclsyntax.ScopeTraversalExpr{Traversal: x.Traversal[:n:n], SrcRange: x.SrcRange}
		})
	case *hclsyntax.RelativeTraversalExpr:
		x.Source = r.expression(x.Source)
		return replaceSteps(x, x.Traversal, 0, func(n int) hclsyntax.Expression {
			if n == 0 {
				return x.Source
			}
			return &hclsyntax.RelativeTraversalExpr{Source: x.Source, Traversal: x.Traversal[:n:n], SrcRange: x.SrcRange}
		})
	}
	replaceChildren(x, r.expression)
	if splat, ok := x.(*hclsyntax.SplatExpr); ok {
		return loopOverHosts(splat)
	}
	return x
}

// loopOverHosts writes a splat over hosts that asks for attributes of them as a loop, which can be
// computed in part; any other stays.
func loopOverHosts(x *hclsyntax.SplatExpr) hclsyntax.Expression {
	if !asksForHosts(x.Source) || !calls(x.Each, HostFunction) {
		return x
	}
	const name = "(item)" // no source can write it
	var replace func(hclsyntax.Expression) hclsyntax.Expression
	replace = func(e hclsyntax.Expression) hclsyntax.Expression {
		if e == hclsyntax.Expression(x.Item) {
			return &hclsyntax.ScopeTraversalExpr{Traversal: hcl.Traversal{hcl.TraverseRoot{Name: name, SrcRange: e.Range()}}, SrcRange: e.Range()}
		}
		replaceChildren(e, replace)
		return e
	}
	return &hclsyntax.ForExpr{ValVar: name, CollExpr: x.Source, ValExpr: replace(x.Each), SrcRange: x.SrcRange, OpenRange: x.SrcRange, CloseRange: x.SrcRange}
}

// replaceSteps replaces the first step to an attribute of a host, and those behind it.
func replaceSteps(x hclsyntax.Expression, steps hcl.Traversal, from int, before func(n int) hclsyntax.Expression) hclsyntax.Expression {
	at := -1
	for i := from; i < len(steps) && at < 0; i++ {
		if NamesHostAttribute(steps[i : i+1]) {
			at = i
		}
	}
	if at < 0 {
		return x
	}
	src := x.Range()
	text := func(s string) hclsyntax.Expression {
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(s), SrcRange: src}
	}
	call := &hclsyntax.FunctionCallExpr{Name: HostFunction, NameRange: src, OpenParenRange: src, CloseParenRange: src,
		Args: []hclsyntax.Expression{before(at), text(steps[at].(hcl.TraverseAttr).Name)}}
	rest := steps[at+1:]
	if len(rest) > 0 {
		if name, ok := stepText(rest[0]); ok {
			call.Args, rest = append(call.Args, text(name)), rest[1:]
		}
	}
	if len(rest) == 0 {
		return call
	}
	return replaceSteps(&hclsyntax.RelativeTraversalExpr{Source: call, Traversal: rest, SrcRange: src}, rest, 0, func(n int) hclsyntax.Expression {
		if n == 0 {
			return call
		}
		return &hclsyntax.RelativeTraversalExpr{Source: call, Traversal: rest[:n:n], SrcRange: src}
	})
}

func stepText(s hcl.Traverser) (string, bool) {
	switch s := s.(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() && !s.Key.IsMarked() {
			return s.Key.AsString(), true
		}
	}
	return "", false
}
