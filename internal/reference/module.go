package reference

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/states"
)

// Modules is the index of the types of parts; tested says how each of them is
// tested, if that is known.
func Modules(registry *states.Registry, tested map[string]string) Page {
	p := Page{Title: "Modules", Summary: "A module is a type of part: `TYPE \"LABEL\" { … }`. The key attribute defaults to the label. Every part takes [options](../options.md) besides."}
	t := &Table{Head: []string{"module", ""}}
	if tested != nil {
		t.Head = append(t.Head, "tested")
	}
	for _, name := range registry.Names() {
		summary, _, _ := strings.Cut(registry.Lookup(name).Doc, "\n")
		row := []string{fmt.Sprintf("[%s](%s.md)", name, name), summary}
		if tested != nil {
			row = append(row, tested[name])
		}
		t.Rows = append(t.Rows, row)
	}
	p.add("", Block{Table: t})
	return p
}

// Module is the page of one type of part; notes are added to its own.
func Module(m *states.Schema, notes ...string) Page {
	summary, rest, _ := strings.Cut(m.Doc, "\n")
	p := Page{Title: m.Name, Summary: summary}
	p.add("", Block{Code: m.Example}, Block{Text: rest}) // of a custom module, none need be there
	attributes := func(title string, of func(states.Attribute) bool) {
		t := &Table{Head: []string{"attribute", "type", ""}}
		for _, a := range m.Attributes {
			if of(a) {
				t.Rows = append(t.Rows, []string{code(a.Name), kind(a), attribute(a)})
			}
		}
		if len(t.Rows) > 0 {
			p.add(title, Block{Table: t})
		}
	}
	attributes("Attributes", func(a states.Attribute) bool { return !a.In && !a.Out || a.Kind.FromSite() })
	attributes("How it is done", func(a states.Attribute) bool { return a.In && !a.Kind.FromSite() })
	attributes("Observed", func(a states.Attribute) bool { return a.Out })
	p.add("Notes", Block{List: append(moduleNotes(m), notes...)})
	return p
}

func moduleNotes(m *states.Schema) []string {
	var notes []string
	if m.NoAbsent != "" {
		notes = append(notes, "It cannot be absent. "+m.NoAbsent)
	} else {
		notes = append(notes, "It can be absent: `ensure = \"absent\"`.")
	}
	if m.Handler {
		notes = append(notes, "At the top level of a site it is a handler: it runs only when it is notified, or required.")
	}
	switch {
	case len(m.Locks) > 0 && strings.Contains(m.Locks[0], "%s"):
		what, _, _ := strings.Cut(m.Locks[0], "%s")
		notes = append(notes, "Parts on the same "+strings.TrimRight(what, " /")+", of whatever type, never act at the same time.")
	case len(m.Locks) > 0:
		notes = append(notes, "Parts of this type never act at the same time.")
	}
	if m.Root {
		notes = append(notes, "Only root may do this.")
	}
	if m.Retry != nil {
		notes = append(notes, fmt.Sprintf("It is tried %d times, first after %s, unless the part says otherwise.", m.Retry.Attempts, m.Retry.Delay))
	}
	return notes
}

func kind(a states.Attribute) string {
	switch a.Kind {
	case states.KindList:
		return "list of strings"
	case states.KindSet:
		return "set of strings"
	case states.KindMap:
		return "map of strings"
	case states.KindInt:
		return "whole number"
	case states.KindContent:
		return "string"
	}
	return string(a.Kind)
}

func attribute(a states.Attribute) string {
	text := a.Doc
	if len(a.Enum) > 0 {
		text += " One of " + strings.Join(a.Enum, ", ") + "."
	}
	switch {
	case a.Key && !a.Required:
		text += " Key, if given."
	case a.Key:
		text += " Key."
	case a.Present:
		text += " Required unless it is to be absent."
	case a.Required:
		text += " Required."
	}
	if a.Default != nil {
		text += " New: " + code(compactJSON(a.Default)) + "."
	}
	if a.Sensitive {
		text += " Sensitive."
	}
	return text
}

// compactJSON writes plain data, which always is JSON.
func compactJSON(v any) string {
	text, err := plainjson.Marshal(v)
	if err != nil {
		panic("reference: " + err.Error())
	}
	return string(text)
}
