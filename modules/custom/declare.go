package custom

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// declaration is a module on its way from globals to a states.Module.
type declaration struct {
	*loader
	lib       *library
	module    *module
	places    map[string]syntax.Position // of globals
	keys      map[string]syntax.Position // of attributes
	hasErrors bool
}

func (d *declaration) fail(at diag.Range, hint, format string, args ...any) {
	d.hasErrors = true
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf(format, args...), Hint: hint, Range: at})
}

// module loads one module.
func (l *loader) module(file string) {
	name := strings.TrimSuffix(file, ".star")
	l.set.files[name] = path.Join(l.name, file)
	lib := l.load(file)
	d := &declaration{loader: l, lib: lib, places: map[string]syntax.Position{}, keys: map[string]syntax.Position{}}
	d.checkName(name)
	if lib.globals == nil {
		return
	}
	d.findPlaces()
	d.module = &module{schema: &states.Schema{Name: name}, functions: map[string]*starlark.Function{}, limits: l.options.Limits}
	d.takeText()
	d.takeAttributes()
	d.takeSettings()
	d.takeFunctions()
	d.lookAlikes()
	if d.hasErrors {
		return
	}
	d.checkKey()
	defined, err := states.DefineValues(d.module.valuesType())
	if err != nil {
		d.explain(err)
		return
	}
	d.module.schema = &defined.Schema
	l.set.modules[name] = defined
	l.set.digests[name] = digest(l.set.sources, slices.Sorted(maps.Keys(lib.uses)))
}

// checkName holds a file's name to be that of a module.
func (d *declaration) checkName(name string) {
	at := diag.Range{File: path.Join(d.name, name+".star")}
	_, universal := starlark.Universe[name]
	words := []string{
		"and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return",
		"as", "assert", "class", "del", "except", "finally", "from", "global", "import", "is", "nonlocal", "raise", "try", "while", "with", "yield",
	}
	const hint = "rename the file: a module is named like its file"
	const anew = hint + "; and its parts in the site"
	switch {
	case !isName(name):
		d.fail(at, hint, "%q cannot name a module: a name has letters, digits and _, and does not begin with a digit", name)
	case slices.Contains(states.ReservedNames(), name) || slices.Contains(states.OptionNames(), name):
		d.fail(at, anew, "%q is a word of the language, and no name for a module", name)
	case slices.Contains(words, name) || universal && (d.options.Registry == nil || d.options.Registry.Lookup(name) == nil):
		d.fail(at, hint, "%q is a word of Starlark, and no name for a module", name)
	case d.options.Registry != nil && d.options.Registry.Lookup(name) != nil:
		d.fail(at, anew, "there is a module %q already: tenet brings one along", name)
	}
}

// isName reports whether it is a name in HCL as well as in Starlark.
func isName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// findPlaces notes where the globals are declared, and the attributes.
func (d *declaration) findPlaces() {
	for _, s := range d.lib.program.File.Stmts {
		switch s := s.(type) {
		case *syntax.DefStmt:
			d.places[s.Name.Name] = s.Name.NamePos
		case *syntax.AssignStmt:
			name, ok := s.LHS.(*syntax.Ident)
			if !ok {
				continue
			}
			d.places[name.Name] = name.NamePos
			if entries, ok := s.RHS.(*syntax.DictExpr); ok && name.Name == "attributes" {
				for _, e := range entries.List {
					if key, ok := e.(*syntax.DictEntry).Key.(*syntax.Literal); ok {
						d.keys[fmt.Sprint(key.Value)] = key.TokenPos
					}
				}
			}
		}
	}
}

// globalRange gives the place of a global, or of the file.
func (d *declaration) globalRange(name string) diag.Range {
	if pos, ok := d.places[name]; ok {
		return d.lib.program.At(pos)
	}
	return d.top()
}

// top is the place of what is about the whole file.
func (d *declaration) top() diag.Range {
	return d.lib.program.At(syntax.MakePosition(&d.lib.file, 1, 1))
}

