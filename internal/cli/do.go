package cli

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

type doCmd struct {
	Type   string   `arg:"" help:"Module, such as file, or one of the site in the current directory."`
	Label  string   `arg:"" help:"Value of the key attribute, such as a path."`
	Values []string `arg:"" optional:"" name:"attr=value" help:"Attributes; ensure=absent removes it. Lists and maps are written as in a state file."`
	Plan   bool     `help:"Only show what it would do."`
	consent
	detailFlags
	lockFlags

	modules *modulesHere // once Run has begun
}

// Run applies one part.
func (cmd *doCmd) Run(ctx runContext, s *client) error {
	s.lockTimeout = time.Duration(cmd.LockTimeout)
	var err error
	if cmd.modules, err = newModulesHere(); err != nil {
		return err
	}
	if cmd.modules.broken(cmd.Type) {
		return s.show(cmd.modules.list, cmd.modules.own.Source)
	}
	// What is wrong with it is wrong whatever a host's home is.
	if _, _, err := cmd.part(ctx, func() (string, error) { return "/", nil }); err != nil {
		return err
	}
	if !cmd.Plan {
		if err := s.mayAsk(cmd.Yes, "do", "--plan"); err != nil {
			return err
		}
	}
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	v := &fleetRun{client: s, newRenderer: s.renderer, hasNames: t.hasNames, site: t.site, hosts: t.hosts, members: t.members, origin: adHoc, place: adHoc, facts: []string{"home"}}
	if v.hasNames {
		err = v.reach(ctx)
	} else {
		v.facts = nil
		_, err = s.becomePassword(ctx)
	}
	if err != nil {
		return err
	}
	v.jobOf = func(ctx context.Context, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
		facts, err := v.factsFrom(known)
		if err != nil {
			return nil, err
		}
		return cmd.job(ctx, s, cmp.Or(m.Name, localhost), facts)
	}
	if !cmd.Plan {
		return v.applyAll(ctx, cmd.Yes, cmd.DetailedExitcode, nil)
	}
	outcomes, err := v.plan(ctx)
	if err != nil {
		return err
	}
	return v.exitStatus(outcomes, cmd.DetailedExitcode)
}

// job is one of nothing but the part.
func (cmd *doCmd) job(ctx context.Context, s *client, host string, facts func(name string) (any, error)) (*machine.Job, error) {
	part, sources, err := cmd.part(ctx, func() (string, error) {
		home, err := facts("home")
		return fmt.Sprint(home), err
	})
	if err != nil {
		return nil, err
	}
	stop := s.limitEvaluation()
	defer stop()
	result, diags := graph.Compile(&states.Declarations{Host: host, List: []states.Declaration{{
		Address: part.Address, Base: part.Base, TopLevel: true, Parts: []states.PartDeclaration{part}, Range: part.Range,
	}}}, graph.Options{Registry: cmd.modules.Registry})
	if err := s.show(diags, nil); err != nil {
		return nil, err
	}
	// As a target it runs, whatever its type: nothing here would notify a handler.
	run, diags := result.Select(graph.Selection{Targets: slices.Concat([]string{part.Address}, s.globals.Target), Tags: s.globals.Tags, Exclude: s.globals.Exclude})
	if diags.HasErrors() {
		return nil, s.wrongSelection(diags)
	}
	j := &machine.Job{Run: run, Registry: cmd.modules.Registry, Files: sources, Origin: adHoc, Places: result.Sources}
	if cmd.modules.own.File(cmd.Type) != "" {
		j.Modules = []machine.Modules{{Dir: ".", Files: cmd.modules.own.Files()}}
	}
	return j, s.show(diags, nil)
}

// part makes the declaration of the arguments, and the file system of the
// files that these name. home gives the acting user's home directory.
func (cmd *doCmd) part(ctx context.Context, home func() (string, error)) (states.PartDeclaration, fs.FS, error) {
	address := states.LabelAddress(cmd.Type, cmd.Label)
	p := states.PartDeclaration{
		Address: address, Base: address, Type: cmd.Type, Values: map[string]any{},
		Range: diag.Range{File: "the command line"},
	}
	registry := cmd.modules.Registry
	module := registry.Lookup(cmd.Type)
	if module == nil {
		hint := diag.DidYouMean(cmd.Type, registry.Names())
		if hint == "" {
			hint = "tenet doc lists the modules"
		}
		return p, nil, usage(hint, "there is no module %q", cmd.Type)
	}
	a := arguments{module: module, values: p.Values, home: home, ctx: ctx}
	for _, pair := range cmd.Values {
		if err := a.take(pair); err != nil {
			return p, nil, err
		}
	}
	if keys := module.Keys(); len(keys) > 0 && p.Values[keys[0]] == nil {
		if err := a.set(module.Attribute(keys[0]), cmd.Label); err != nil {
			return p, nil, a.usageError(err)
		}
	}
	if a.ensure == states.Absent && module.NoAbsent != "" {
		return p, nil, usage("", "%s cannot be absent: %s", cmd.Type, module.NoAbsent)
	}
	resource, err := module.Decode(p.Values, a.sources)
	if err == nil {
		err = module.Check(resource)
	}
	if err != nil {
		return p, nil, a.usageError(err)
	}
	p.Options.Ensure = a.ensure
	p.Key, p.Paths = module.Key(p.Values), module.Paths(p.Values)
	for _, attribute := range module.Attributes {
		if _, given := p.Values[attribute.Name]; given && attribute.Sensitive {
			p.Sensitive = append(p.Sensitive, attribute.Name)
		}
	}
	if cmd.modules.own.File(cmd.Type) == "" {
		return p, a.sources, nil
	}
	if a.sources != nil {
		return p, nil, usage("write it into a state file", "a module of the site takes no files of this machine here")
	}
	files, err := cmd.modules.files(ctx)
	return p, files, err
}
