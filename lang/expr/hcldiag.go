package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/foreign"
)

// Range turns a range of the HCL library into ours.
func Range(r hcl.Range) diag.Range {
	return diag.Range{
		File:  r.Filename,
		Start: diag.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte},
		End:   diag.Pos{Line: r.End.Line, Column: r.End.Column, Byte: r.End.Byte},
	}
}

// FromHCL turns diagnostics of the HCL library into ours, with a hint where
// its text leaves the reader without one. Mistakes within a template file
// stand at their place there, and name the call as a related place.
func FromHCL(ds hcl.Diagnostics) diag.List {
	var l diag.List
	for _, d := range ds {
		d = maskValues(settleArgument(d))
		var at diag.Range
		if d.Subject != nil {
			at = Range(*d.Subject)
		}
		if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok && extra.FunctionCallError() != nil {
			l = append(l, callDiagnostics(d, extra, at)...)
			continue
		}
		out := diag.Diagnostic{Severity: diag.Error, Summary: d.Summary, Detail: d.Detail, Range: at}
		if d.Severity == hcl.DiagWarning {
			out.Severity = diag.Warning
		}
		out.Detail, out.Hint = splitHint(d.Detail)
		if text, ok := strings.CutPrefix(d.Detail, "Error during operation: "); ok {
			out.Summary, out.Detail, out.Hint = strings.TrimSuffix(text, "."), "", "check the values that it computes with"
		}
		if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
			name := extra.CalledFunctionName()
			instead, _ := foreign.Function(name)
			out.Summary, out.Detail = fmt.Sprintf("there is no function named %q", name), instead.Detail
			out.Hint = cmp.Or(instead.Hint, diag.DidYouMean(name, functionNames()), "tenet doc functions lists all functions")
		}
		if extra, ok := hcl.DiagnosticExtra[hintExtra](d); ok {
			out.Hint = extra.hint
		}
		if out.Hint == "" {
			out.Hint = hintFor(d)
		}
		inWords(&out)
		l = append(l, out)
	}
	return l
}

// maskValues gives the diagnostic without what is sensitive in the values at hand:
// some texts of the HCL library quote keys and values.
func maskValues(d *hcl.Diagnostic) *hcl.Diagnostic {
	found := map[string]bool{}
	if d.Expression == nil || d.EvalContext == nil {
		return d
	}
	for _, variable := range d.Expression.Variables() {
		if v, _ := variable[:1].TraverseAbs(d.EvalContext); v.ContainsMarked() {
			addSensitive(found, v)
		}
	}
	if node, ok := d.Expression.(hclsyntax.Node); ok {
		for _, v := range secretCalls(node, d.EvalContext) {
			addSensitive(found, v)
		}
	}
	if len(found) == 0 {
		return d
	}
	out := *d
	texts := longestFirst(slices.Collect(maps.Keys(found)))
	out.Summary, out.Detail = hideTexts(texts, out.Summary), hideTexts(texts, out.Detail)
	return &out
}

// callDiagnostics reports the error that a function returned.
func callDiagnostics(from *hcl.Diagnostic, extra hclsyntax.FunctionCallDiagExtra, at diag.Range) diag.List {
	err, name := describePanic(extra.FunctionCallError()), extra.CalledFunctionName()
	var inner *TemplateError
	isTemplate := errors.As(err, &inner)
	hidden := hasSensitive(from, name == "template" && !isTemplate)
	named := name != RefFunction && name != HostFunction
	if hidden && !isTemplate && name != RefFunction {
		err = errHidden()
	}
	var source *SourceError
	if errors.As(err, &source) {
		return addCallPlace(source.List, at)
	}
	if isTemplate {
		l := append(diag.List(nil), inner.List...)
		for i := range l {
			if hidden {
				l[i].Summary, l[i].Detail = "the template fails here; the reason may show a sensitive value, and is hidden", ""
			}
			l[i].Related = append(l[i].Related, diag.Related{Message: "rendered here", Range: at})
		}
		return l
	}
	d := diag.Diagnose(err, at)
	if named {
		d.Summary = name + "(): " + d.Summary
		if strings.HasSuffix(d.Summary, "must be lists or tuples; got set of string") {
			d.Hint = cmp.Or(d.Hint, "a set has no order: sort(SET) makes a list of it")
		}
		d.Hint = cmp.Or(d.Hint, "see the function's description: tenet doc "+name)
	}
	return diag.List{d}
}

// addCallPlace gives what is wrong in another file, with the place of the call.
func addCallPlace(list diag.List, at diag.Range) diag.List {
	var out diag.List
	for _, d := range list {
		if d.Range.IsZero() {
			d.Range = at
		} else {
			d.Related = append(d.Related[:len(d.Related):len(d.Related)], diag.Related{Message: "asked for here", Range: at})
		}
		out.Add(d)
	}
	return out
}

