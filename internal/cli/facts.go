package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/runtime/machine"
)

type factsCmd struct {
	Names []string `arg:"" optional:"" help:"Facts to show, such as os or os.id (default: all)."`
}

// factSource gives what is known about a machine.
type factSource interface {
	Names() []string
	Fact(name string) (any, error)
}

func noFact(name string, names []string) error {
	return usage(cmp.Or(diag.DidYouMean(name, names), "tenet facts lists them"), "there is no fact %q", name)
}

// factAt gives a fact, or what it holds under names behind dots.
func factAt(known factSource, path string) (any, error) {
	name, rest, _ := strings.Cut(path, ".")
	if slices.Contains(known.Names(), path) { // one with a dot in its name
		name, rest = path, ""
	}
	if !slices.Contains(known.Names(), name) {
		return nil, noFact(name, known.Names())
	}
	value, err := known.Fact(name)
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
	return value, failure(err)
}

// hostFacts are the facts of a host, as JSON.
type hostFacts struct {
	Host  string         `json:"host"`
	Facts map[string]any `json:"facts"`
}

// Run shows facts; those that are the same on several hosts once.
func (cmd *factsCmd) Run(ctx runContext, s *client) error {
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	if t.hasNames && s.globals.Facts != "" && len(t.hosts) > 1 {
		return usage("name one with --limit", "--facts are those of one machine, and these are %d hosts", len(t.hosts))
	}
	given, err := s.facts(nil)
	if err != nil {
		return err
	}
	names := []string{machine.AllFacts}
	if len(cmd.Names) > 0 {
		names = nil
		for _, path := range cmd.Names {
			name, _, _ := strings.Cut(path, ".")
			known := given.Names()
			if slices.Contains(known, path) {
				name = path
			}
			if !slices.Contains(known, name) {
				return noFact(name, known)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	list, err := ask(ctx, s, t, askOne("facts", true, func(ctx context.Context, m *fleet.Member) (*machine.Facts, error) { return m.Facts(ctx, names) }))
	if err != nil {
		return err
	}
	found := make([]map[string]any, len(list))
	for i, a := range list {
		if !a.replied() {
			continue
		}
		overlay(a.value, given)
		if found[i], err = s.factsOf(t, a, cmd.Names); err != nil {
			a.outcome.Err, a.outcome.Status = err, fleet.Failed
		}
	}
	if s.globals.JSON {
		return s.printAnswers(t, common(list), func(i int) (any, any) { return found[i], hostFacts{list[i].host.Name, found[i]} })
	}
	if err := s.printFacts(t, list, found, cmd.Names); err != nil {
		return err
	}
	return s.showFailures(t, common(list))
}

// overlay puts the facts that the command line gives in the place of a machine's.
func overlay(f *machine.Facts, given *facts.Facts) {
	for _, name := range given.Names() {
		if given.IsGiven(name) {
			delete(f.Errors, name)
			f.Values[name], _ = given.Fact(name) // what is given is there
		}
	}
}

// factsOf are those that paths name, of what a machine has told; all without any, and
// then those that it cannot tell are only noted.
func (s *client) factsOf(t *targets, a *answer[*machine.Facts], paths []string) (map[string]any, error) {
	all := len(paths) == 0
	if all {
		paths = a.value.Names()
	}
	values := map[string]any{}
	for _, path := range paths {
		v, err := factAt(a.value, path)
		switch {
		case err == nil:
			values[path] = v
		case !all || !t.hasNames:
			return nil, err
		default:
			s.noteHost(a.host.Name, err.Error())
		}
	}
	return values, nil
}

// printFacts prints a table: of one host as on that itself, of several with the hosts
// that have a value.
func (s *client) printFacts(t *targets, list []*answer[*machine.Facts], found []map[string]any, paths []string) error {
	answered, all := 0, len(paths) == 0
	for _, values := range found {
		if values == nil {
			continue
		}
		answered++
		if all {
			paths = append(paths, slices.Collect(maps.Keys(values))...)
		}
	}
	if all {
		slices.Sort(paths)
		paths = slices.Compact(paths)
	}
	out := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, path := range paths {
		var same hostGroups
		for i, values := range found {
			if v, ok := values[path]; ok {
				same.add(list[i].host.Name, printable(false, v))
			}
		}
		for _, value := range same.order {
			hosts := same.hosts[value]
			of := namesOf(hosts, s.globals.Verbose)
			if len(hosts) == answered && answered > 1 {
				of = fmt.Sprintf("all %d", answered)
			}
			if len(list) == 1 {
				fmt.Fprintf(out, "%s\t%s\n", ui.Line(path), ui.Line(value))
			} else {
				fmt.Fprintf(out, "%s\t%s\t%s\n", ui.Line(path), of, ui.Line(value))
			}
		}
	}
	return failure(unread(out.Flush()))
}
