package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// hostFacts are the facts of a host, as JSON.
type hostFacts struct {
	Host  string         `json:"host"`
	Facts map[string]any `json:"facts"`
}

// allFacts asks a runner for all facts.
const allFacts = "*"

// factsOfHosts shows facts of hosts; those that are the same on several of them once.
func (s *client) factsOfHosts(ctx context.Context, paths []string) error {
	names := []string{allFacts}
	if len(paths) > 0 {
		known := host.NewFacts(nil, nil).Names()
		names = nil
		for _, path := range paths {
			name, _, _ := strings.Cut(path, ".")
			if !slices.Contains(known, name) {
				return noFact(name, known)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	m, err := s.fleetOf(ctx)
	if err != nil {
		return err
	}
	list, err := s.askHosts(ctx, m, question{opening: wire.Opening{Facts: names}, request: &wire.Request{Op: wire.OpPing}})
	if err != nil {
		return err
	}
	found := make([]map[string]any, len(list))
	for i, a := range list {
		if a.failure() != nil {
			continue
		}
		if found[i], err = s.factsOf(a, paths); err != nil {
			a.outcome.End, a.outcome.Err, a.outcome.Status = nil, err, fleet.Failed
		}
	}
	if s.globals.JSON {
		return s.printAnswers(list, func(i int) (any, error) { return hostFacts{list[i].host.Name, found[i]}, nil })
	}
	if err := s.printFacts(list, found, paths); err != nil {
		return err
	}
	return s.concluded(list)
}

// factsOf are those that paths name, of what a host has told; all without any, and
// then those that it cannot tell are only noted.
func (s *client) factsOf(a *answer, paths []string) (map[string]any, error) {
	facts := a.facts()
	all := len(paths) == 0
	if all {
		paths = facts.Names()
	}
	values := map[string]any{}
	for _, path := range paths {
		v, err := factAt(facts, path)
		switch {
		case err == nil:
			values[path] = v
		case !all:
			return nil, err
		default:
			s.noteHost(a.host.Name, err.Error())
		}
	}
	return values, nil
}

// told are the facts of a host as it told them.
type told struct {
	facts  map[string]json.RawMessage
	errors map[string]string
}

func (a *answer) facts() *told { return &told{facts: a.hello.Facts, errors: a.hello.Errors} }

// Names lists the facts, sorted.
func (f *told) Names() []string {
	names := make([]string, 0, len(f.facts))
	for name := range f.facts {
		names = append(names, name)
	}
	for name := range f.errors {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Fact gives a fact.
func (f *told) Fact(name string) (any, error) {
	if text, ok := f.errors[name]; ok {
		return nil, fmt.Errorf("fact %s: %s", name, text)
	}
	data, ok := f.facts[name]
	if !ok {
		return nil, fmt.Errorf("the host did not tell the fact %s", name)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	return value, err
}

// printFacts prints a table: of one host as on that itself, of several with the hosts
// that have a value.
func (s *client) printFacts(list []*answer, found []map[string]any, paths []string) error {
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
		var same alike
		for i, values := range found {
			if v, ok := values[path]; ok {
				same.add(list[i].host.Name, shown(false, v))
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
	return failed(unread(out.Flush()))
}
