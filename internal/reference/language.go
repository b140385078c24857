package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// Functions is the page of all functions, by groups.
func Functions(docs []expr.FunctionDoc) Page {
	p := Page{Title: "Functions", Summary: "They have the names and the order of arguments of Terraform's, as far as it has them. None depends on the clock, on chance or on the controller's environment."}
	files := expr.ExampleFiles()
	text := "The examples that look at files find these beside the state file:"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text += fmt.Sprintf(" %s, which holds %s;", code(name), code(strings.TrimSpace(files[name])))
	}
	p.add("", Block{Text: strings.TrimSuffix(text, ";") + "."})
	groups := map[string][]expr.FunctionDoc{}
	for _, f := range docs {
		groups[f.Group] = append(groups[f.Group], f)
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t := &Table{Head: []string{"function", "", "example"}}
		for _, f := range groups[group] {
			t.Rows = append(t.Rows, []string{code(f.Signature), sentence(f.Doc), example(f)})
		}
		p.add(sentence(group)[:len(group)], Block{Table: t})
	}
	return p
}

func example(f expr.FunctionDoc) string {
	return code(f.Example.Expression) + " is " + code(f.Example.Value)
}

// Function is the page of one function.
func Function(f expr.FunctionDoc) Page {
	p := Page{Title: f.Signature, Summary: sentence(f.Doc)}
	text := f.Example.Expression + "\n→ " + f.Example.Value
	for _, name := range slices.Sorted(maps.Keys(expr.ExampleFiles())) {
		if strings.Contains(f.Example.Expression, `"`+name+`"`) {
			text += fmt.Sprintf("\n\nwhere the file %s holds\n%s", name, strings.TrimSpace(expr.ExampleFiles()[name]))
		}
	}
	p.add("Example", Block{Code: text, Plain: true})
	return p
}

// sentence makes a sentence of a phrase.
func sentence(phrase string) string {
	if phrase == "" {
		return ""
	}
	return strings.ToUpper(phrase[:1]) + phrase[1:] + "."
}

// Options is the page of all options.
func Options(docs []expr.OptionDoc) Page {
	p := Page{Title: "Options", Summary: "Options say when something runs, and how: they stand on parts, states, runs, blocks and components beside what these have of their own. Those of a part at the top level of a site may be a state's as well."}
	t := &Table{Head: []string{"option", "type", ""}}
	for _, o := range docs {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("[%s](#%s)", o.Name, o.Name), o.Type, o.Doc})
	}
	p.add("", Block{Table: t})
	for _, o := range docs {
		p.add(o.Name, Block{Text: places(o) + " " + o.Doc}, Block{Code: o.Example})
	}
	return p
}

func places(o expr.OptionDoc) string {
	if o.Block {
		return fmt.Sprintf("A block within a %s.", strings.Join(o.Places, ", "))
	}
	return fmt.Sprintf("On a %s: %s.", strings.Join(o.Places, ", "), o.Type)
}

// Option is the page of one option.
func Option(o expr.OptionDoc) Page {
	p := Page{Title: o.Name, Summary: o.Doc}
	p.add("", Block{Text: places(o)})
	p.add("Example", Block{Code: o.Example})
	return p
}

// Keywords is the page of the keywords of the language.
func Keywords(docs []syntax.KeywordDoc) Page {
	p := Page{Title: "Keywords", Summary: "The keywords of the language, beside the [types of parts](modules/README.md). [The language](language.md) tells how they play together."}
	t := &Table{Head: []string{"keyword", ""}}
	for _, w := range docs {
		first, _, _ := strings.Cut(w.Doc, ". ")
		t.Rows = append(t.Rows, []string{fmt.Sprintf("[%s](#%s)", w.Name, w.Name), strings.TrimSuffix(first, ".") + "."})
	}
	p.add("", Block{Table: t})
	for _, w := range docs {
		p.add(w.Name, keywordBlocks(w)...)
	}
	return p
}

// Keyword is the page of one keyword.
func Keyword(w syntax.KeywordDoc) Page {
	p := Page{Title: w.Usage, Summary: w.Doc}
	p.add("", keywordBlocks(w)[1:]...)
	return p
}

func keywordBlocks(w syntax.KeywordDoc) []Block {
	blocks := []Block{{Text: code(w.Usage) + "\n\n" + w.Doc}}
	t := &Table{Head: []string{"in it", "type", ""}}
	for _, a := range w.Attributes {
		t.Rows = append(t.Rows, []string{code(a.Name), a.Type, a.Doc})
	}
	if len(t.Rows) > 0 {
		blocks = append(blocks, Block{Table: t})
	}
	if w.Options != "" {
		blocks = append(blocks, Block{Text: fmt.Sprintf("It takes the [options](options.md) of a %s, too.", w.Options)})
	}
	blocks = append(blocks, Block{Code: w.Example})
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		blocks = append(blocks, Block{Text: "with the file " + code(name) + ":"}, Block{Code: w.Files[name], Plain: true})
	}
	return blocks
}
