package lang_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang"
)

// A model is a site that can be written in both languages.
type model struct {
	files []modelFile
}

type modelFile struct{ declarations []modelDeclaration }

type modelDeclaration struct {
	kind    string // "state", "run", "block", or the type of a part
	name    string
	attrs   []modelAttr
	parts   []modelDeclaration // of a state
	params  []modelAttr        // of a state: defaults
	keys    []string           // instances
	members []string           // of a block: addresses
}

// modelAttr is an attribute: a value, addresses, or the name of a param.
type modelAttr struct {
	name  string
	value any
	refs  []string
	param string
}

// text draws text with all that has to be escaped somewhere.
func modelText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "Z", "0", " ", "\"", "\\", "\n", "\t", "\r", "${x}", "%{y}", "$", "%",
		"'", "#", "é", "漢", "😀", "\u0001", "{", "}", "%s", "\\n"}), 0, 8).Draw(t, label), "")
}

// modelValue draws a value of any type.
func modelValue(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return modelText(t, "text")
	case 1:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "-7", "1.5", "0.1", "1e3", "-2.5e-3", "123456789012345678901234567890", "1e21", "0.30000000000000004"}).Draw(t, "number"))
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		return json.Number(fmt.Sprint(rapid.Int64().Draw(t, "int")))
	case 5:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = modelValue(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		object[modelText(t, "key")] = modelValue(t, depth-1)
	}
	return object
}

// drawModel draws a site. References go to what comes before, so that there are
// no cycles.
func drawModel(t *rapid.T) model {
	var m model
	var known []string // addresses that can be required
	var withParams []modelDeclaration
	number := 0
	for range rapid.IntRange(1, 3).Draw(t, "files") {
		var f modelFile
		for range rapid.IntRange(1, 5).Draw(t, "declarations") {
			number++
			d := modelDeclaration{name: fmt.Sprintf("n%d", number)}
			switch rapid.SampledFrom([]string{"state", "state", "run", "block", "part", "part", "part"}).Draw(t, "declaration") {
			case "state":
				d.kind = "state"
				drawState(t, &d, known)
				if len(d.params) > 0 {
					withParams = append(withParams, d)
				}
			case "run":
				if len(withParams) == 0 {
					continue
				}
				d.kind = "run"
				state := rapid.SampledFrom(withParams).Draw(t, "state")
				params := map[string]any{}
				for _, p := range state.params {
					if rapid.Bool().Draw(t, "given") {
						params[p.name] = modelValue(t, 1)
					}
				}
				d.attrs = []modelAttr{{name: "state", refs: []string{"state." + state.name}}, {name: "params", value: params}}
				// A run that requires something may require itself, by its state.
				d.attrs = append(d.attrs, drawOptions(t, nil)...)
			case "block":
				if len(known) == 0 {
					continue
				}
				d.kind = "block"
				d.members = []string{rapid.SampledFrom(known).Draw(t, "member")}
			default:
				d.kind = "command"
				d.attrs = append(drawAttributes(t, nil, number), drawOptions(t, known)...)
				if rapid.IntRange(0, 3).Draw(t, "loop") == 0 {
					d.keys = []string{"b", "a", "c d"}[:rapid.IntRange(1, 3).Draw(t, "keys")]
				}
			}
			known = append(known, d.kind+"."+d.name)
			f.declarations = append(f.declarations, d)
		}
		m.files = append(m.files, f)
	}
	return m
}

func drawState(t *rapid.T, d *modelDeclaration, known []string) {
	d.attrs = drawOptions(t, known)
	if rapid.Bool().Draw(t, "lazy") {
		d.attrs = append(d.attrs, modelAttr{name: "lazy", value: true})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "params") {
		d.params = append(d.params, modelAttr{name: fmt.Sprintf("p%d", i), value: modelValue(t, 1)})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "parts") {
		p := modelDeclaration{kind: "command", name: fmt.Sprintf("x%d", i), attrs: drawAttributes(t, d.params, i)}
		if i > 0 && rapid.Bool().Draw(t, "self") {
			p.attrs = append(p.attrs, modelAttr{name: "require", refs: []string{"self.command.x0"}})
		}
		d.parts = append(d.parts, p)
	}
}

