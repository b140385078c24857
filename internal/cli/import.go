package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/importer"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

type importCmd struct {
	Args     []string `arg:"" optional:"" name:"TYPE KEY [attr=value]" help:"The type of a part and its key, such as file /etc/motd, with the other keys of types that have several. With --all: the paths whose files are read."`
	All      []string `help:"Declare all that somebody has set up: packages, services, users, groups, files, or any type that can be listed." placeholder:"WHAT"`
	Out      string   `help:"Write a site into this directory, in place of printing it." placeholder:"DIR"`
	Language string   `help:"The language to write: ${enum}." enum:"hcl,starlark" default:"hcl"`
	Star     bool     `help:"The same as --language starlark."`
}

// Run declares what stands on this machine.
func (cmd *importCmd) Run(ctx runContext, s *client) error {
	if cmd.Star {
		cmd.Language = string(importer.Starlark)
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	if len(cmd.All) > 0 {
		return cmd.importAll(ctx, s, h)
	}
	if len(cmd.Args) == 0 {
		return usage("tenet import TYPE KEY, or tenet import --all packages,services", "nothing is named that is to be read")
	}
	return cmd.one(ctx, s, h)
}

// one declares one part.
func (cmd *importCmd) one(ctx runContext, s *client, h *host.Local) error {
	if cmd.Out != "" {
		return usage("tenet import --all WHAT --out DIR writes a site", "--out is of use with --all only: one part is printed")
	}
	module, keys, err := cmd.keys(ctx, s, h)
	if err != nil {
		return err
	}
	part, err := importer.Read(ctx, h, module, keys, importer.Options{})
	if err != nil {
		return unimportable(module, keys, err)
	}
	if s.globals.JSON {
		return s.printJSON(part)
	}
	text, err := cmd.text(importer.Language(cmd.Language).Print(part))
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return unread(failure(err))
}

// text lays out what was written.
func (cmd *importCmd) text(text string) ([]byte, error) {
	name := "import.hcl"
	if cmd.Language == string(importer.Starlark) {
		name = "import.star"
	}
	out, diags := lang.Format(name, []byte(text))
	if diags.HasErrors() {
		return nil, failure(fmt.Errorf("what was read cannot be written: %w", diags.Err()))
	}
	return out, nil
}

// keys finds the module, and the values of its keys.
func (cmd *importCmd) keys(ctx context.Context, s *client, h *host.Local) (*states.Module, map[string]any, error) {
	registry, err := newModulesHere()
	if err != nil {
		return nil, nil, err
	}
	name := cmd.Args[0]
	if registry.broken(name) {
		return nil, nil, s.show(registry.list, registry.own.Source)
	}
	module := registry.Lookup(name)
	if module == nil {
		hint := diag.DidYouMean(name, registry.Names())
		if hint == "" {
			hint = "tenet doc lists the modules"
		}
		return nil, nil, usage(hint, "there is no module %q", name)
	}
	if module.IsAct() {
		return nil, nil, usage("import what it works on, such as a file, a package or a service",
			"%s acts, and leaves nothing that could be read", name)
	}
	facts, err := s.facts(h)
	if err != nil {
		return nil, nil, err
	}
	a := arguments{module: module, values: map[string]any{}, ctx: ctx, home: func() (string, error) {
		home, err := facts.Fact("home")
		return fmt.Sprint(home), err
	}}
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
	return module, a.values, nil
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

// unimportable explains why a part cannot be given.
func unimportable(m *states.Module, keys map[string]any, err error) error {
	what := m.Name
	if names := m.Keys(); len(names) > 0 {
		what = states.LabelAddress(m.Name, fmt.Sprint(keys[names[0]]))
	}
	_, isWrong := errors.AsType[*states.AttributeError](err)
	left, isLeft := errors.AsType[*importer.OmissionError](err)
	switch {
	case errors.Is(err, importer.ErrNotThere):
		return newStatus(exitFailed, fmt.Errorf("%s is not on this machine", what), "tenet import --all lists what is there")
	case isWrong:
		return &status{exitUsage, fmt.Errorf("%s: %w", what, err)}
	case isLeft && left.Secret:
		err = &diag.HintError{Err: err, Hint: `keep it with "tenet secret", and write the part by hand with content = secret("NAME")`}
	}
	return failure(fmt.Errorf("%s: %w", what, err))
}
