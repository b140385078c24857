package reference

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// schemas makes the schema of a site. Each kind of body is a definition of its
// own.
type schemas struct {
	shapes  *syntax.Shapes
	defs    Schema
	docs    map[string]string // of keywords, and of their attributes
	options map[string]expr.OptionDoc
}

// body is the schema of a body: its attributes, and the blocks in it.
func (g *schemas) body(keyword string, in *syntax.Shape, module *states.Module) Schema {
	properties := Schema{"//": Schema{"description": "A comment."}}
	for _, name := range in.Attributes {
		properties[name] = g.attribute(keyword, name, in)
		if _, ok := g.options[name]; ok && g.docs[keyword+"."+name] == "" {
			properties[name] = g.define("option."+name, func() Schema { return g.attribute(keyword, name, in) })
		}
	}
	if module != nil {
		for _, a := range module.Attributes {
			if !a.Out {
				properties[a.Name] = g.define("attribute."+module.Name+"."+a.Name, func() Schema { return attributeSchema(a) })
			}
		}
	}
	for _, name := range g.shapes.BlockNames(in) {
		s := g.block(in, name)
		if slices.Contains(in.Either, name) {
			if as := properties[name]; as != nil {
				s = Schema{"anyOf": []any{s, as}}
			}
		}
		properties[name] = s
	}
	if in.Parts {
		properties["parts"] = g.define("parts_of."+letters().ReplaceAllString(in.Word(), "_"), func() Schema { return g.parts(in) })
	}
	out := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	switch {
	case in == g.shapes.Locals:
		out["additionalProperties"] = true
	case module != nil:
		out["description"] = module.Doc
	case g.docs[keyword] != "":
		out["description"] = g.docs[keyword]
	}
	return out
}

var letters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z]+`) })

// ref gives a reference to the definition of a block's body.
func (g *schemas) ref(in *syntax.Shape, name string) Schema {
	inside, _ := g.shapes.BlockOf(in, name)
	module := g.shapes.Registry.Lookup(name)
	if _, keyword := in.Blocks[name]; keyword {
		module = nil
	}
	id := letters().ReplaceAllString(inside.Word(), "_") + "." + name
	if inside == g.shapes.TopPart {
		id = "top_" + id
	}
	if _, known := g.defs[id]; !known {
		g.defs[id] = Schema{} // for those that hold themselves
		g.defs[id] = g.body(name, inside, module)
	}
	return Schema{"$ref": "#/$defs/" + id}
}

// define keeps a schema as a definition, and gives a reference to it.
func (g *schemas) define(id string, make func() Schema) Schema {
	if _, known := g.defs[id]; !known {
		g.defs[id] = make()
	}
	return Schema{"$ref": "#/$defs/" + id}
}

// block is the schema of a property that stands for blocks of a type: one, or
// several in an array, below their label if they have one.
func (g *schemas) block(in *syntax.Shape, name string) Schema {
	body := g.ref(in, name)
	id, _ := body["$ref"].(string)
	return g.define("blocks_of."+strings.TrimPrefix(id, "#/$defs/"), func() Schema { return g.blocks(in, name, body) })
}

func (g *schemas) blocks(in *syntax.Shape, name string, body Schema) Schema {
	_, labels := g.shapes.BlockOf(in, name)
	several := Schema{"anyOf": []any{body, Schema{"type": "array", "items": body}}}
	for range labels {
		labelled := Schema{"type": "object", "additionalProperties": several, "properties": Schema{"//": Schema{}}}
		several = Schema{"anyOf": []any{labelled, Schema{"type": "array", "items": labelled}}}
	}
	if doc := g.docs[name]; doc != "" {
		several["description"] = doc
	} else if o, ok := g.options[name]; ok {
		several["description"] = o.Doc
	}
	return several
}

// parts is the schema of parts in their order: objects with one property, whose
// value has one label.
func (g *schemas) parts(in *syntax.Shape) Schema {
	properties := Schema{"//": Schema{}}
	for _, name := range g.shapes.BlockNames(in) {
		_, labels := g.shapes.BlockOf(in, name)
		s := g.ref(in, name)
		if labels == 1 {
			s = Schema{"type": "object", "additionalProperties": s, "properties": Schema{"//": Schema{}}, "minProperties": 1, "maxProperties": 2}
		}
		properties[name] = s
	}
	return Schema{"type": "array", "description": "Parts in their order: an object for each, with its type, its label and its attributes.",
		"items": Schema{"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1, "maxProperties": 2}}
}

// attribute is the schema of an attribute of a keyword, or of an option.
func (g *schemas) attribute(keyword, name string, in *syntax.Shape) Schema {
	doc := g.docs[keyword+"."+name]
	text, list := Schema{"type": "string"}, Schema{"type": "array"}
	s := Schema{}
	switch {
	case slices.Contains(in.Refs, name):
		s = Schema{"anyOf": []any{text, list}}
	case name == "ensure":
		s = orTemplate(Schema{"enum": []any{"present", "absent"}})
	case slices.Contains([]string{"ordered", "recovered", "prune", "merge", "nullable", "lazy", "defer", "parallel", "ignore_failure"}, name):
		s = orTemplate(Schema{"type": "boolean"})
	case name == "retain":
		s = orTemplate(Schema{"anyOf": []any{Schema{"type": "boolean"}, Schema{"type": "integer", "minimum": 1}}})
	case slices.Contains([]string{"tags", "lock", "roles", "command", "ssh_options"}, name):
		s = Schema{"anyOf": []any{list, templateSchema()}}
	case slices.Contains([]string{"source", "file", "schema", "description", "timeout", "exists", "missing", "address", "executor", "user", "error_message", "requires_version", "name", "order", "pause", "become_method"}, name):
		s = text
	case name == "ignore":
		s = Schema{"type": "array", "items": text}
	case name == "params" || name == "vars" || name == "retry" || name == "confirm":
		s = orTemplate(Schema{"type": "object"})
	}
	s = nullable(s)
	if o, ok := g.options[name]; ok && doc == "" {
		doc = o.Doc
	}
	if doc != "" {
		s["description"] = doc
	}
	return s
}