func drawAttributes(t *rapid.T, params []modelAttr, number int) []modelAttr {
	argv := []any{fmt.Sprintf("run%d", number)}
	for range rapid.IntRange(0, 2).Draw(t, "arguments") {
		argv = append(argv, modelText(t, "argument"))
	}
	attrs := []modelAttr{{name: "argv", value: argv}}
	if len(params) > 0 {
		attrs = append(attrs, modelAttr{name: "env", param: rapid.SampledFrom(params).Draw(t, "param").name})
	} else if rapid.Bool().Draw(t, "env") {
		attrs = append(attrs, modelAttr{name: "env", value: modelValue(t, 2)})
	}
	return attrs
}

func drawOptions(t *rapid.T, known []string) (attrs []modelAttr) {
	if len(known) > 0 && rapid.Bool().Draw(t, "requires") {
		refs := rapid.SliceOfN(rapid.SampledFrom(known), 1, 3).Draw(t, "require")
		attrs = append(attrs, modelAttr{name: "require", refs: refs})
	}
	if rapid.IntRange(0, 3).Draw(t, "tagged") == 0 {
		attrs = append(attrs, modelAttr{name: "tags", value: []any{"b", "a"}})
	}
	if rapid.IntRange(0, 4).Draw(t, "when") == 0 {
		attrs = append(attrs, modelAttr{name: "description", value: modelText(t, "description")})
	}
	return attrs
}

// The languages as a model is written in them.
type dialect struct {
	yes, no, null, pair string
	escape              func(string) string
}

func quoteText(s string, more ...string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteString("\\" + string(r))
		case r == '\n':
			out.WriteString(`\n`)
		case r < ' ':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return strings.NewReplacer(more...).Replace(out.String()) + `"`
}

func hclText(s string) string  { return quoteText(s, "${", "$${", "%{", "%%{") }
func starText(s string) string { return quoteText(s) }

