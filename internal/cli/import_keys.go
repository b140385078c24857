package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/states"
)

// keys finds the module, and the values of its keys.
func (cmd *importCmd) keys(ctx context.Context, s *client, home func() (string, error)) (*states.Module, map[string]any, error) {
	module, err := cmd.module(s)
	if err != nil {
		return nil, nil, err
	}
	a := arguments{module: module, values: map[string]any{}, ctx: ctx, home: home}
	names := module.Keys()
	given := cmd.Args[1:]
	if len(given) > 0 && len(names) > 0 {
		if err := a.set(module.Attribute(names[0]), given[0]); err != nil {
			return nil, nil, a.usageError(err)
		}
		given = given[1:]
	}
	for _, pair := range given {
		if err := a.take(pair); err != nil {
			return nil, nil, err
		}
		if name, _, _ := strings.Cut(pair, "="); module.Attribute(name) == nil || !module.Attribute(name).Key {
			return nil, nil, usage(a.hint(), "%s is no key of %s: its value is what is to be read", name, module.Name)
		}
	}
	for _, name := range names {
		if a.values[name] == nil && module.Attribute(name).Required {
			return nil, nil, usage("tenet import "+module.Name+" "+strings.ToUpper(names[0])+keyUsage(module), "%s needs its key %s", module.Name, name)
		}
	}
	if err := importer.CheckKeys(module, a.values); err != nil {
		what := module.Name
		if len(names) > 0 {
			what = states.LabelAddress(module.Name, fmt.Sprint(a.values[names[0]]))
		}
		return nil, nil, &status{exitUsage, fmt.Errorf("%s: %w", what, err)}
	}
	return module, a.values, nil
}

// module finds the module that the command line names.
func (cmd *importCmd) module(s *client) (*states.Module, error) {
	registry, name := cmd.modules, cmd.Args[0]
	if registry.broken(name) {
		return nil, s.show(registry.list, registry.own.Source)
	}
	module := registry.Lookup(name)
	if module == nil {
		hint := diag.DidYouMean(name, registry.Names())
		if hint == "" {
			hint = "tenet doc lists the modules"
		}
		return nil, usage(hint, "there is no module %q", name)
	}
	if module.IsAct() {
		return nil, usage("import what it works on, such as a file, a package or a service", "%s acts, and leaves nothing that could be read", name)
	}
	return module, nil
}

// keyUsage shows how further keys are given.
func keyUsage(m *states.Module) string {
	var b strings.Builder
	for _, name := range m.Keys()[1:] {
		if m.Attribute(name).Required {
			fmt.Fprintf(&b, " %s=%s", name, strings.ToUpper(name))
		}
	}
	return b.String()
}
