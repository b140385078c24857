package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/eval"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/states"
)

type docCmd struct {
	Name string `arg:"" optional:"" help:"A module, a function, or functions (default: list the modules)."`
}

// Run describes modules and functions. The modules are those of the program,
// and those of the site in the current directory.
func (cmd *docCmd) Run(_ runContext, s *client) error {
	here, err := os.OpenRoot(".")
	if err != nil {
		return failed(err)
	}
	defer here.Close()
	own, list := custom.Load(here.FS(), custom.Dir, custom.Options{Registry: modules.Standard()})
	if slices.Contains(own.Broken(), cmd.Name) {
		return s.show(list, own.Source)
	}
	registry := modules.Standard().With(own.Modules()...)
	switch m := registry.Lookup(cmd.Name); {
	case cmd.Name == "":
		return s.listModules(registry)
	case m != nil && s.globals.JSON:
		return s.printJSON(m.Schema)
	case m != nil:
		return s.describe(&m.Schema)
	case cmd.Name == "functions":
		return s.listFunctions()
	}
	return s.describeFunction(cmd.Name, registry)
}

// describeFunction shows a function of the language.
func (s *client) describeFunction(name string, registry *states.Registry) error {
	names := registry.Names()
	for _, f := range lang.Functions() {
		switch names = append(names, f.Name); {
		case f.Name != name:
		case s.globals.JSON:
			return s.printJSON(f)
		default:
			return s.print(fmt.Sprintf("%s\n\n%s", f.Signature, wrap(sentence(f.Doc), 78, "")))
		}
	}
	const where = "tenet doc lists the modules, tenet doc functions the functions"
	return usage(cmp.Or(eval.DidYouMean(name, names), where), "there is no module %q, and no function of that name", name)
}

// sentence makes a sentence of a phrase.
func sentence(phrase string) string { return strings.ToUpper(phrase[:1]) + phrase[1:] + "." }

func (s *client) listModules(registry *states.Registry) error {
	if s.globals.JSON {
		var all []states.Schema
		for _, name := range registry.Names() {
			all = append(all, registry.Lookup(name).Schema)
		}
		return s.printJSON(all)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, name := range registry.Names() {
		first, _, _ := strings.Cut(registry.Lookup(name).Doc, "\n")
		fmt.Fprintf(out, "%s\t%s\n", name, first)
	}
	return failed(out.Flush())
}

func (s *client) listFunctions() error {
	if s.globals.JSON {
		return s.printJSON(lang.Functions())
	}
	var out strings.Builder
	functions, group := lang.Functions(), ""
	slices.SortStableFunc(functions, func(a, b lang.FunctionDoc) int { return strings.Compare(a.Group, b.Group) })
	for _, f := range functions {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&out, "\n%s\n", strings.ToUpper(group[:1])+group[1:])
		}
		fmt.Fprintf(&out, "  %s\n      %s\n", f.Signature, f.Doc)
	}
	_, err := fmt.Fprint(s.Out, strings.TrimPrefix(out.String(), "\n"))
	return failed(err)
}

// describe writes a module's page.
func (s *client) describe(m *states.Schema) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n%s\n\n", m.Name, wrap(m.Doc, 78, ""))
	if m.NoAbsent != "" {
		fmt.Fprintf(&out, "It cannot be absent: %s\n\n", m.NoAbsent)
	}
	if m.Example != "" {
		fmt.Fprintf(&out, "Example:\n\n    %s\n\n", strings.ReplaceAll(m.Example, "\n", "\n    "))
	}
	out.WriteString("Attributes:\n")
	for _, a := range m.Attributes {
		var notes []string
		switch {
		case a.Key:
			notes = append(notes, "key")
		case a.Present:
			notes = append(notes, "required unless absent")
		case a.Required:
			notes = append(notes, "required")
		case a.Out:
			notes = append(notes, "observed")
		}
		if a.Sensitive {
			notes = append(notes, "sensitive")
		}
		if len(a.Enum) > 0 {
			notes = append(notes, "one of "+strings.Join(a.Enum, ", "))
		}
		if a.Default != nil {
			notes = append(notes, "new: "+shown(false, a.Default))
		}
		fmt.Fprintf(&out, "\n  %s (%s)\n%s\n", a.Name, strings.Join(append([]string{string(a.Kind)}, notes...), ", "), wrap(a.Doc, 78, "      "))
	}
	_, err := fmt.Fprint(s.Out, out.String())
	return failed(err)
}

// wrap breaks paragraphs into lines of at most width columns.
func wrap(text string, width int, indent string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if len(line)+len(word) >= width && line != indent {
				lines = append(lines, strings.TrimRight(line, " "))
				line = indent
			}
			line += word + " "
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}