func (d dialect) write(v any) string {
	switch v := v.(type) {
	case nil:
		return d.null
	case bool:
		if v {
			return d.yes
		}
		return d.no
	case json.Number:
		return v.String()
	case string:
		return d.escape(v)
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, d.write(e))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case map[string]any:
		var list []string
		for key, e := range v { // in any order
			list = append(list, d.escape(key)+d.pair+d.write(e))
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	panic(fmt.Sprintf("%T", v))
}

func (m model) hcl() fstest.MapFS {
	d := dialect{yes: "true", no: "false", null: "null", pair: " = ", escape: hclText}
	site := fstest.MapFS{}
	for i, f := range m.files {
		var b strings.Builder
		for _, decl := range f.declarations {
			d.hclBlock(&b, decl, "")
		}
		site[fmt.Sprintf("f%d.hcl", i)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return site
}

func (d dialect) hclBlock(b *strings.Builder, decl modelDeclaration, indent string) {
	fmt.Fprintf(b, "%s%s %q {\n", indent, decl.kind, decl.name)
	if len(decl.members) > 0 {
		fmt.Fprintf(b, "%s  members = [%s]\n", indent, strings.Join(decl.members, ", "))
	}
	if len(decl.keys) > 0 {
		fmt.Fprintf(b, "%s  for_each = {", indent)
		for _, key := range decl.keys {
			fmt.Fprintf(b, "%q = 1,", key)
		}
		fmt.Fprintf(b, "}\n")
	}
	for _, p := range decl.params {
		fmt.Fprintf(b, "%s  param %q {\n    default = %s\n  }\n", indent, p.name, d.write(p.value))
	}
	for _, a := range decl.attrs {
		value := d.write(a.value)
		switch {
		case a.refs != nil && a.name == "state":
			value = a.refs[0]
		case a.refs != nil:
			value = "[" + strings.Join(a.refs, ", ") + "]"
		case a.param != "":
			value = "{ V = jsonencode(param." + a.param + ") }"
		case a.name == "env":
			value = "{ V = jsonencode(" + value + ") }"
		}
		fmt.Fprintf(b, "%s  %s = %s\n", indent, a.name, value)
	}
	for _, p := range decl.parts {
		d.hclBlock(b, p, indent+"  ")
	}
	fmt.Fprintf(b, "%s}\n", indent)
}

func (m model) star() fstest.MapFS {
	d := dialect{yes: "True", no: "False", null: "None", pair: ": ", escape: starText}
	site := fstest.MapFS{}
	for i, f := range m.files {
		var b strings.Builder
		for _, decl := range f.declarations {
			d.starCall(&b, decl)
		}
		site[fmt.Sprintf("f%d.star", i)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return site
}

// starCall writes a declaration. Even ones are written as loops and functions,
// as people do.
func (d dialect) starCall(b *strings.Builder, decl modelDeclaration) {
	if len(decl.keys) > 0 {
		var keys []string
		for _, key := range decl.keys {
			keys = append(keys, fmt.Sprintf("%q", key))
		}
		fmt.Fprintf(b, "for key in [%s]:\n    %s(%q, instance = key%s)\n", strings.Join(keys, ", "), decl.kind, decl.name, d.starAttrs(decl.attrs, nil))
		return
	}
	arguments := ""
	switch {
	case decl.kind == "state" && len(decl.params) > 0:
		var params []string
		for _, p := range decl.params {
			params = append(params, p.name+" = "+d.write(p.value))
		}
		fmt.Fprintf(b, "def make_%s(%s):\n%s", decl.name, strings.Join(params, ", "), d.starParts(decl, "    "))
		fmt.Fprintf(b, "    return [%s]\n\n", strings.Join(partNames(decl), ", "))
		arguments = ", make_" + decl.name
	case decl.kind == "state":
		b.WriteString(d.starParts(decl, ""))
		arguments = ", [" + strings.Join(partNames(decl), ", ") + "]"
	case len(decl.members) > 0:
		arguments = fmt.Sprintf(", ref(%q)", decl.members[0])
	}
	fmt.Fprintf(b, "%s(%q%s%s)\n", decl.kind, decl.name, arguments, d.starAttrs(decl.attrs, nil))
}

func partNames(decl modelDeclaration) (names []string) {
	for _, p := range decl.parts {
		names = append(names, p.name)
	}
	return names
}

func (d dialect) starParts(decl modelDeclaration, indent string) string {
	var b strings.Builder
	for _, p := range decl.parts {
		fmt.Fprintf(&b, "%s%s = %s(%q%s)\n", indent, p.name, p.kind, p.name, d.starAttrs(p.attrs, decl.parts))
	}
	return b.String()
}

func (d dialect) starAttrs(attrs []modelAttr, parts []modelDeclaration) string {
	text := ""
	for _, a := range slices.Backward(attrs) { // their order means nothing
		value := d.write(a.value)
		switch {
		case a.refs != nil && a.name == "state":
			value = fmt.Sprintf("ref(%q)", a.refs[0])
		case a.refs != nil && parts != nil:
			value = parts[0].name // self
		case a.refs != nil:
			var refs []string
			for _, r := range a.refs {
				refs = append(refs, fmt.Sprintf("ref(%q)", r))
			}
			value = "[" + strings.Join(refs, ", ") + "]"
		case a.param != "":
			value = `{"V": jsonencode(` + a.param + `)}`
		case a.name == "env":
			value = `{"V": jsonencode(` + value + `)}`
		}
		text += ", " + a.name + " = " + value
	}
	return text
}

// TestRandomPairs writes random sites in both languages, and demands the same
// bytes.
func TestRandomPairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := drawModel(rt)
		target := lang.Target{Host: "h", Facts: pairFacts(nil)}
		hcl, star := run(rt, m.hcl(), target), run(rt, m.star(), target)
		if hcl != star {
			rt.Fatalf("%s\n%s\n%s", firstDifference(hcl, star), sourcesOf(m.hcl()), sourcesOf(m.star()))
		}
	})
}

func sourcesOf(site fstest.MapFS) string {
	text := ""
	for i := range len(site) {
		for _, ending := range []string{".hcl", ".star"} {
			if f := site[fmt.Sprintf("f%d%s", i, ending)]; f != nil {
				text += string(f.Data)
			}
		}
	}
	return text
}