// hasSensitive reports whether an argument of the call, or only the first, is
// sensitive: then the error may show it.
func hasSensitive(d *hcl.Diagnostic, first bool) bool {
	if d.Expression == nil || d.EvalContext == nil {
		return false
	}
	// The expression is the argument at fault, or the whole call.
	v, diags := d.Expression.Value(d.EvalContext)
	if !diags.HasErrors() {
		_, sensitive := Split(v)
		return sensitive
	}
	args := []hcl.Expression{d.Expression}
	if call, ok := d.Expression.(*hclsyntax.FunctionCallExpr); ok {
		args = nil
		for _, arg := range call.Args {
			if !first || len(args) == 0 {
				args = append(args, arg)
			}
		}
	}
	for _, arg := range args {
		v, diags := arg.Value(d.EvalContext)
		if _, sensitive := Split(v); sensitive || diags.HasErrors() {
			return true
		}
	}
	return false
}

// functionNames lists all functions.
func functionNames() []string {
	var names []string
	for _, f := range FunctionDocs() {
		names = append(names, f.Name)
	}
	return names
}

// splitHint takes the suggestion off the end of a detail.
func splitHint(detail string) (rest, hint string) {
	at := strings.LastIndex(detail, " Did you mean ")
	if at < 0 {
		return detail, ""
	}
	return detail[:at], "did" + detail[at+4:]
}

// hintFor adds advice to what the HCL library says in general terms.
func hintFor(d *hcl.Diagnostic) string {
	switch s := d.Summary; {
	case strings.HasPrefix(s, "Unsupported character") || strings.HasPrefix(s, "Invalid character"):
		return "put text in double quotes"
	case s == "Argument or block definition required" || s == "Invalid block definition" || s == "Invalid argument name":
		return `write NAME = VALUE, or TYPE "LABEL" { … } over several lines`
	case s == "Invalid expression" || s == "Missing expression":
		return "a value is text in quotes, a number, true, false, null, a list, an object, a call or a reference"
	case s == "Invalid string literal":
		return `where a key is computed, give the key attribute, such as path = "/srv/${var.name}"`
	case strings.HasPrefix(s, "Trailing comma"):
		return "remove the comma"
	case s == "Argument definition required":
		return "put what is in the block on lines of its own; an attribute is NAME = VALUE"
	case s == "Invalid single-argument block definition":
		return "put each attribute of a block on a line of its own"
	case s == "Missing newline after argument" || s == "Missing attribute separator":
		return "put each attribute on a line of its own"
	case s == "Unclosed configuration block":
		return "end it with }"
	case strings.HasPrefix(s, "Unclosed") || s == "Unterminated template string":
		return "look for the opening bracket or quote that has no end"
	case s == "Call to unknown function":
		return "tenet doc functions lists all functions"
	case s == "Unknown variable":
		return "values are named var.NAME, local.NAME, data.NAME, param.NAME, each.key, each.value and fact.NAME"
	case s == "Attribute redefined":
		return "give it once"
	case s == "Inconsistent conditional result types":
		return "both sides of ? : must give one type; tostring(), tolist() or null may help"
	case s == "Invalid function argument" && strings.HasSuffix(d.Detail, "required, but have source."):
		return "read() gives the text of a source"
	case s == "Invalid function argument" || s == "Incorrect attribute value type":
		return "convert it with tostring(), tonumber(), tolist() or tomap(), or give a value of the right type"
	case s == "Not enough function arguments" || s == "Too many function arguments":
		return "tenet doc functions shows what each function takes"
	case s == "Invalid template interpolation value":
		if strings.Contains(d.Detail, "is null") {
			return "give it a value, or one in its place: coalesce(VALUE, \"…\")"
		}
		if strings.HasSuffix(d.Detail, "have source.") {
			return "read() gives the text of a source, and template() fills it in"
		}
		return "only strings, numbers and booleans stand in text; use join() or jsonencode()"
	case s == "Unsupported attribute" || s == "Invalid index":
		if near := nearAttribute(d); near != "" {
			return near
		}
		return "look at the value with tenet inspect vars, or guard the access with try()"
	case s == "Attempt to get attribute from null value" || s == "Attempt to index null value":
		return "guard the access with try()"
	case s == "Invalid operand" && strings.Contains(d.Detail, "a number is required"):
		return `texts are joined in a template, "${a}${b}"; tonumber() makes a number of a text`
	case s == "Invalid operand" && strings.Contains(d.Detail, "a bool is required"):
		return "compare the value with another, such as x != \"\", or write true or false"
	case s == "Invalid multi-line string":
		return `end the text with " in its line; text over several lines is written <<-EOT, then the lines, then a line EOT`
	case s == "Missing key/value separator":
		return "write NAME = VALUE for each element of an object"
	case s == "Extra characters after interpolation expression":
		return "one expression stands between ${ and }; $${ stands for a literal ${"
	case s == "Invalid attribute name":
		return `after a dot stands a name; other keys stand in brackets and quotes: file["/etc/motd"]`
	case s == "Invalid expression" && strings.Contains(d.Detail, "null"):
		return "give a value, or guard it with coalesce()"
	case s == "Division by zero" || s == "Invalid operand" || s == "Unsuitable value type":
		return "check the types of the values in the expression"
	case strings.HasPrefix(s, "Duplicate JSON"):
		return "give each property once"
	}
	return "compare with the examples of tenet doc"
}
