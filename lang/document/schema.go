package document

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tenetcm/tenet/lang/diag"
)

// schemaRoot is what the names of schemas stand behind, so that a relative $ref is one to a file beside them.
const schemaRoot = "file:///"

// Schema is a JSON Schema (draft 2020-12 or draft 7), which is itself a document in any of the formats.
type Schema struct {
	name     string
	compiled *jsonschema.Schema
}

// ReadSchema reads a schema and those that it refers to, all in its folder or below. read gives the content of a file by its name.
func ReadSchema(name string, read func(name string) ([]byte, error)) (*Schema, diag.List) {
	l := &schemaLoader{dir: path.Dir(name), read: read, documents: map[string]*Node{}}
	c := jsonschema.NewCompiler()
	c.UseLoader(l)
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	compiled, err := c.Compile(schemaURL(name))
	if err == nil {
		return &Schema{name, compiled}, nil
	}
	return nil, l.explain(name, err)
}

func schemaURL(name string) string { return (&url.URL{Scheme: "file", Path: "/" + name}).String() }

// schemaLoader loads schemas from one folder.
type schemaLoader struct {
	dir       string
	read      func(name string) ([]byte, error)
	documents map[string]*Node // by their names
	list      diag.List        // of what is wrong with documents
}

// errReported stands for what is in the loader's list.
var errReported = errors.New("it cannot be read")

// Load is jsonschema.URLLoader's.
func (l *schemaLoader) Load(address string) (any, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(u.Path, "/")
	if u.Scheme != "file" || u.Host != "" || name != path.Clean(name) || l.dir != "." && !strings.HasPrefix(name, l.dir+"/") {
		return nil, fmt.Errorf("a $ref stays in the schema's folder, and %s is not there", strings.TrimPrefix(address, schemaRoot))
	}
	data, err := l.read(name)
	if err != nil {
		return nil, err
	}
	n, list := Read(name, data)
	if list.HasErrors() {
		l.list = append(l.list, list...)
		return nil, errReported
	}
	l.documents[name] = n
	if d := draftOf(n); d != "" {
		return nil, fmt.Errorf("it is a schema of %s; tenet has drafts 2020-12 and 7", d)
	}
	return n.Plain(), nil
}

// draftOf gives the draft that a schema names, if it is none that is allowed.
func draftOf(n *Node) string {
	f := n.Field("$schema")
	if f == nil {
		return ""
	}
	text, _ := f.Value.Value.(string)
	switch strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://"), "#") {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft-07/schema":
		return ""
	}
	return fmt.Sprintf("%q", text)
}

// explain says what is wrong with a schema.
func (l *schemaLoader) explain(name string, err error) diag.List {
	if len(l.list) > 0 {
		return l.list
	}
	var list diag.List
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		file := strings.TrimPrefix(strings.SplitN(invalid.URL, "#", 2)[0], schemaRoot)
		if violation, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok && l.documents[file] != nil {
			for _, v := range violations(violation) {
				list.Add(v.diagnostic(l.documents[file], "this is no JSON Schema", ""))
			}
			return list
		}
	}
	why := err
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		why = load.Err
		if file := strings.TrimPrefix(load.URL, schemaRoot); file != name {
			why = fmt.Errorf("%s: %w", file, load.Err)
		}
	}
	at := diag.Range{File: name}
	if n := l.documents[name]; n != nil {
		at = n.Range
	}
	list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the schema %s cannot be used", name), Detail: strings.ReplaceAll(why.Error(), schemaRoot, "") + ".", Range: at,
		Hint: "a schema is one of JSON Schema 2020-12 or 7, with all that it refers to in its folder"})
	return list
}

// Check says where a document is not as the schema wants it. Nothing is filled in.
func (s *Schema) Check(n *Node) diag.List {
	var list diag.List
	err := s.compiled.Validate(n.Plain())
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the schema %s cannot be applied", s.name), Detail: err.Error() + ".", Range: n.Range, Hint: "look at the schema"})
		return list
	}
	for _, v := range violations(invalid) {
		list.Add(v.diagnostic(n, "", s.name))
	}
	slices.SortStableFunc(list, func(a, b diag.Diagnostic) int { return a.Range.Start.Byte - b.Range.Start.Byte })
	return list
}

// violation is one thing that a schema refuses.
type violation struct {
	path  []string
	field string // a field of it that should not be there
	text  string
	where string // in the schema
}

// violations gives what is behind a refusal. Of alternatives none of which fits there is one, with what each of them wants.
func violations(e *jsonschema.ValidationError) []violation {
	p := message.NewPrinter(language.English)
	where := strings.TrimPrefix(e.SchemaURL, schemaRoot)
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) == 0 {
			break
		}
		var parts []string
		for _, c := range e.Causes {
			var wants []string
			for _, v := range violations(c) {
				text := v.text
				if below := v.path[min(len(e.InstanceLocation), len(v.path)):]; len(below) > 0 {
					text = strings.Join(below, ".") + ": " + text
				}
				wants = append(wants, text)
			}
			parts = append(parts, strings.Join(wants, " and "))
		}
		return []violation{{path: e.InstanceLocation, text: "none of the alternatives fits: " + strings.Join(parts, "; or "), where: where}}
	case *kind.AdditionalProperties:
		var list []violation
		for _, name := range k.Properties {
			list = append(list, violation{path: e.InstanceLocation, field: name, text: fmt.Sprintf("there is no field %q here", name), where: where})
		}
		return list
	}
	if len(e.Causes) == 0 {
		return []violation{{path: e.InstanceLocation, text: e.ErrorKind.LocalizedString(p), where: where}}
	}
	var list []violation
	for _, c := range e.Causes {
		list = append(list, violations(c)...)
	}
	return list
}

// diagnostic says it at its place in a document.
func (v violation) diagnostic(n *Node, summary, schema string) diag.Diagnostic {
	at := n.At(v.path)
	place := at.Range
	if f := at.Field(v.field); v.field != "" && f != nil {
		place = f.Range
	} else if at.Kind != Scalar && len(v.path) > 0 { // of a map its name is shown, and not all of it
		if f := n.At(v.path[:len(v.path)-1]).Field(v.path[len(v.path)-1]); f != nil {
			place = f.Range
		}
	}
	text := v.text
	if len(v.path) > 0 {
		text = strings.Join(v.path, ".") + ": " + text
	}
	d := diag.Diagnostic{Summary: text, Range: place}
	if summary != "" {
		d.Summary, d.Detail, d.Hint = summary, text+".", "write it as the draft wants it that the schema names: 2020-12, if it names none"
	}
	if schema != "" {
		d.Detail, d.Hint = "The schema "+v.where+" wants it otherwise.", "write it as the schema wants it, or change the schema"
	}
	return d
}
