package program

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// data reads the data of the host that has a name once, and gives its value.
func (e *expressions) data(name string) cty.Value {
	return e.once("data."+name, func() cty.Value {
		d, _ := e.site.data.Of(name, e.hostRoles())
		before := len(e.list)
		v := e.dataOf(d)
		addCalls(e.list, before, d.calls)
		return v
	})
}

// dataOf gives the value of data; unknown if something is wrong with it, or where secrets are hidden.
func (e *expressions) dataOf(d *dataDecl) cty.Value {
	schema, ok := e.schemaOf(d)
	given := e.replacementOf(d)
	switch {
	case !ok || d.file == nil && d.value == nil:
		return cty.DynamicVal
	case d.file != nil:
		return e.fileOf(d, given, schema)
	}
	v := e.value(d.value.Expr, e.root)
	plain, sensitive := expr.Split(v)
	if given != nil {
		return e.documentOf(d, expr.File{Name: given.File, Data: given.Data, Folder: e.parts.Files.Folder(".")}, schema, sensitive)
	}
	if !plain.IsWhollyKnown() {
		return v
	}
	data, err := expr.Plain(plain)
	if err != nil {
		e.addError(err, d.value, "data holds texts, numbers, true, false, null, lists and objects")
		return cty.DynamicVal
	}
	if schema == nil {
		return v
	}
	return e.checked(d, v, schema.check(document.New(data, rangeOf(d.value.Range()))))
}

// addError reports an error of an attribute, with a hint if it has none of its own.
func (e *expressions) addError(err error, a *syntax.Attribute, hint string) {
	e.errorAt(a.Range(), cmp.Or(diag.HintOf(err), hint), "%v", err)
}

// replacementOf gives the document that stands in the place of data for this evaluation; nil: there is none.
func (e *expressions) replacementOf(d *dataDecl) (given *expr.DataFile) {
	if e.prefix != "" {
		return nil // components have data of their own
	}
	for i := range e.target.Data {
		if e.target.Data[i].Name == d.name {
			given = &e.target.Data[i]
		}
	}
	return given
}

// schemaOf gives the schema that a block names; nil: none. ok is false where that is not known.
func (e *expressions) schemaOf(d *dataDecl) (s *schemaFile, ok bool) {
	if d.schema == nil {
		return nil, true
	}
	v, ok := e.attribute(d.schema, e.root)
	plain, _ := expr.Split(v)
	if !ok || !plain.IsKnown() {
		return nil, plain.IsNull() && plain.IsKnown()
	}
	if !e.namesFile(d.schema, plain) {
		return nil, false
	}
	folder, name := e.parts.Files.Folder(".").Name(plain)
	return &schemaFile{folder, name, rangeOf(d.schema.Range())}, true
}

// namesFile reports what is no path and no source.
func (e *expressions) namesFile(a *syntax.Attribute, v cty.Value) bool {
	if expr.NamesFile(v) {
		return true
	}
	e.errorAt(a.Range(), `write the path of a file of the site: "network.yml"`, "%s is a path or a source, not %s", a.Name, expr.Kind(v))
	return false
}

// fileOf gives the value of data that is a file, or that is given in its place.
func (e *expressions) fileOf(d *dataDecl, given *expr.DataFile, schema *schemaFile) cty.Value {
	v := e.value(d.file.Expr, e.root)
	named, sensitive := expr.Split(v)
	if !named.IsKnown() {
		return v
	}
	if !e.namesFile(d.file, named) {
		return cty.DynamicVal
	}
	folder, name := e.parts.Files.Folder(".").Name(named)
	if given != nil { // a schema that it names is looked for beside what it replaces
		return e.documentOf(d, expr.File{Name: given.File, Data: given.Data, Folder: folder.Parent(name)}, schema, sensitive)
	}
	file, err := readAsDocument(folder, name)
	if err != nil {
		e.addError(err, d.file, "name a file of the site by its path")
		return cty.DynamicVal
	}
	return e.documentOf(d, file, schema, sensitive)
}

// documentOf gives the value of a document.
func (e *expressions) documentOf(d *dataDecl, file expr.File, schema *schemaFile, sensitive bool) cty.Value {
	doc, list := e.site.documents.read(file, schema)
	v := doc.value
	e.documents[d.name] = doc.node
	if sensitive {
		v = v.Mark(expr.Sensitive)
	}
	return e.checked(d, v, list)
}

// checked gives a value of which so much is wrong. What is said of one that is sensitive does not tell it.
func (e *expressions) checked(d *dataDecl, v cty.Value, list diag.List) cty.Value {
	if !list.HasErrors() {
		return v
	}
	if v.ContainsMarked() {
		e.vault.Take(map[string]cty.Value{"data." + d.name: v})
		list = hideReasons(d, list, expr.SensitiveTexts(v))
	}
	e.list.Add(list...)
	return cty.DynamicVal
}

// hideReasons leaves of what is wrong with sensitive data the places, and the reasons that quote nothing of it.
func hideReasons(d *dataDecl, list diag.List, texts []string) (out diag.List) {
	for _, wrong := range list {
		wrong.Private = true
		said := errors.New(wrong.Summary + wrong.Detail)
		if len(texts) == 0 || expr.HideReason(said, texts) != said {
			wrong.Summary = fmt.Sprintf("data.%s is sensitive, and not right here; the reason is hidden", d.name)
			wrong.Detail, wrong.Hint = "", "compare this place with the schema"
		}
		out.Add(wrong)
	}
	return out
}
