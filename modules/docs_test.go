package modules_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

var update = flag.Bool("update", false, "rewrite the reference pages in docs/modules")

const docs = "../docs/modules"

// The reference pages say what the modules' declarations say.
func TestReferencePages(t *testing.T) {
	registry := modules.Standard()
	proof := labSources(t)
	index := strings.Builder{}
	index.WriteString("# Modules\n\nA module is a type of part: `TYPE \"LABEL\" { … }`. The key attribute defaults to the\nlabel. Every part takes the options of [the language](../language.md) besides.\n\n| module | |\n|---|---|\n")
	for _, name := range registry.Names() {
		m := registry.Lookup(name)
		summary, _, _ := strings.Cut(m.Doc, "\n")
		fmt.Fprintf(&index, "| [%s](%s.md) | %s |\n", name, name, summary)
		golden(t, name+".md", page(m, uses(proof, name)))
	}
	golden(t, "README.md", index.String())
	pages, err := os.ReadDir(docs)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != len(registry.Names())+1 {
		t.Errorf("docs/modules holds %d pages, want one for each of %d modules and README.md", len(pages), len(registry.Names()))
	}
}

func golden(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join(docs, name)
	if *update {
		if err := os.MkdirAll(docs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("docs/modules/%s is not what the module says (%v); rewrite it with: go test ./modules -update", name, err)
	}
}

// page is one module's reference.
func page(m *states.Module, verified bool) string {
	summary, rest, _ := strings.Cut(m.Doc, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", m.Name, summary)
	fmt.Fprintf(&b, "```hcl\n%s\n```\n\n%s\n\n", m.Example, strings.TrimSpace(rest))
	table(&b, "Attributes", m.Attributes, func(a states.Attribute) bool { return !a.In && !a.Out || a.Kind == states.KindSource })
	table(&b, "How it is done", m.Attributes, func(a states.Attribute) bool { return a.In && a.Kind != states.KindSource })
	table(&b, "Observed", m.Attributes, func(a states.Attribute) bool { return a.Out })
	b.WriteString("## Notes\n\n")
	switch {
	case m.NoAbsent != "":
		fmt.Fprintf(&b, "- It cannot be absent. %s\n", m.NoAbsent)
	default:
		b.WriteString("- It can be absent: `ensure = \"absent\"`.\n")
	}
	if m.Handler {
		b.WriteString("- At the top level of a site it is a handler: it runs only when it is notified, or required.\n")
	}
	switch {
	case len(m.Locks) > 0 && strings.Contains(m.Locks[0], "%s"):
		b.WriteString("- Parts on the same " + strings.TrimSuffix(m.Locks[0], " %s") + ", of whatever type, never act at the same time.\n")
	case len(m.Locks) > 0:
		b.WriteString("- Parts of this type never act at the same time.\n")
	}
	if m.Retry != nil {
		fmt.Fprintf(&b, "- It is tried %d times, first after %s, unless the part says otherwise.\n", m.Retry.Attempts, m.Retry.Delay)
	}
	if verified {
		b.WriteString("- Verified: it is tested on real hosts with Debian 12.\n")
	} else {
		b.WriteString("- It is tested in memory, and not on a real host.\n")
	}
	return b.String()
}

func table(b *strings.Builder, title string, all []states.Attribute, of func(states.Attribute) bool) {
	var rows []string
	for _, a := range all {
		if of(a) {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", a.Name, kind(a), cell(a)))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "## %s\n\n| attribute | type | |\n|---|---|---|\n%s\n", title, strings.Join(rows, ""))
	}
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

func cell(a states.Attribute) string {
	text := a.Doc
	if len(a.Enum) > 0 {
		text += " One of " + strings.Join(a.Enum, ", ") + "."
	}
	switch {
	case a.Key:
		text += " Key."
	case a.Present:
		text += " Required unless it is to be absent."
	case a.Required:
		text += " Required."
	}
	if a.Default != nil {
		data, err := json.Marshal(a.Default)
		if err != nil {
			panic(err)
		}
		text += " New: `" + string(data) + "`."
	}
	if a.Sensitive {
		text += " Sensitive."
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

// labSources are the sites that tests apply on real hosts.
func labSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"../internal/lab/labtest/*_test.go", "../examples/nginx/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}

func uses(sources, module string) bool {
	return regexp.MustCompile(`\b` + module + ` \\?"`).MatchString(sources)
}

// The examples of the reference pages are sites that load.
func TestExamplesLoad(t *testing.T) {
	registry := modules.Standard()
	for _, name := range registry.Names() {
		t.Run(name, func(t *testing.T) {
			source := "variable \"domain\" {\n  default = \"example.test\"\n}\n" + registry.Lookup(name).Example
			site, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(source)}}, lang.Options{Registry: registry})
			if list.HasErrors() {
				t.Fatal(list.Err())
			}
			d, list := site.For(t.Context(), lang.Target{Host: "example"})
			if list.HasErrors() {
				t.Fatal(list.Err())
			}
			if len(d.List) == 0 {
				t.Error("the example declares nothing")
			}
		})
	}
}
