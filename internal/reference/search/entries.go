package search

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/foreign"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/states"
)

// Entries gives all that can be found in the language, in the modules of a registry and in pages.
func Entries(registry *states.Registry, components []reference.NamedComponent) []Entry {
	var all []Entry
	for _, w := range syntax.KeywordDocs() {
		all = append(all, Entry{Kind: "keyword", Name: w.Name, Summary: first(w.Doc), Read: "tenet doc keywords " + w.Name, Text: w.Doc + " " + w.Usage})
		for _, a := range w.Attributes {
			if a.Name != strings.ToUpper(a.Name) { // TYPE stands for any
				all = append(all, Entry{Kind: "attribute", Name: w.Name + "." + a.Name, Summary: first(a.Doc), Read: "tenet doc keywords " + w.Name, Text: a.Doc})
			}
		}
	}
	for _, o := range expr.OptionDocs() {
		all = append(all, Entry{Kind: "option", Name: o.Name, Summary: first(o.Doc), Read: "tenet doc options " + o.Name, Text: o.Doc})
	}
	all = append(all, ofModules(registry)...)
	for _, f := range lang.Functions() {
		all = append(all, Entry{Kind: "function", Name: f.Name, Summary: strings.TrimSuffix(f.Signature, " ") + ": " + f.Doc, Read: "tenet doc functions " + f.Name})
	}
	for _, f := range facts.Docs() {
		all = append(all, Entry{Kind: "fact", Name: "fact." + f.Name, Summary: first(f.Doc), Read: "tenet doc facts", Text: f.Doc})
	}
	return slices.Concat(all, ofComponents(components), ofPages(), ofOthers(), messages())
}

func ofModules(registry *states.Registry) []Entry {
	var all []Entry
	for _, name := range registry.Names() {
		schema := registry.Lookup(name).Schema
		read := "tenet doc modules " + name
		all = append(all, Entry{Kind: "module", Name: name, Summary: first(schema.Doc), Read: read, Text: schema.Doc})
		for i := range schema.Attributes {
			a := &schema.Attributes[i]
			all = append(all, Entry{Kind: "attribute", Name: name + "." + a.Name, Summary: first(a.Doc), Read: read, Text: a.Doc})
		}
	}
	return all
}

func ofComponents(components []reference.NamedComponent) []Entry {
	var all []Entry
	for _, c := range components {
		summary, rest := reference.Summary(c.Source, c.Text)
		all = append(all, Entry{Kind: "component", Name: c.Source, Summary: first(summary), Read: "tenet doc " + c.Source, Text: rest})
		for _, v := range c.Variables {
			all = append(all, Entry{Kind: "input", Name: c.Source + " " + v.Name, Summary: first(v.Description), Read: "tenet doc " + c.Source, Text: v.Description})
		}
	}
	return all
}

// ofOthers gives the words of other tools, with what is written in their place.
func ofOthers() []Entry {
	var all []Entry
	for _, table := range [][]foreign.Word{foreign.Blocks(), foreign.Attributes(), foreign.Values(), foreign.Functions(), foreign.Types(), foreign.Commands()} {
		for _, w := range table {
			if w.Of == "" {
				continue
			}
			name := w.Name
			if w.On != "" && w.On != "part" {
				name = w.On + "." + name
			}
			if w.Value != "" {
				name += " = " + w.Value
			}
			all = append(all, Entry{Kind: "word", Name: name, Of: w.Of, Summary: w.Write, Text: w.Of})
		}
	}
	return all
}

// first gives the first sentence of a text.
func first(text string) string {
	text = strings.Join(strings.Fields(strings.SplitN(text, "\n\n", 2)[0]), " ")
	if before, _, ok := strings.Cut(text, ". "); ok && !strings.HasSuffix(before, "e.g") {
		return before + "."
	}
	return text
}
