// Package statefile writes parts as text of state files, in either language.
package statefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Language is one of the languages of state files.
type Language string

// The languages.
const (
	HCL      Language = "hcl"
	Starlark Language = "starlark"
)

// Print gives the text of a part at the top level of a state file, not yet in the
// canonical layout.
func (l Language) Print(p *machine.ImportPart) string {
	var b strings.Builder
	if l == Starlark {
		starlarkPart(&b, p)
		b.WriteString("\n")
	} else {
		hclPart(&b, p)
	}
	return b.String()
}

// comment writes lines that are not read.
func comment(b *strings.Builder, notes ...string) {
	for _, note := range notes {
		if words := strings.Fields(diag.Clean(note, "\t\n\v\f\r\u0085", '\uFFFD')); len(words) > 0 {
			fmt.Fprintf(b, "# %s\n", strings.Join(words, " "))
		}
	}
}

func hclPart(b *strings.Builder, p *machine.ImportPart) {
	fmt.Fprintf(b, "%s %s {", p.Type, hclText(p.Label))
	list := values(p)
	if len(list) == 0 && len(p.Notes) == 0 {
		b.WriteString("}\n")
		return
	}
	b.WriteString("\n")
	comment(b, p.Notes...)
	for _, v := range list {
		fmt.Fprintf(b, "%s = %s\n", v.Name, hclValue(v.Value))
	}
	b.WriteString("}\n")
}

// values are the values beside the one that the label gives.
func values(p *machine.ImportPart) []machine.ImportValue {
	return slices.DeleteFunc(slices.Clone(p.Values), func(v machine.ImportValue) bool { return v.Name == p.LabelKey })
}

// hclText is a text in quotes.
func hclText(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func hclValue(v any) string {
	switch v := v.(type) {
	case string:
		if text, ok := heredoc(v); ok {
			return text
		}
		return hclText(v)
	case []any:
		return list(v, hclText, hclValue)
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		var b strings.Builder
		b.WriteString("{\n")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key := hclText(name)
			if states.IsIdentifier(name) {
				key = name
			}
			fmt.Fprintf(&b, "%s = %s\n", key, hclNested(v[name]))
		}
		return b.String() + "}"
	}
	return scalar(v, "null", "true", "false")
}

// hclNested is a value within another one, where no heredoc can stand in a line.
func hclNested(v any) string {
	if s, ok := v.(string); ok {
		return hclText(s)
	}
	return hclValue(v)
}

func scalar(v any, null, yes, no string) string {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		if v {
			return yes
		}
		return no
	case json.Number:
		return v.String()
	}
	panic(fmt.Sprintf("statefile: no canonical value: %T", v))
}

// list writes a list, in one line where it is short.
func list(v []any, text func(string) string, nested func(any) string) string {
	items := make([]string, len(v))
	length := 0
	for i, e := range v {
		if s, ok := e.(string); ok {
			items[i] = text(s)
		} else {
			items[i] = nested(e)
		}
		length += len(items[i]) + 2
	}
	if length <= 70 && !strings.Contains(strings.Join(items, ""), "\n") {
		return "[" + strings.Join(items, ", ") + "]"
	}
	return "[\n" + strings.Join(items, ",\n") + ",\n]"
}

// heredoc writes lines as they are, if nothing is lost by that.
func heredoc(s string) (string, bool) {
	if !strings.HasSuffix(s, "\n") || strings.Count(s, "\n") < 2 || strings.ContainsFunc(s, unsafe) {
		return "", false
	}
	marker := "EOT"
	for n := 2; hasLine(s, marker); n++ {
		marker = fmt.Sprint("EOT", n)
	}
	text := "<<" + marker + "\n" + escapeTemplate(s) + marker
	expr, diags := hclsyntax.ParseExpression([]byte(text+"\n"), "", hcl.InitialPos)
	if diags.HasErrors() {
		return "", false
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.AsString() != s {
		return "", false
	}
	return text, true
}

// unsafe reports whether a character looks otherwise in an editor than it reads.
func unsafe(r rune) bool { return diag.Unsafe(r) && !strings.ContainsRune("\n\t\r", r) }

func hasLine(s, line string) bool {
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}

// escapeTemplate doubles what begins an interpolation.
func escapeTemplate(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s)
}

func starlarkPart(b *strings.Builder, p *machine.ImportPart) {
	comment(b, p.Notes...)
	fmt.Fprintf(b, "%s(\n%s,\n", p.Type, starlarkText(p.Label))
	for _, v := range values(p) {
		fmt.Fprintf(b, "%s = %s,\n", v.Name, starlarkValue(v.Value))
	}
	b.WriteString(")")
}

func starlarkText(s string) string { return syntax.Quote(s, false) }

func starlarkValue(v any) string {
	switch v := v.(type) {
	case string:
		if strings.Count(v, "\n") >= 2 {
			return starlarkLines(v)
		}
		return starlarkText(v)
	case []any:
		return list(v, starlarkText, starlarkValue)
	case map[string]any:
		var b strings.Builder
		b.WriteString("{")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(&b, "\n%s: %s,", starlarkText(name), starlarkValue(v[name]))
		}
		return b.String() + "}"
	}
	return scalar(v, "None", "True", "False")
}

// starlarkLines is a text between three quotes, whose line ends, tabs and quotes stand
// as they are.
func starlarkLines(s string) string {
	var b strings.Builder
	b.WriteString(`"""`)
	quotes := 0
	for i, r := range s {
		quoted := syntax.Quote(string(r), false)
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '"' && quotes < 2 && i < len(s)-1:
			b.WriteByte('"')
		default:
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		if quotes++; r != '"' {
			quotes = 0
		}
	}
	return b.String() + `"""`
}
