package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tenetcm/tenet/internal/reference"
	"github.com/tenetcm/tenet/internal/reference/search"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// mostFound is how many entries are shown without -v.
const mostFound = 15

// search shows what holds the words, the best first.
func (cmd *docCmd) search(ctx context.Context, s *client, registry *states.Registry) error {
	switch {
	case len(cmd.Names) == 0:
		return usage("tenet doc --search restart service", "doc --search takes words")
	case cmd.Markdown || cmd.JSONSchema:
		return usage("", "--search goes without --markdown and --json-schema")
	}
	entries := slices.Concat(search.Entries(registry, standardComponents(ctx)), commandEntries())
	found := search.Search(entries, cmd.Names)
	if len(found) == 0 {
		names := make([]string, 0, len(entries))
		for _, e := range entries {
			names = append(names, e.Name)
		}
		hint := diag.DidYouMean(cmd.Names[0], names)
		if hint == "" {
			hint = "try fewer or other words; tenet doc lists what there is"
		}
		return usage(hint, "nothing is found about %q", strings.Join(cmd.Names, " "))
	}
	if s.globals.JSON {
		return s.printJSON(found)
	}
	more := 0
	if !s.globals.Verbose && len(found) > mostFound {
		more = len(found) - mostFound
		found = found[:mostFound]
	}
	width, _ := terminal(s.Out)
	var out strings.Builder
	for _, e := range found {
		what := e.Kind
		if e.Of != "" {
			what += " of " + e.Of
		}
		fmt.Fprintf(&out, "%s  (%s)\n", e.Name, what)
		if e.Summary != "" {
			fmt.Fprintln(&out, reference.Wrap(e.Summary, cmp.Or(width, 80), "    "))
		}
		if e.Read != "" {
			fmt.Fprintf(&out, "    %s\n", e.Read)
		}
	}
	if more > 0 {
		fmt.Fprintf(&out, "… and %d more: -v shows all, more words find fewer", more)
	}
	return s.print(strings.TrimSuffix(out.String(), "\n"))
}

// commandEntries lists the commands and their flags. The parser at hand knows one command only.
func commandEntries() []search.Entry {
	var all []search.Entry
	add := func(kind, name, help, read string) {
		if help != "" {
			all = append(all, search.Entry{Kind: kind, Name: name, Summary: help, Read: read})
		}
	}
	var walk func(node *kong.Node, path string)
	walk = func(node *kong.Node, path string) {
		add("command", path, node.Help, path+" --help")
		for _, f := range node.Flags {
			if !f.Hidden {
				add("flag", path+" --"+f.Name, f.Help, path+" --help")
			}
		}
		for _, c := range node.Children {
			walk(c, path+" "+c.Name)
		}
	}
	app := newParser(&grammar{}, []string{"completion"}, Environment{}, nil).Model
	for _, f := range app.Flags {
		add("flag", "--"+f.Name, f.Help, "tenet --help")
	}
	for _, c := range app.Children {
		walk(c, "tenet "+c.Name)
	}
	return all
}
