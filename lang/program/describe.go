package program

import (
	"context"
	"maps"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// Description tells readers what a directory of state files takes, gives and
// holds.
type Description struct {
	Variables []Variable
	Outputs   []Output
	States    []State
	Hosts     []string
	Roles     []string
}

// Variable describes an input.
type Variable struct {
	Name        string
	Description string
	Type        cty.Type
	TypeText    string // as it is written
	Default     string // as it is written; empty: there is none
	Required    bool
	Sensitive   bool
	Merge       bool
	NoNull      bool
	Rules       []string // the messages of its validations
	Range       diag.Range
}

// Output describes what a component gives.
type Output struct {
	Name        string
	Description string
	Sensitive   bool
	Range       diag.Range
}

// State describes a state, run, block or component, or a part at top level.
type State struct {
	Address     string
	Kind        states.DeclarationKind
	Description string
	Params      []Variable
	Range       diag.Range
}

// Describe tells what the program declares. Scripts are run for it, for a host
// of which nothing is known: what they declare for certain hosts only is left
// out, and so is what is wrong.
func (p *Program) Describe(ctx context.Context) Description {
	if p.dir.Scripts != nil {
		e := newEvaluation(ctx, p, expr.Target{})
		e.preparation().begin(false)
		p = e.site
	}
	var out Description
	for _, name := range p.variables.Names() {
		out.Variables = append(out.Variables, p.describeVariable(p.variables.First(name)))
	}
	for _, name := range p.outputs.Names() {
		o := p.outputs.First(name)
		out.Outputs = append(out.Outputs, Output{Name: name, Description: o.Description, Sensitive: o.Sensitive, Range: rangeOf(o.src)})
	}
	for _, d := range p.declarations {
		if d.inline || slices.ContainsFunc(out.States, func(s State) bool { return s.Address == d.base }) {
			continue
		}
		s := State{Address: d.base, Kind: d.kind, Range: rangeOf(d.src)}
		for _, o := range d.options {
			if o.Name == "description" {
				s.Description = plainText(o.attr.Expr.Expression)
			}
		}
		for _, param := range d.params {
			s.Params = append(s.Params, p.describeParam(param))
		}
		out.States = append(out.States, s)
	}
	for _, h := range p.hosts {
		out.Hosts = append(out.Hosts, h.name)
	}
	out.Roles = slices.Sorted(maps.Keys(p.roles))
	return out
}

func (p *Program) describeVariable(v *variable) Variable {
	out := Variable{Name: v.Name, Description: v.Description, Type: v.Type, Required: v.attr == nil,
		Sensitive: v.Sensitive, Merge: v.Merge, NoNull: v.NoNull, Range: v.Range}
	out.TypeText, out.Default = p.sourceText(v.typ), p.sourceText(v.attr)
	if out.TypeText == "" {
		out.TypeText = expr.TypeName(v.Type)
	}
	for _, check := range v.validations {
		if rule := p.message(check.message.Expression); rule != "" {
			out.Rules = append(out.Rules, rule)
		}
	}
	return out
}

func (p *Program) describeParam(v *param) Variable {
	return Variable{Name: v.name, Type: v.convert.Type, TypeText: expr.TypeName(v.convert.Type),
		Default: p.sourceText(v.attr), Required: v.attr == nil, Range: rangeOf(v.src)}
}

// sourceText gives the text of an attribute's value as it stands in the source,
// without the indentation of its place.
func (p *Program) sourceText(a *syntax.Attribute) string {
	if a == nil {
		return ""
	}
	if literal, ok := a.Expr.Expression.(*hclsyntax.LiteralValueExpr); ok {
		return literalText(literal.Val)
	}
	src := a.Expr.Range()
	text := p.textBetween(src)
	lines := strings.Split(text, "\n")
	if len(lines) > 1 {
		indent := len(lines[len(lines)-1]) - len(strings.TrimLeft(lines[len(lines)-1], " \t"))
		for i, line := range lines[1:] {
			lines[i+1] = line[min(indent, len(line)-len(strings.TrimLeft(line, " \t"))):]
		}
	}
	return strings.Join(lines, "\n")
}

// textBetween gives the text of a range of a source, empty where it is no text.
func (p *Program) textBetween(src hcl2.Range) string {
	for _, s := range p.dir.Sources {
		if s.Name == src.Filename && 0 <= src.Start.Byte && src.Start.Byte <= src.End.Byte && src.End.Byte <= len(s.Data) {
			return strings.ReplaceAll(string(s.Data[src.Start.Byte:src.End.Byte]), "\r", "")
		}
	}
	return ""
}

// literalText writes a plain value as the language does.
func literalText(v cty.Value) string {
	v, sensitive := expr.Split(v)
	if sensitive || !v.IsWhollyKnown() {
		return ""
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

// message gives the text of a message; what is computed in it stands as "…".
func (p *Program) message(e hclsyntax.Expression) string {
	parts := []hclsyntax.Expression{e}
	if template, ok := e.(*hclsyntax.TemplateExpr); ok {
		parts = template.Parts
	}
	var out strings.Builder
	for _, part := range parts {
		if literal, ok := part.(*hclsyntax.LiteralValueExpr); ok {
			out.WriteString(plainText(literal))
		} else {
			out.WriteString("…")
		}
	}
	return out.String()
}
