package expr

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// SharedName is the name under which a context has what shared expressions depend on; no
// source can write it.
const SharedName = "(shared)"

// sharedKey tells which hosts there are, what they export, and what is known of their facts.
type sharedKey struct{ hosts, exports, facts any }

var sharedKeyType = cty.Capsule("shared", reflect.TypeFor[shares]())

// SharedKey makes the value of that name: while all are the same, so are the values of shared
// expressions, but where facts are wanted that nobody has asked for yet.
func SharedKey(hosts *HostLists, exports any, facts *FactReader) cty.Value {
	return cty.CapsuleVal(sharedKeyType, &shares{sharedKey{hosts, exports, facts.Known()}, facts})
}

// shares is the key of an evaluation, with what it reads of facts.
type shares struct {
	sharedKey
	facts *FactReader
}

// shared is a part of an expression that asks for hosts, and depends on nothing else: it is
// computed once for all hosts of a site.
type shared struct {
	*hclsyntax.ParenthesesExpr
	last atomic.Pointer[sharedValue]
}

type sharedValue struct {
	key   sharedKey
	value cty.Value
}

// Value gives what was computed before, or computes it.
func (s *shared) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	key, ok := lookup(ctx, SharedName)
	if !ok {
		return s.Expression.Value(ctx)
	}
	now := key.EncapsulatedValue().(*shares)
	if last := s.last.Load(); last != nil && last.key == now.sharedKey {
		return last.value, nil
	}
	v, diags := s.Expression.Value(ctx)
	if len(diags) == 0 && !now.facts.IsWanting() {
		s.last.Store(&sharedValue{now.sharedKey, v})
	}
	return v, diags
}

// Share gives an expression in which the largest parts are shared that can be.
func Share(x hclsyntax.Expression) hclsyntax.Expression {
	if !asksForHosts(x) {
		return x
	}
	if isClosed(x) {
		return &shared{ParenthesesExpr: &hclsyntax.ParenthesesExpr{Expression: x, SrcRange: x.Range()}}
	}
	replaceChildren(x, Share)
	return x
}

func asksForHosts(x hclsyntax.Expression) bool { return calls(x, "hosts") }

// calls reports whether an expression calls a function.
func calls(x hclsyntax.Expression, name string) (found bool) {
	hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		found = found || ok && call.Name == name
		return nil
	})
	return found
}

// isClosed reports whether an expression needs nothing but the hosts, what they export and their facts.
func isClosed(x hclsyntax.Expression) bool {
	w := &closedWalker{closed: true}
	hclsyntax.Walk(x, w) // its diagnostics are Enter's: none
	return w.closed
}

type closedWalker struct {
	closed bool
	names  []string // of for expressions around the node
	items  []*hclsyntax.AnonSymbolExpr
}

// Enter looks at one node.
func (w *closedWalker) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch n := n.(type) {
	case hclsyntax.ChildScope:
		for name := range n.LocalNames {
			w.names = append(w.names, name)
		}
	case *hclsyntax.ScopeTraversalExpr:
		w.closed = w.closed && slices.Contains(w.names, n.Traversal.RootName())
	case *hclsyntax.SplatExpr:
		w.items = append(w.items, n.Item)
	case *hclsyntax.AnonSymbolExpr:
		w.closed = w.closed && slices.Contains(w.items, n)
	case *hclsyntax.LiteralValueExpr:
		w.closed = w.closed && !n.Val.ContainsMarked()
	case *hclsyntax.FunctionCallExpr:
		w.closed = w.closed && (IsFixed(n.Name) && !AsksForRecords(n) || isSameForReaders(n))
	}
	return nil
}

// Exit leaves the scope of a for expression.
func (w *closedWalker) Exit(n hclsyntax.Node) hcl.Diagnostics {
	if scope, ok := n.(hclsyntax.ChildScope); ok {
		w.names = w.names[:len(w.names)-len(scope.LocalNames)]
	}
	return nil
}

// isSameForReaders reports whether a call looks at what a host exports, or at its facts.
func isSameForReaders(call *hclsyntax.FunctionCallExpr) bool {
	if call.Name != HostFunction {
		return false
	}
	attribute, ok := call.Args[1].(*hclsyntax.LiteralValueExpr)
	return ok && attribute.Val.AsString() != "outputs"
}
