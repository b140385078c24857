package program

import (
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/foreign"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// foreignAttribute reports an attribute that another tool has, with what is
// written in its place; false: it is of none.
func (d *decoder) foreignAttribute(a *syntax.Attribute, in *syntax.Shape, module *states.Module) bool {
	on, what := in.Word(), in.What
	if module != nil {
		on, what = module.Name, expr.Article(module.Name)
	}
	advice, ok := foreign.Attribute(on, a.Name, plainText(a.Expr.Expression))
	if !ok && in.Parts && strings.HasSuffix(a.NameRange.Filename, ".json") { // a block is a property, too
		advice, ok = foreign.Block(a.Name, "")
	}
	if _, isBlock := in.Blocks[a.Name]; !ok || isBlock || d.shapes.Options[a.Name] != nil {
		return false
	}
	if isScript(a.NameRange) {
		advice = foreign.Starlark(advice)
	}
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has no attribute %q", what, a.Name),
		Detail: advice.Detail, Hint: advice.Hint, Range: rangeOf(a.NameRange)})
	return true
}

// isScript reports whether a place is in a script.
func isScript(src hcl2.Range) bool { return strings.HasSuffix(src.Filename, ".star") }

// foreignBlock is foreignAttribute for a block.
func (d *decoder) foreignBlock(b *syntax.Block, in *syntax.Shape, module *states.Module) bool {
	inside, what := "", in.What
	switch {
	case module != nil:
		inside, what = module.Name, expr.Article(module.Name)
	case in != d.shapes.Root:
		inside = in.Word()
	}
	advice, ok := foreign.Block(b.Type, inside)
	if !ok {
		return false
	}
	summary := fmt.Sprintf("%s has no block %q", what, b.Type)
	if in.Parts {
		summary = fmt.Sprintf("there is no type of part or declaration %q", b.Type)
	}
	d.list.Add(diag.Diagnostic{Summary: summary, Detail: advice.Detail, Hint: advice.Hint, Range: rangeOf(b.TypeRange)})
	return true
}

// plainText gives a literal string, or the single name that an expression is.
func plainText(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if len(e.Traversal) == 1 {
			return e.Traversal.RootName()
		}
	case *hclsyntax.LiteralValueExpr:
		switch {
		case e.Val.IsNull() || !e.Val.IsKnown():
		case e.Val.Type() == cty.String:
			return e.Val.AsString()
		case e.Val.Type() == cty.Bool && e.Val.True():
			return "true"
		}
	case *hclsyntax.TemplateExpr:
		if e.IsStringLiteral() {
			return plainText(e.Parts[0])
		}
	}
	return ""
}

// blockHint says how a block is written that was given as an attribute.
func blockHint(a *syntax.Attribute) string {
	text := plainText(a.Expr.Expression)
	if _, list := a.Expr.Expression.(*hclsyntax.TupleConsExpr); a.Name == "only_if" || a.Name == "unless" {
		switch words := strings.Fields(text); {
		case len(words) > 0:
			return fmt.Sprintf("write %s { command = [%s] }, or %s { exists = PATH }", a.Name, quoteWords(words), a.Name)
		case list:
			return fmt.Sprintf("write %s { command = […] }; several are blocks of their own", a.Name)
		}
	}
	return fmt.Sprintf("write %s { … } without =", a.Name)
}

func quoteWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}

// placementHint says where a declaration belongs that stands within another.
func placementHint(word string, in *syntax.Shape, shapes *syntax.Shapes) string {
	switch {
	case (in == shapes.State || in == shapes.Handler) && (word == "state" || word == "handler"):
		return `declare it at top level; several states that belong together are the members of a block: block "NAME" { members = [state.NAME] }`
	case in == shapes.State || in == shapes.Handler:
		return fmt.Sprintf("declare it at top level; %s holds parts and params only", in.What)
	case shapes.Registry.Lookup(word) != nil:
		return "declare it beside, not within; several parts in their order stand in a state: state \"NAME\" { … }"
	}
	return "declare it at top level"
}

// foreignRoot reports a name that another tool has.
func (w *walker) foreignRoot(n *hclsyntax.ScopeTraversalExpr, root string) bool {
	next, _ := stepName(n.Traversal, 1)
	advice, ok := foreign.Value(root, next)
	if !ok || len(w.candidates(root)) > 0 {
		return false
	}
	w.to.Bad = true
	if !w.quiet {
		w.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("there is nothing named %q", root), Detail: advice.Detail,
			Hint: w.fillNames(root, next, advice.Hint), Range: rangeOf(n.SrcRange)})
	}
	return true
}

// fillNames puts the real name in the place of NAME where the word stands for
// values that are declared.
func (w *walker) fillNames(root, next, hint string) string {
	for _, kind := range []string{"var", "local"} {
		if next != "" && strings.HasPrefix(hint, "write "+kind+".NAME") && w.declares(kind, next) {
			return fmt.Sprintf("write %s.%s", kind, next)
		}
	}
	return hint
}

// declares reports whether the site has a variable, a local or data of that name.
func (w *walker) declares(kind, name string) bool {
	switch kind {
	case "var":
		return w.site.variables.Has(name)
	case "data":
		return w.site.data.Has(name)
	}
	return w.site.locals.Has(name)
}

// candidates lists what is declared under a name that was written without its kind.
func (w *walker) candidates(name string) []string {
	var found []string
	for _, kind := range []string{"var", "local", "data"} {
		if w.declares(kind, name) {
			found = append(found, kind+"."+name)
		}
	}
	if w.scope.params != nil && w.scope.params.param(name) != nil {
		found = append(found, "param."+name)
	}
	return slices.Concat(found, w.site.names.AddressesOf(name))
}

// typeHint gives advice on a type that is none.
func typeHint(e hclsyntax.Expression) string {
	text := plainText(e)
	quoted := fmt.Sprintf("write it without quotes: type = %s", text)
	switch _, name := e.(*hclsyntax.ScopeTraversalExpr); text {
	case "string", "number", "bool", "any":
		if !name {
			return quoted
		}
	}
	if advice, ok := foreign.Type(text); ok {
		return advice.Hint
	}
	return ""
}

// warn adds a warning about an expression.
func (w *walker) warn(src hcl2.Range, summary, detail, hint string) {
	w.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: summary, Detail: detail, Hint: hint, Range: rangeOf(src)})
}
