package expr

import (
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/states"
)

// loop writes a for expression over what is known as its turns, and keeps one
// over a result. The names of that are numbered by how many are around it, so
// that the same expression gives the same data, and none hides another.
func (r *residual) loop(x *hclsyntax.ForExpr, s scope) *states.Expr {
	collection := r.expression(x.CollExpr, s)
	if collection == nil {
		return nil
	}
	if turns, ok := r.turns(x, collection, s); ok {
		return turns
	}
	number := strconv.Itoa(s.loops)
	local := func(prefix string) cty.Value {
		name, err := states.Expr{Kind: states.ExprLocal, Name: prefix + number, Range: Range(x.SrcRange)}.New()
		if err != nil {
			panic("eval: a name is too large: " + err.Error())
		}
		return DeferredValue(name, cty.DynamicPseudoType)
	}
	inner := loopScope(x, s, local("k"), local("v"))
	inner.loops++
	args := []*states.Expr{collection}
	for _, part := range []hclsyntax.Expression{x.KeyExpr, x.ValExpr, x.CondExpr} {
		if part == nil {
			args = append(args, nil)
			continue
		}
		made := r.expression(part, inner)
		if made == nil {
			return nil
		}
		args = append(args, made)
	}
	return r.node(states.Expr{Kind: states.ExprFor, Name: number, Flag: x.Group, Args: args}, x.SrcRange)
}

// loopScope is the scope within a for expression.
func loopScope(x *hclsyntax.ForExpr, s scope, key, value cty.Value) scope {
	s.ctx = s.ctx.NewChild()
	s.ctx.Variables = map[string]cty.Value{x.ValVar: value}
	if x.KeyVar != "" {
		s.ctx.Variables[x.KeyVar] = key
	}
	return s
}

// turns writes a for expression over elements whose number is known as a tuple
// or an object. It says no where it cannot.
func (r *residual) turns(x *hclsyntax.ForExpr, collection *states.Expr, s scope) (tree *states.Expr, ok bool) {
	v, diags := x.CollExpr.Value(s.ctx)
	if diags.HasErrors() || x.Group {
		return nil, false
	}
	v, _ = settleParts(v, collection)
	v, marks := v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() || len(marks) > 0 || v.LengthInt() == 0 {
		return nil, false
	}
	var args []*states.Expr
	weight, keys := 0, map[string]bool{}
	for key, e := range v.Elements() {
		turn := &residual{}
		inner := loopScope(x, s, key, e)
		if x.CondExpr != nil {
			cond := turn.expression(x.CondExpr, inner)
			if cond == nil || cond.Kind != states.ExprLiteral || cond.Sensitive {
				return nil, false
			}
			if wanted, isBool := cond.Value.(bool); !isBool {
				return nil, false
			} else if !wanted {
				continue
			}
		}
		if x.KeyExpr != nil {
			name := turn.expression(x.KeyExpr, inner)
			if name == nil || !isText(name) || keys[name.Value.(string)] {
				return nil, false
			}
			keys[name.Value.(string)] = true
			args = append(args, name)
		}
		made := turn.expression(x.ValExpr, inner)
		if made == nil || turn.diags.HasErrors() {
			r.diags = append(r.diags, turn.diags...)
			return nil, turn.diags.HasErrors() || made == nil
		}
		args = append(args, made)
		if weight += made.Weight(); weight > states.MaxExprWeight {
			break // node says so
		}
	}
	kind := states.ExprTuple
	if x.KeyExpr != nil {
		kind = states.ExprObject
	}
	return r.node(states.Expr{Kind: kind, Args: args}, x.SrcRange), true
}