// attributeRange gives the place of an attribute.
func (d *declaration) attributeRange(name string) diag.Range {
	if pos, ok := d.keys[name]; ok {
		return d.lib.program.At(pos)
	}
	return d.globalRange("attributes")
}

// text takes a global that is a string.
func (d *declaration) text(name string) string {
	v := d.lib.globals[name]
	if v == nil || v == starlark.None {
		return ""
	}
	text, ok := starlark.AsString(v)
	if !ok {
		d.fail(d.globalRange(name), "", "%s is a string, not a value of type %s", name, v.Type())
	}
	return strings.TrimSpace(text)
}

// flag takes a global that is True or False.
func (d *declaration) flag(name string) bool {
	v := d.lib.globals[name]
	b, ok := v.(starlark.Bool)
	if v != nil && !ok {
		d.fail(d.globalRange(name), "", "%s is True or False, not a value of type %s", name, v.Type())
	}
	return bool(b)
}

func (d *declaration) takeText() {
	s := d.module.schema
	s.Doc = d.text("doc")
	if _, given := d.lib.globals["doc"]; !given {
		s.Doc = docstring(d.lib.program.File)
	}
	s.Doc = unindent(s.Doc)
	if s.Doc == "" {
		d.fail(d.top(), `begin the file with """One sentence that says what it manages."""`, "the module has no documentation")
	}
	s.Example = d.text("example")
}

// docstring is the text that a file begins with.
func docstring(f *syntax.File) string {
	if len(f.Stmts) == 0 {
		return ""
	}
	s, _ := f.Stmts[0].(*syntax.ExprStmt)
	if s == nil {
		return ""
	}
	literal, _ := s.X.(*syntax.Literal)
	if literal == nil {
		return ""
	}
	text, _ := literal.Value.(string)
	return strings.TrimSpace(text)
}

// unindent joins the lines of each paragraph, as documentation has them.
func unindent(text string) string {
	var paragraphs []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if words := strings.Fields(p); len(words) > 0 {
			paragraphs = append(paragraphs, strings.Join(words, " "))
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

func (d *declaration) takeAttributes() {
	v := d.lib.globals["attributes"]
	dict, ok := v.(*starlark.Dict)
	if !ok {
		const hint = `write attributes = {"name": attr("string", key = True, doc = "…")}`
		if v == nil {
			d.fail(d.top(), hint, "the module has no attributes")
		} else {
			d.fail(d.globalRange("attributes"), hint, "attributes is a dict, not a value of type %s", v.Type())
		}
		return
	}
	for _, item := range dict.Items() {
		name, _ := starlark.AsString(item[0])
		a, ok := item[1].(*attribute)
		if !ok {
			d.fail(d.attributeRange(name), `write attr("string", doc = "…")`, "attribute %s is declared by attr, not by a value of type %s", item[0], item[1].Type())
			continue
		}
		for _, m := range a.mistakes {
			d.fail(d.lib.program.At(a.at), m.hint, "attribute %q: %s", name, m.summary)
		}
		declared := a.Attribute
		declared.Name, declared.Doc = name, unindent(a.Doc)
		d.module.schema.Attributes = append(d.module.schema.Attributes, declared)
	}
}

// explain gives the mistakes that DefineValues found their places.
func (d *declaration) explain(err error) {
	var all []error
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		all = several.Unwrap()
	} else {
		all = []error{err}
	}
	for _, err := range all {
		var attribute *states.AttributeError
		var nested interface{ Unwrap() []error }
		switch {
		case errors.As(err, &nested):
			d.explain(err)
		case errors.As(err, &attribute):
			d.fail(d.attributeRange(attribute.Attribute), attribute.Hint, "attribute %q: %s", attribute.Attribute, attribute.Message)
		default:
			d.fail(d.top(), "", "%v", err)
		}
	}
}
