package reference

import (
	"fmt"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/states"
)

// Component is the page of a component, or of a site. source is how it is named,
// as in "std/nginx".
func Component(source string, d lang.Description) Page {
	summary, rest := Summary(source, d.Text)
	p := Page{Title: source, Summary: summary}
	p.add("", Block{Text: fencePieces(rest)})
	inputs(&p, d.Variables)
	t := &Table{Head: []string{"output", ""}}
	for _, o := range d.Outputs {
		t.Rows = append(t.Rows, []string{code(o.Name), strings.TrimSpace(o.Description + sensitiveNote(o.Sensitive))})
	}
	if len(t.Rows) > 0 {
		p.add("Outputs", Block{Table: t})
	}
	addDeclarations(&p, d.States)
	return p
}

// Summary splits the text of a component in its first paragraph, without its own
// name, and the rest.
func Summary(source, text string) (summary, rest string) {
	summary, rest, _ = strings.Cut(text, "\n\n")
	for _, name := range []string{source, path.Base(source)} {
		summary = strings.TrimSpace(strings.TrimPrefix(summary, name+":"))
	}
	if summary != "" {
		summary = strings.ToUpper(summary[:1]) + summary[1:]
	}
	return summary, rest
}

func sensitiveNote(is bool) string {
	if is {
		return " Sensitive."
	}
	return ""
}

func inputs(p *Page, variables []lang.VariableDoc) {
	if len(variables) == 0 {
		return
	}
	t := &Table{Head: []string{"input", "type", ""}}
	var long []Block
	for _, v := range variables {
		text := v.Description + sensitiveNote(v.Sensitive)
		typ := code(v.TypeText)
		if strings.Contains(v.TypeText, "\n") {
			typ = "object"
			if before, _, ok := strings.Cut(v.TypeText, "("); ok {
				typ = before
			}
			typ += ", see below"
			long = append(long, Block{Text: "The type of " + code(v.Name) + ":"}, Block{Code: v.TypeText})
		}
		switch {
		case v.Required:
			text += " Required."
		case strings.Contains(v.Default, "\n"):
			text += " It has a default, see below."
			long = append(long, Block{Text: "The default of " + code(v.Name) + ":"}, Block{Code: v.Default})
		case v.Default != "null":
			text += " Default: " + code(v.Default) + "."
		}
		if v.Merge {
			text += " Merged over all that give it."
		}
		for _, rule := range v.Rules {
			text += " Refused with: “" + strings.Join(strings.Fields(rule), " ") + "”"
		}
		t.Rows = append(t.Rows, []string{code(v.Name), typ, strings.TrimSpace(text)})
	}
	p.add("Inputs", append([]Block{{Table: t}}, long...)...)
}

// addDeclarations lists what a component holds.
func addDeclarations(p *Page, all []lang.StateDoc) {
	t := &Table{Head: []string{"address", ""}}
	for _, s := range all {
		text := s.Description
		var params []string
		for _, param := range s.Params {
			params = append(params, code(param.Name))
		}
		if len(params) > 0 {
			text += " Params: " + strings.Join(params, ", ") + "."
		}
		if text == "" && s.Kind == states.StateKind && !strings.HasPrefix(s.Address, "state.") {
			text = "A part by itself."
		}
		t.Rows = append(t.Rows, []string{code(s.Address), strings.TrimSpace(text)})
	}
	if len(t.Rows) > 0 {
		p.add("States", Block{Table: t})
	}
}

// fencePieces puts indented pieces of a comment between fences.
func fencePieces(text string) string {
	var out, open []string
	flush := func() {
		if len(open) > 0 {
			for len(open) > 0 && open[len(open)-1] == "" {
				open = open[:len(open)-1]
			}
			language := "hcl"
			if !strings.Contains(strings.Join(open, "\n"), "{") {
				language = ""
			}
			out = append(out, "", fence(language, strings.Join(open, "\n")), "")
			open = nil
		}
	}
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		switch rest, indented := strings.CutPrefix(line, "    "); {
		case indented:
			open = append(open, rest)
		case line == "" && len(open) > 0:
			open = append(open, "")
		default:
			flush()
			out = append(out, line)
		}
	}
	flush()
	return collapse(strings.Join(out, "\n"))
}

// collapse leaves one empty line of several.
func collapse(text string) string {
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return strings.TrimSpace(text)
}

// Components is the index of the standard components.
func Components(all []NamedComponent) Page {
	p := Page{Title: "Standard components", Summary: "Written in the language, and part of the program. A site uses one by its name:"}
	p.add("", Block{Code: "component \"greeting\" {\n  source = \"std/motd\"\n  vars   = { text = \"Welcome.\\n\" }\n}"})
	t := &Table{Head: []string{"component", ""}}
	for _, c := range all {
		name := strings.TrimPrefix(c.Source, "std/")
		summary, _ := Summary(c.Source, c.Text)
		t.Rows = append(t.Rows, []string{fmt.Sprintf("[%s](%s.md)", c.Source, name), summary})
	}
	p.add("", Block{Table: t})
	return p
}

// NamedComponent is a component with its description.
type NamedComponent struct {
	Source string
	lang.Description
}

// ComponentData is what a component takes, gives and holds, as plain data.
func ComponentData(c NamedComponent) any {
	type input struct {
		Name        string   `json:"name"`
		Type        string   `json:"type"`
		Description string   `json:"description,omitempty"`
		Default     string   `json:"default,omitempty"` // an expression
		Required    bool     `json:"required,omitempty"`
		Sensitive   bool     `json:"sensitive,omitempty"`
		Merge       bool     `json:"merge,omitempty"`
		Rules       []string `json:"rules,omitempty"`
	}
	type named struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Sensitive   bool   `json:"sensitive,omitempty"`
	}
	data := struct {
		Source  string  `json:"source"`
		Text    string  `json:"text,omitempty"`
		Inputs  []input `json:"inputs,omitempty"`
		Outputs []named `json:"outputs,omitempty"`
		States  []named `json:"states,omitempty"`
	}{Source: c.Source, Text: c.Text}
	for _, v := range c.Variables {
		data.Inputs = append(data.Inputs, input{v.Name, v.TypeText, v.Description, v.Default, v.Required, v.Sensitive, v.Merge, v.Rules})
	}
	for _, o := range c.Outputs {
		data.Outputs = append(data.Outputs, named{o.Name, o.Description, o.Sensitive})
	}
	for _, state := range c.States {
		data.States = append(data.States, named{state.Address, state.Description, false})
	}
	return data
}
