package reference

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// Schema is a JSON Schema, of the draft 2020-12.
type Schema map[string]any

const dialect = "https://json-schema.org/draft/2020-12/schema"

// templateSchema fits a string that is a template: it may give any type.
func templateSchema() Schema { return Schema{"type": "string", "pattern": `[$%]\{`} }

// orTemplate fits what the schema does, or a template in its place.
func orTemplate(s Schema) Schema { return Schema{"anyOf": []any{s, templateSchema()}} }

// SiteSchema is the schema of state files in HCL's JSON syntax (*.hcl.json), for
// editors.
func SiteSchema(registry *states.Registry) Schema {
	g := &schemas{shapes: syntax.NewShapes(registry), defs: Schema{}, docs: map[string]string{}, options: map[string]expr.OptionDoc{}}
	for _, w := range syntax.KeywordDocs() {
		g.docs[w.Name] = w.Doc
		for _, a := range w.Attributes {
			g.docs[w.Name+"."+a.Name] = a.Doc
		}
	}
	for _, o := range expr.OptionDocs() {
		g.options[o.Name] = o
	}
	root := g.body("site file", g.shapes.Root, nil)
	root["$schema"], root["title"] = dialect, "A state file of tenet"
	root["$defs"] = g.defs
	return root
}

// ModuleSchema is the schema of the attributes of a type of part.
func ModuleSchema(m *states.Schema) Schema {
	out := Schema{"$schema": dialect, "title": m.Name, "description": m.Doc, "type": "object", "additionalProperties": false}
	properties, required := Schema{}, []any{}
	for _, a := range m.Attributes {
		if a.Out {
			continue
		}
		properties[a.Name] = attributeSchema(a)
		if a.Required && !a.Key {
			required = append(required, a.Name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func attributeSchema(a states.Attribute) Schema {
	list := Schema{"type": "array", "items": Schema{"type": "string"}}
	s := Schema{"type": "string"}
	switch a.Kind {
	case states.KindBool:
		s = Schema{"type": "boolean"}
	case states.KindInt:
		s = Schema{"type": "integer"}
	case states.KindNumber:
		s = Schema{"type": "number"}
	case states.KindMode:
		s = Schema{"type": "string", "pattern": "^[0-7]{3,4}$"}
	case states.KindList:
		s = list
	case states.KindSet:
		list["uniqueItems"] = true
		s = list
	case states.KindMap:
		s = Schema{"type": "object", "additionalProperties": Schema{"type": []any{"string", "number", "boolean"}}}
	case states.KindAny, states.KindCondition:
		s = Schema{}
	}
	if len(a.Enum) > 0 {
		s["enum"] = a.Enum
	}
	if len(s) > 0 {
		s = nullable(orTemplate(s))
	}
	s["description"] = a.Doc
	if a.Default != nil {
		s["default"] = a.Default
	}
	return s
}

// InputSchema is the schema of a component's inputs: its vars.
func InputSchema(title string, variables []lang.VariableDoc) Schema {
	out := Schema{"$schema": dialect, "title": title, "type": "object", "additionalProperties": false}
	properties, required := Schema{}, []any{}
	for _, v := range variables {
		s := TypeSchema(v.Type)
		if v.Description != "" {
			s["description"] = v.Description
		}
		properties[v.Name] = s
		if v.Required {
			required = append(required, v.Name)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// TypeSchema is the schema of the values of a type. Strings, numbers and bools
// are taken for each other where they say the same, as the language does.
func TypeSchema(t cty.Type) Schema {
	switch {
	case t == cty.String:
		return Schema{"type": []any{"string", "number", "boolean"}}
	case t == cty.Number:
		return Schema{"type": []any{"number", "string"}, "pattern": `^-?[0-9]|[$%]\{`}
	case t == cty.Bool:
		return Schema{"anyOf": []any{Schema{"type": "boolean"}, Schema{"enum": []any{"true", "false"}}, templateSchema()}}
	case t.IsListType():
		return orTemplate(Schema{"type": "array", "items": TypeSchema(t.ElementType())})
	case t.IsSetType():
		return orTemplate(Schema{"type": "array", "items": TypeSchema(t.ElementType())})
	case t.IsMapType():
		return orTemplate(Schema{"type": "object", "additionalProperties": TypeSchema(t.ElementType())})
	case t.IsTupleType():
		var items []any
		for _, e := range t.TupleElementTypes() {
			items = append(items, TypeSchema(e))
		}
		return orTemplate(Schema{"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)})
	case t.IsObjectType():
		properties, required := Schema{}, []any{}
		for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
			properties[name] = nullable(TypeSchema(t.AttributeType(name)))
			if !t.AttributeOptional(name) {
				required = append(required, name)
			}
		}
		s := Schema{"type": "object", "properties": properties}
		if len(required) > 0 {
			s["required"] = required
		}
		return orTemplate(s)
	}
	return Schema{}
}

// nullable fits null as well.
func nullable(s Schema) Schema {
	if len(s) == 0 {
		return s
	}
	return Schema{"anyOf": []any{s, Schema{"type": "null"}}}
}
