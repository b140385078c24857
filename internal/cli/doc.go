package cli

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/docs"
	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

type docCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"A type of part, keyword, option, function or standard component; a directory; a package (oci://…, git::…); modules, keywords, options, functions, components or pages, and then a name (default: an overview)."`

	Search     bool `help:"Find words in all of it, in commands, messages and pages too, also the words of Ansible, Salt, Puppet and Terraform."`
	Markdown   bool `help:"Print Markdown."`
	JSONSchema bool `name:"json-schema" help:"Print the JSON Schema of a type's attributes, of a component's inputs, or (without a name) of state files in JSON."`
}

// topic is something that can be read about.
type topic struct {
	kind   string // "modules", "keywords", "options", "functions", "components" or "pages"
	name   string
	page   reference.Page
	data   any
	schema reference.Schema // nil: there is none
	text   string           // of a page that is Markdown; empty: page holds it
}

// Run shows the reference of what is named. The modules are those of the program,
// and those of the site in the current directory.
func (cmd *docCmd) Run(ctx runContext, s *client) error {
	here, err := newModulesHere()
	if err != nil {
		return err
	}
	if here.broken(cmd.Names...) {
		return s.show(here.list, here.own.Source)
	}
	if cmd.Search {
		for _, name := range here.own.Broken() {
			fmt.Fprintln(s.Err, ui.Clean("warning: "+custom.Dir+"/"+name+".star has mistakes, and is left out: tenet doc "+name+" shows them"))
		}
		return cmd.search(ctx, s, here.Registry)
	}
	found, err := cmd.find(ctx, s, here.Registry)
	switch {
	case err != nil:
		return err
	case cmd.JSONSchema:
		return s.schemaOf(found)
	case s.globals.JSON && len(found) == 1:
		return s.printJSON(found[0].data)
	case s.globals.JSON:
		all := map[string]any{}
		for _, t := range found {
			all[t.kind] = t.data
		}
		return s.printJSON(all)
	}
	width, _ := terminal(s.Out)
	var pages []string
	for _, t := range found {
		if t.text != "" {
			pages = append(pages, t.text)
		} else if cmd.Markdown {
			pages = append(pages, t.page.Markdown())
		} else {
			pages = append(pages, t.page.Text(cmp.Or(width, 80)))
		}
	}
	return s.print(strings.TrimRight(strings.Join(pages, "\n"), "\n"))
}

func (s *client) schemaOf(found []topic) error {
	for _, t := range found {
		if t.schema != nil {
			return s.printJSON(t.schema)
		}
	}
	return usage("give no name for that of state files in JSON, or a type of part or component", "there is no schema of %s", found[0].name)
}

// find gives what the arguments name.
func (cmd *docCmd) find(ctx context.Context, s *client, registry *states.Registry) ([]topic, error) {
	switch {
	case len(cmd.Names) > 2:
		return nil, usage("tenet doc lists what there is", "doc takes one name, not %d", len(cmd.Names))
	case len(cmd.Names) == 0:
		all := standardComponents(ctx)
		return []topic{{page: reference.Overview(registry, all), data: overview(registry, all), schema: reference.SiteSchema(registry)}}, nil
	case lang.IsPackage(cmd.Names[0]) && len(cmd.Names) == 1:
		return s.describePackage(ctx, cmd.Names[0])
	case isPath(cmd.Names[0]) && len(cmd.Names) == 1:
		return s.describe(ctx, cmd.Names[0])
	}
	name := cmd.Names[0]
	list := listOf(ctx, name, registry)
	if len(cmd.Names) == 1 && list != nil {
		return []topic{*list}, nil
	}
	all := topics(ctx, registry)
	kind := ""
	if len(cmd.Names) == 2 {
		if list == nil {
			return nil, usage(cmp.Or(diag.DidYouMean(name, kinds()), "it is one of "+strings.Join(kinds(), ", ")), "there is no kind of reference %q", name)
		}
		kind, name = name, cmd.Names[1]
	}
	var found []topic
	var names []string
	for _, t := range all {
		if kind == "" || t.kind == kind {
			names = append(names, t.name)
			if t.name == name || t.kind == "components" && t.name == "std/"+name {
				found = append(found, t)
			}
		}
	}
	if len(found) == 0 {
		hint := cmp.Or(diag.DidYouMean(name, names), "tenet doc --search looks for words everywhere; tenet doc lists what there is")
		return nil, usage(hint, "there is nothing to read about %q", name)
	}
	return found, nil
}

// isPath reports whether a name is that of a directory: one that is no plain
// keyword.
func isPath(name string) bool {
	if strings.HasPrefix(name, "std/") {
		return false
	}
	return name == "." || name == ".." || strings.ContainsRune(name, os.PathSeparator)
}

func kinds() []string {
	return []string{"modules", "components", "keywords", "options", "functions", "facts", "pages"}
}

// listOf gives the page that lists all of a kind, nil where the name is none.
func listOf(ctx context.Context, name string, registry *states.Registry) *topic {
	switch name {
	case "modules":
		return &topic{kind: name, name: name, page: reference.Modules(registry, nil), data: schemas(registry)}
	case "components":
		all := standardComponents(ctx)
		return &topic{kind: name, name: name, page: reference.Components(all), data: componentData(all)}
	case "keywords":
		return &topic{kind: name, name: name, page: reference.Keywords(syntax.KeywordDocs()), data: syntax.KeywordDocs()}
	case "options":
		return &topic{kind: name, name: name, page: reference.Options(expr.OptionDocs()), data: expr.OptionDocs()}
	case "functions":
		return &topic{kind: name, name: name, page: reference.Functions(lang.Functions()), data: lang.Functions()}
	case "facts":
		return &topic{kind: name, name: name, page: reference.Facts(facts.Docs()), data: facts.Docs()}
	case "pages":
		return pageList()
	}
	return nil
}

// docNames lists the kinds, and all that has a name in the program, each once.
func docNames() []string {
	list := kinds()
	for _, t := range topics(context.Background(), modules.Standard()) {
		list = append(list, t.name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// topics lists all that has a name.
func topics(ctx context.Context, registry *states.Registry) []topic {
	var all []topic
	for _, name := range registry.Names() {
		m := registry.Lookup(name)
		all = append(all, topic{kind: "modules", name: name, page: reference.Module(&m.Schema), data: m.Schema, schema: reference.ModuleSchema(&m.Schema)})
	}
	for _, w := range syntax.KeywordDocs() {
		all = append(all, topic{kind: "keywords", name: w.Name, page: reference.Keyword(w), data: w})
	}
	for _, o := range expr.OptionDocs() {
		all = append(all, topic{kind: "options", name: o.Name, page: reference.Option(o), data: o})
	}
	for _, f := range lang.Functions() {
		all = append(all, topic{kind: "functions", name: f.Name, page: reference.Function(f), data: f})
	}
	for _, c := range standardComponents(ctx) {
		all = append(all, componentTopic(c))
	}
	for _, p := range docs.Pages() {
		all = append(all, topic{kind: "pages", name: p.Name, text: p.Text, data: p})
	}
	return all
}

// pageList lists the pages.
func pageList() *topic {
	var out strings.Builder
	for _, p := range docs.Pages() {
		fmt.Fprintf(&out, "%-18s %s\n", p.Name, p.Title)
	}
	return &topic{kind: "pages", name: "pages", text: "# Pages\n\ntenet doc pages NAME shows one of them.\n\n" + out.String(), data: docs.Pages()}
}

func componentTopic(c reference.NamedComponent) topic {
	return topic{kind: "components", name: c.Source, page: reference.Component(c.Source, c.Description),
		data: reference.ComponentData(c), schema: reference.InputSchema(c.Source, c.Variables)}
}

func schemas(registry *states.Registry) []states.Schema {
	var all []states.Schema
	for _, name := range registry.Names() {
		all = append(all, registry.Lookup(name).Schema)
	}
	return all
}

func componentData(all []reference.NamedComponent) []any {
	var out []any
	for _, c := range all {
		out = append(out, reference.ComponentData(c))
	}
	return out
}

func overview(registry *states.Registry, components []reference.NamedComponent) any {
	return map[string]any{"modules": schemas(registry), "components": componentData(components), "keywords": syntax.KeywordDocs(),
		"options": expr.OptionDocs(), "functions": lang.Functions(), "facts": facts.Docs()}
}

// standardComponents describes the components that are part of the program,
// which always load.
func standardComponents(ctx context.Context) []reference.NamedComponent {
	var all []reference.NamedComponent
	for _, name := range fsDirectories(stdlib.FS) {
		files, err := fs.Sub(stdlib.FS, name)
		if err != nil {
			continue
		}
		site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
		d, _ := site.Describe(ctx)
		all = append(all, reference.NamedComponent{Source: "std/" + name, Description: d})
	}
	return all
}

// describe describes the site or component in a directory.
func (s *client) describe(ctx context.Context, path string) ([]topic, error) {
	site, err := s.openSite(ctx, path)
	if err != nil {
		return nil, err
	}
	d, list := site.Describe(ctx)
	if list.HasErrors() {
		return nil, s.show(list, site.Source)
	}
	return []topic{componentTopic(reference.NamedComponent{Source: path, Description: d})}, nil
}
