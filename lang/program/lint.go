package program

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/foreign"
)

// lint warns of expressions that are right, and most likely not meant:
// references within quotes, expressions of other template languages, and
// comparisons that never hold.
func (w *walker) lint(n hclsyntax.Node) {
	if w.quiet {
		return
	}
	switch n := n.(type) {
	case *hclsyntax.TemplateExpr:
		if n.IsStringLiteral() {
			w.quotedValue(n)
		}
		for _, part := range n.Parts {
			if literal, ok := part.(*hclsyntax.LiteralValueExpr); ok && literal.Val.Type() == cty.String {
				w.otherTemplate(literal)
			}
		}
	case *hclsyntax.FunctionCallExpr:
		w.templateFile(n)
	case *hclsyntax.BinaryOpExpr:
		if n.Op == hclsyntax.OpEqual || n.Op == hclsyntax.OpNotEqual {
			w.comparison(n)
		}
	}
}

var (
	valueName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(var|local|data|fact|each|param)\.([A-Za-z_][\w-]*)[\w.-]*$`)
	})
	mustache = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{\{-?\s*([A-Za-z_]\w*)(?:\.(\w+))?(?:\.\w+)*\s*(?:\|[^}]*)?-?\}\}`)
	})
	statement = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{%-?\s*(if|elif|else|endif|for|endfor|set|include)\b`)
	})
)

var hclTemplate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\s*((?:var|local|data|fact|each|param|host)\.\w+)[^}]*\}`)
})

// lintLiteral warns of templates of HCL in a script's text, where they have
// no meaning.
func (l *linker) lintLiteral(n *hclsyntax.LiteralValueExpr) {
	if l.quiet || !isScript(n.SrcRange) || n.Val.IsMarked() || n.Val.IsNull() || !n.Val.IsKnown() || n.Val.Type() != cty.String {
		return
	}
	text := n.Val.AsString()
	if !strings.Contains(text, "${") {
		return
	}
	m := hclTemplate().FindStringSubmatch(text)
	if m == nil {
		return
	}
	l.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: m[0] + " is plain text in Starlark", Range: rangeOf(n.SrcRange),
		Detail: "Templates within text belong to HCL: the host gets this as it stands here.", Hint: fmt.Sprintf(`write "…%%s…" %% %s`, m[1])})
}

// quotedValue looks for "var.name", which is text.
func (w *walker) quotedValue(n *hclsyntax.TemplateExpr) {
	text := plainText(n)
	switch root, _, _ := strings.Cut(text, "."); root {
	case "var", "local", "data", "fact", "each", "param":
	default:
		return
	}
	m := valueName().FindStringSubmatch(text)
	if m == nil {
		return
	}
	switch kind, name := m[1], m[2]; kind {
	case "var", "local", "data":
		if !w.declares(kind, name) {
			return
		}
	case "each":
		if !w.scope.each {
			return
		}
	case "param":
		if w.scope.params == nil || w.scope.params.param(name) == nil {
			return
		}
	}
	w.warn(n.SrcRange, fmt.Sprintf("this is the text %q, not the value of that name", text), "",
		"write "+text+" without quotes, or ${"+text+"} within text")
}

// otherTemplate looks for expressions of Jinja whose names are known here.
func (w *walker) otherTemplate(n *hclsyntax.LiteralValueExpr) {
	if n.Val.IsNull() || !n.Val.IsKnown() {
		return
	}
	text := n.Val.AsString()
	if !strings.Contains(text, "{{") && !strings.Contains(text, "{%") {
		return
	}
	const detail = "Jinja's braces have no meaning in the language: the host gets them as they stand here."
	if m := statement().FindStringSubmatch(text); m != nil {
		w.warn(n.SrcRange, fmt.Sprintf("the statement {%% %s … %%} is plain text here", m[1]), detail,
			"write %{ if CONDITION } … %{ endif } or %{ for x in LIST } … %{ endfor }; text that is meant for Jinja on the host is best kept in a file, with the attribute source")
		return
	}
	for _, m := range mustache().FindAllStringSubmatch(text, -1) {
		if hint := w.jinjaName(m[1], m[2]); hint != "" {
			w.warn(n.SrcRange, fmt.Sprintf("%s is plain text here", m[0]), detail, hint)
			return
		}
	}
}

// jinjaName says what is meant by a name in Jinja's braces, "" if nothing is
// known by it.
func (w *walker) jinjaName(root, next string) string {
	whole := root
	if next != "" {
		whole += "." + next
	}
	switch root {
	case "var", "local", "param":
		w.site.uses.count(w.scope, root, next)
		return "write ${" + whole + "}"
	case "data", "fact", "each":
		return "write ${" + whole + "}"
	}
	if meant := w.candidates(root); len(meant) > 0 {
		if kind, name, ok := strings.Cut(meant[0], "."); ok { // one warning is enough
			w.site.uses.count(w.scope, kind, name)
		}
		return "write ${" + meant[0] + strings.TrimPrefix(whole, root) + "}"
	}
	if advice, ok := foreign.Value(root, next); ok && advice.Detail != "" {
		return advice.Hint + ", within ${ }"
	}
	return ""
}

// comparison looks for a text that is compared with a number or a bool: they
// are never equal.
func (w *walker) comparison(n *hclsyntax.BinaryOpExpr) {
	left, right := w.primitive(n.LHS), w.primitive(n.RHS)
	if left == cty.NilType || right == cty.NilType || left == right {
		return
	}
	result := "never equal"
	hint := "convert one of them: tostring(), tonumber()"
	for _, side := range []struct {
		literal hclsyntax.Expression
		other   cty.Type
	}{{n.LHS, right}, {n.RHS, left}} {
		text := plainText(side.literal)
		number, isNumber := side.literal.(*hclsyntax.LiteralValueExpr)
		switch {
		case isNumber && side.other == cty.String && number.Val.Type() == cty.Number:
			hint = fmt.Sprintf("put it in quotes: %q", number.Val.AsBigFloat().Text('f', -1))
		case isNumber && side.other == cty.String && number.Val.Type() == cty.Bool:
			hint = fmt.Sprintf("put it in quotes: %q", text)
		case !isNumber && text != "" && side.other != cty.String:
			hint = "write it without quotes: " + text
		}
	}
	w.warn(n.SrcRange, fmt.Sprintf("a %s and a %s are %s", left.FriendlyName(), right.FriendlyName(), result), "", hint)
}

// primitive gives the type of an expression where it is known to be text, a
// number or a bool; else NilType.
func (w *walker) primitive(e hclsyntax.Expression) cty.Type {
	var t cty.Type
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		if !e.Val.IsNull() {
			t = e.Val.Type()
		}
	case *hclsyntax.TemplateExpr:
		t = cty.String
	case *hclsyntax.ParenthesesExpr:
		return w.primitive(e.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		name, _ := stepName(e.Traversal, 1)
		switch root := e.Traversal.RootName(); {
		case w.isLocal(root) || len(e.Traversal) != 2:
		case root == "var" && w.site.variables.Has(name):
			t = w.site.variables.First(name).Type
		case root == "param" && w.scope.params != nil && w.scope.params.param(name) != nil:
			t = w.scope.params.param(name).convert.Type
		case root == "each" && name == "key":
			t = cty.String
		}
	}
	if t == cty.NilType || !t.IsPrimitiveType() {
		return cty.NilType
	}
	return t
}
