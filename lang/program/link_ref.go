package program

import (
	"cmp"
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// reference links a reference whose steps are all written out.
func (w *walker) reference(n *hclsyntax.ScopeTraversalExpr) {
	var steps []expr.Step
	for i := range n.Traversal {
		step, ok := stepOf(n.Traversal[i])
		if !ok {
			w.errorAt(n.SrcRange, "this is no reference", "write state.NAME, TYPE.LABEL or TYPE[\"any label\"]")
			return
		}
		steps = append(steps, step)
	}
	found, err := w.site.names.Find(steps, w.scope.self, w.scope.has)
	if err == nil && found.Varies {
		w.varying(n, steps)
		return
	}
	if err == nil && found.Result != "" {
		err = w.result(n, found, len(steps)-len(found.Rest))
		if err == nil {
			return
		}
	}
	if err != nil {
		d := diag.Diagnose(err, rangeOf(n.SrcRange))
		w.errorAt(n.SrcRange, d.Summary, d.Hint)
		return
	}
	ref := found.Ref
	name := "ref." + ref.Text()
	w.to.Needs = append(w.to.Needs, syntax.Need{Kind: "ref", Name: name, Ref: ref, Src: n.SrcRange})
	n.Traversal = hcl2.Traversal{hcl2.TraverseRoot{Name: name, SrcRange: n.SrcRange}}
}

// output links component.NAME.OUTPUT, a value: it reports whether it is one.
func (w *walker) output(n *hclsyntax.ScopeTraversalExpr) bool {
	if n.Traversal.RootName() != "component" {
		return false
	}
	var steps []expr.Step
	for i := range n.Traversal {
		step, ok := stepOf(n.Traversal[i])
		if !ok {
			return false
		}
		steps = append(steps, step)
	}
	values := w.values[n]
	if !values && w.site.names.Output(steps, w.scope.has) == 0 {
		return false
	}
	if at := w.site.names.Output(steps, w.scope.has); !values && !w.undeclaredOutput(steps[1].Key, n.Traversal[at]) {
		return true
	}
	name := steps[1].Key
	src := hcl2.RangeBetween(n.Traversal[0].SourceRange(), n.Traversal[1].SourceRange())
	w.to.Needs = append(w.to.Needs, syntax.Need{Kind: "component", Name: name, Src: src})
	n.Traversal = append(hcl2.Traversal{hcl2.TraverseRoot{Name: "component." + name, SrcRange: src}}, n.Traversal[2:]...)
	return true
}

// undeclaredOutput reports an output that the component does not have.
func (w *walker) undeclaredOutput(component string, step hcl2.Traverser) bool {
	name, _ := stepOf(step)
	var outputs []string
	for _, entry := range w.site.names.Meant("component", component, w.scope.has) {
		if entry.Component.Open || slices.Contains(entry.Component.Outputs, name.Key) {
			return true
		}
		outputs = append(outputs, entry.Component.Outputs...)
	}
	w.errorAt(step.SourceRange(), fmt.Sprintf("component.%s has no output %q", component, name.Key),
		cmp.Or(diag.DidYouMean(name.Key, outputs), diag.Choices(outputs), fmt.Sprintf("declare it in the component: output %q { value = … }", name.Key)))
	return false
}

// result links a result of a part, which takes so many steps of the traversal.
func (w *walker) result(n *hclsyntax.ScopeTraversalExpr, found expr.Resolution, used int) error {
	found.Rest = nil // the traversal goes on there by itself
	v, err := found.Value(rangeOf(n.SrcRange))
	if err != nil {
		return err
	}
	w.substitute(n, fmt.Sprintf("result.%s.%s", found.Ref.Text(), found.Result), v, used)
	return nil
}

// varying links what is another on hosts with other roles.
func (w *walker) varying(n *hclsyntax.ScopeTraversalExpr, steps []expr.Step) {
	name := fmt.Sprintf("varying@%s:%d", n.SrcRange.Filename, n.SrcRange.Start.Byte)
	names, self := w.site.names, w.scope.self
	w.to.Needs = append(w.to.Needs, syntax.Need{Kind: "varying", Name: name, Src: n.SrcRange,
		Find: func(roles expr.Roles) (expr.Resolution, error) { return names.Find(steps, self, roles) }})
	n.Traversal = hcl2.Traversal{hcl2.TraverseRoot{Name: "varying." + name, SrcRange: n.SrcRange}}
}

// ownResult links result, in the conditions of a part.
func (w *walker) ownResult(n *hclsyntax.ScopeTraversalExpr) {
	v, err := expr.OwnResult(w.scope.result, rangeOf(n.SrcRange))
	if err != nil {
		w.errorAt(n.SrcRange, err.Error(), "")
		return
	}
	w.substitute(n, "result.of."+w.scope.result.Name, v, 1)
}

// substitute lets the first steps of a traversal stand for a value. Each place has
// a value of its own, which carries where it is.
func (w *walker) substitute(n *hclsyntax.ScopeTraversalExpr, name string, v cty.Value, used int) {
	name = fmt.Sprintf("%s@%s:%d", name, n.SrcRange.Filename, n.SrcRange.Start.Byte)
	w.to.Needs = append(w.to.Needs, syntax.Need{Kind: "result", Name: name, Value: v, Src: n.SrcRange})
	n.Traversal = append(hcl2.Traversal{hcl2.TraverseRoot{Name: name, SrcRange: n.SrcRange}}, n.Traversal[used:]...)
}

// computedReference gives the call that resolves a reference with computed keys, nil
// where the expression is none.
func (w *walker) computedReference(e hclsyntax.Expression) hclsyntax.Expression {
	args := w.steps(e)
	if args == nil || w.isOutput(e) {
		return nil
	}
	src := e.Range()
	return &hclsyntax.FunctionCallExpr{Name: expr.RefFunction, Args: args,
		NameRange: src, OpenParenRange: src, CloseParenRange: src}
}

// isOutput reports whether the steps lead to an output of a component with a
// computed key: component.NAME[KEY].OUTPUT. Then what they start with is a
// value, which is noted.
func (w *walker) isOutput(e hclsyntax.Expression) bool {
	if index, ok := e.(*hclsyntax.IndexExpr); ok {
		root, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
		return ok && w.values[root]
	}
	outer, ok := e.(*hclsyntax.RelativeTraversalExpr)
	if !ok {
		return false
	}
	index, ok := outer.Source.(*hclsyntax.IndexExpr)
	if !ok {
		return false
	}
	root, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(root.Traversal) != 2 {
		return false
	}
	first, _ := stepOf(root.Traversal[0])
	name, _ := stepOf(root.Traversal[1])
	next, ok := stepOf(outer.Traversal[0])
	if !ok || w.site.names.Output([]expr.Step{first, name, {Key: "", Index: true}, next}, w.scope.has) == 0 {
		return false
	}
	if w.values == nil {
		w.values = map[*hclsyntax.ScopeTraversalExpr]bool{}
	}
	w.values[root] = true
	return true
}

// steps writes a reference as arguments of that call: names as strings, keys
// as tuples of one.
func (w *walker) steps(e hclsyntax.Expression) []hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		root := e.Traversal.RootName()
		if w.isLocal(root) || isLinkerName(root) || w.scope.valuesOf != "" || !w.site.names.IsRoot(root) {
			return nil
		}
		return traversalSteps(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		if args := w.steps(e.Source); args != nil {
			return append(args, traversalSteps(e.Traversal)...)
		}
	case *hclsyntax.IndexExpr:
		if args := w.steps(e.Collection); args != nil {
			return append(args, &hclsyntax.TupleConsExpr{Exprs: []hclsyntax.Expression{e.Key}, SrcRange: e.SrcRange})
		}
	}
	return nil
}

func traversalSteps(t hcl2.Traversal) []hclsyntax.Expression {
	var args []hclsyntax.Expression
	for _, step := range t {
		s, _ := stepOf(step)
		literal := &hclsyntax.LiteralValueExpr{Val: cty.StringVal(s.Key), SrcRange: step.SourceRange()}
		if s.Index {
			args = append(args, &hclsyntax.TupleConsExpr{Exprs: []hclsyntax.Expression{literal}, SrcRange: step.SourceRange()})
			continue
		}
		args = append(args, literal)
	}
	return args
}

// stepOf turns a step of a traversal into one of a reference.
func stepOf(t hcl2.Traverser) (expr.Step, bool) {
	switch t := t.(type) {
	case hcl2.TraverseRoot:
		return expr.Step{Key: t.Name}, true
	case hcl2.TraverseAttr:
		return expr.Step{Key: t.Name}, true
	case hcl2.TraverseIndex:
		step, err := expr.StepValue(t.Key)
		return step, err == nil
	}
	return expr.Step{}, false
}

// stepName gives the name at an index of a traversal: .name or ["name"].
func stepName(t hcl2.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	step, ok := stepOf(t[i])
	return step.Key, ok
}
