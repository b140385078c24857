package expr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// ResultType is the type of the results of an attribute of that kind.
func ResultType(kind states.Kind) cty.Type {
	switch kind {
	case states.KindBool, states.KindCondition:
		return cty.Bool
	case states.KindInt, states.KindNumber:
		return cty.Number
	case states.KindList, states.KindSet:
		return cty.List(cty.String)
	case states.KindMap:
		return cty.Map(cty.String)
	case states.KindSource, states.KindTree, states.KindAny:
		return cty.DynamicPseudoType
	}
	return cty.String
}

// Value is the result that the steps name, which only the host will know.
func (n Resolution) Value(at diag.Range) (cty.Value, error) {
	ref := n.Ref
	ref.Range = at
	x, err := states.Expr{Kind: states.ExprRef, Name: n.Result, Ref: ref, Flag: n.Many, Range: at}.New()
	if err != nil {
		return cty.DynamicVal, err
	}
	t := ResultType(n.kind)
	switch {
	case n.Open || n.Many && t == cty.DynamicPseudoType:
		t = cty.DynamicPseudoType
	case n.Many:
		t = cty.Map(t)
		if x, err = convertNode(x, t); err != nil {
			return cty.DynamicVal, err
		}
	}
	v := DeferredValue(x, t)
	for _, step := range n.Rest {
		if v, err = stepInto(v, step, at); err != nil {
			return cty.DynamicVal, err
		}
	}
	return v, nil
}

// HostOutput is an output of another host, which is known once its run has ended.
func HostOutput(host string, v *Variable) (cty.Value, error) {
	x := states.Expr{Kind: states.ExprOutput, Name: v.Name, Host: host, Sensitive: v.Sensitive}
	t := v.Type.WithoutOptionalAttributesDeep()
	if t != cty.DynamicPseudoType {
		var err error
		if x.Type, err = typeText(t); err != nil {
			return cty.DynamicVal, err
		}
	}
	made, err := x.New()
	if err != nil {
		return cty.DynamicVal, err
	}
	out := DeferredValue(made, t)
	if v.Sensitive {
		out = out.Mark(Sensitive)
	}
	return out, nil
}

// stepInto goes on within a value that only the host will know.
func stepInto(v cty.Value, step Step, at diag.Range) (cty.Value, error) {
	traversal := hcl.Traversal{hcl.TraverseAttr{Name: step.Key}}
	if step.Index {
		traversal = hcl.Traversal{hcl.TraverseIndex{Key: cty.StringVal(step.Key)}}
	}
	inner, diags := traversal.TraverseRel(v)
	if diags.HasErrors() {
		return cty.DynamicVal, &diag.HintError{Message: diags[0].Detail, Hint: "look at what the attribute holds: tenet doc MODULE"}
	}
	x, err := getNode(treeOf(v), step.Key, at)
	if step.Index {
		x, err = indexNode(treeOf(v), cty.StringVal(step.Key), at)
	}
	if err != nil {
		return cty.DynamicVal, err
	}
	settled, more := settleParts(inner, x)
	if more.HasErrors() {
		return cty.DynamicVal, more
	}
	return settled, nil
}

// Relocate gives a result other addresses: those that its part has in the whole
// site.
func Relocate(v cty.Value, absolute func(states.Ref) states.Ref) cty.Value {
	tree := treeOf(v)
	moved, err := tree.Rewrite(func(x *states.Expr) (*states.Expr, error) {
		clone := *x
		clone.Ref = absolute(x.Ref)
		return &clone, nil
	})
	if err != nil {
		panic("eval: an address makes a result too large: " + err.Error())
	}
	return DeferredValue(moved, v.Type())
}

// OwnResult is what result stands for in the conditions of a part: what its own
// act will have observed.
func OwnResult(m *states.Module, at diag.Range) (cty.Value, error) {
	x, err := states.Expr{Kind: states.ExprResult, Range: at}.New()
	if err != nil {
		return cty.DynamicVal, err
	}
	types := map[string]cty.Type{}
	for _, a := range m.Attributes {
		if a.Out {
			types[a.Name] = ResultType(a.Kind)
		}
	}
	return DeferredValue(x, cty.Object(types)), nil
}

// Results gives the values of an attribute of a part, as they come from its
// module, as an expression sees it. Nil is null.
func Result(kind states.Kind, plain any) (cty.Value, error) {
	t := ResultType(kind)
	if plain == nil {
		return cty.NullVal(t), nil
	}
	v, err := Value(plain)
	if err != nil {
		return cty.DynamicVal, err
	}
	if t == cty.DynamicPseudoType {
		return v, nil
	}
	return Convert(v, t)
}

// Tree gives a value that only the host will know as data; of a known one, the
// literals.
func Tree(v cty.Value, at diag.Range) (*states.Expr, error) {
	x, err := dataOf(v, at)
	if err != nil {
		return nil, err
	}
	if ref := x.Find(states.ExprReference); ref != nil {
		return nil, &diag.HintError{Message: fmt.Sprintf("a reference to %s stands where a value is needed", ref.Name),
			Hint: "name a result of it: " + ref.Name + ".ATTRIBUTE"}
	}
	return x, nil
}
