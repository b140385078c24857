package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/lang/diag"
)

type factsCmd struct {
	Names []string `arg:"" optional:"" help:"Facts to show, such as os or os.id (default: all)."`
}

// facts are what is known about a machine.
type facts interface {
	Names() []string
	Fact(name string) (any, error)
}

func noFact(name string, names []string) error {
	return usage(cmp.Or(diag.DidYouMean(name, names), "tenet facts lists them"), "there is no fact %q", name)
}

// factAt gives a fact, or what it holds under names behind dots.
func factAt(facts facts, path string) (any, error) {
	name, rest, _ := strings.Cut(path, ".")
	if slices.Contains(facts.Names(), path) { // one with a dot in its name
		name, rest = path, ""
	}
	if !slices.Contains(facts.Names(), name) {
		return nil, noFact(name, facts.Names())
	}
	value, err := facts.Fact(name)
	for rest != "" && err == nil {
		within, _ := value.(map[string]any)
		var key string
		key, rest, _ = strings.Cut(rest, ".")
		inner, ok := within[key]
		if !ok {
			return nil, usage("tenet facts "+name+" shows what it holds", "there is no %q in the fact %s", key, name)
		}
		value = inner
	}
	return value, failed(err)
}

// Run shows facts.
func (cmd *factsCmd) Run(ctx runContext, s *client) error {
	if s.onHosts() {
		return s.factsOfHosts(ctx, cmd.Names)
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	facts, err := s.facts(h)
	if err != nil {
		return err
	}
	names := cmd.Names
	if len(names) == 0 {
		names = facts.Names()
	}
	values := map[string]any{}
	for _, name := range names {
		if values[name], err = factAt(facts, name); err != nil {
			return err
		}
	}
	if s.globals.JSON {
		return s.printJSON(values)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, name := range names {
		fmt.Fprintf(out, "%s\t%s\n", name, shown(false, values[name]))
	}
	return failed(out.Flush())
}
