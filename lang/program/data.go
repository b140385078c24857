package program

import (
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/rules"
)

// dataDecl is data "NAME" { … }.
type dataDecl struct {
	name   string
	role   string
	src    hcl2.Range        // the header
	file   *syntax.Attribute // nil: it is a value
	value  *syntax.Attribute // nil: it is a file; nor that: it is wrong
	schema *syntax.Attribute // nil: none is named here
	ignore []rules.Selector
	calls  []hcl2.Range // see syntax.Block.Calls
}

// Owner is the role that declares it.
func (d *dataDecl) Owner() string { return d.role }

// attributes are those that are expressions.
func (d *dataDecl) attributes() (list []*syntax.Attribute) {
	for _, a := range []*syntax.Attribute{d.file, d.value, d.schema} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// isLiteral reports whether all of it is written as it is, so that it can be read before anything else is known.
func (d *dataDecl) isLiteral() bool {
	for _, a := range d.attributes() {
		if _, ok := literalOf(a); !ok {
			return false
		}
	}
	return true
}

func (d *decoder) data(b *syntax.Block) {
	before := len(d.list)
	defer func() { addCalls(d.list, before, b.Calls) }()
	d.check(b.Body, d.shapes.Data, nil)
	if !d.identifier(b) {
		return
	}
	a := b.Body.Attribute
	out := &dataDecl{name: b.Labels[0], role: d.role, src: b.Header, file: a("file"), value: a("value"), schema: a("schema"), calls: b.Calls}
	switch {
	case out.file != nil && out.value != nil:
		d.errorAt(out.value.NameRange, "leave one of them out", "data.%s has both a file and a value", out.name)
		out.file, out.value = nil, nil
	case out.file == nil && out.value == nil:
		d.errorAt(b.Header, `add file = "NAME.yml", or value = …`, "data.%s has neither a file nor a value", out.name)
	}
	if ignore := a("ignore"); ignore != nil {
		out.ignore = d.selectors(ignore)
	}
	if first, ok := d.site.data.Add(out.name, out); !ok {
		d.taken("data."+out.name, b.Header, rangeOf(first.src), first.role)
	}
}

// selectors reads a literal list of selectors.
func (d *decoder) selectors(a *syntax.Attribute) []rules.Selector {
	hint := `write a list of selectors: ["switches[name].comment"]`
	v, diags := a.Expr.Value(nil)
	switch {
	case diags.HasErrors():
		d.errorAt(a.Range(), "write the selectors themselves, without references and functions", "%s cannot be computed", a.Name)
		return nil
	case v.IsNull() || !v.Type().IsTupleType():
		d.errorAt(a.Range(), hint, "%s must be a list of texts, not %s", a.Name, expr.Kind(v))
		return nil
	}
	places := elementPlaces(a.Expr.Expression, v.LengthInt())
	var all []rules.Selector
	for i, e := range v.AsValueSlice() {
		if e.IsNull() || e.Type() != cty.String {
			d.errorAt(places[i], hint, "a selector is text, not %s", expr.Kind(e))
			continue
		}
		s, err := rules.ParseSelector(e.AsString())
		if err != nil {
			d.errorAt(placeInText(places[i], e.AsString(), err), `write fields with dots between them, behind each what tells the elements of a list apart: switches[name].vlans[id]`,
				"the selector %q: %v", e.AsString(), err)
			continue
		}
		all = append(all, s)
	}
	return all
}

// elementPlaces says where the elements of a list stand: all of it, where they are not written out.
func elementPlaces(e hclsyntax.Expression, length int) []hcl2.Range {
	places := make([]hcl2.Range, length)
	list, _ := e.(*hclsyntax.TupleConsExpr)
	for i := range places {
		places[i] = e.Range()
		if list != nil && len(list.Exprs) == length {
			places[i] = list.Exprs[i].Range()
		}
	}
	return places
}

// placeInText is where within a text in quotes its syntax is wrong: all of it, where the text is not written as it is.
func placeInText(at hcl2.Range, text string, err error) hcl2.Range {
	wrong, ok := errors.AsType[*rules.SyntaxError](err)
	if !ok || at.End.Byte-at.Start.Byte != len(text)+2 || wrong.Offset > len(text) {
		return at
	}
	at.Start.Byte += 1 + wrong.Offset
	at.Start.Column += 1 + utf8.RuneCountInString(text[:wrong.Offset])
	if wrong.Offset < len(text) {
		_, size := utf8.DecodeRuneInString(text[wrong.Offset:])
		at.End = hcl2.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + size}
	}
	return at
}

// DataFile is the file of a document at the site's top level, where that is written as it is.
func (p *Program) DataFile(name string) (string, error) {
	if !p.data.Has(name) {
		hint := fmt.Sprintf("declare it: data %q { file = … }", name)
		if names := p.data.Names(); len(names) > 0 {
			hint = "the site declares " + quotedList(names)
		}
		return "", &diag.HintError{Message: fmt.Sprintf("data.%s is not declared", name), Hint: hint}
	}
	v := cty.NullVal(cty.String)
	if a := p.data.First(name).file; a != nil && !p.data.IsShared(name) {
		if literal, diags := a.Expr.Value(nil); !diags.HasErrors() {
			v = literal
		}
	}
	if v.IsNull() || v.Type() != cty.String {
		return "", &diag.HintError{Message: fmt.Sprintf("data.%s is not one file of the site, that another one could take the place of", name), Hint: `write its path as it is: file = "NAME.yml"`}
	}
	return path.Clean(v.AsString()), nil
}

// reportUndeclaredData reports documents that are given from outside for data which the site does not declare.
func (e *expressions) reportUndeclaredData() {
	if e.prefix != "" || e.site.broken {
		return
	}
	e.reportUndeclared("--data", e.target.Data)
	e.reportFormer()
}

func (e *expressions) reportUndeclared(option string, files []expr.DataFile) {
	names := e.site.data.Names()
	for _, given := range files {
		if given.Name == "" || e.site.data.Has(given.Name) {
			continue
		}
		hint := fmt.Sprintf("declare it: data %q { file = … }", given.Name)
		if len(names) > 0 {
			hint = "the site declares " + quotedList(names)
		}
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("data.%s is not declared", given.Name), Hint: hint, Range: diag.Range{File: option}})
	}
}
