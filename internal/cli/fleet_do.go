package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// doOnHosts applies one part on hosts, as apply does with a site.
func (s *client) doOnHosts(ctx context.Context, cmd *doCmd) error {
	// What is wrong with it is wrong whatever a host's home is.
	if _, _, err := cmd.part(ctx, func() (string, error) { return "/", nil }); err != nil {
		return err
	}
	if !cmd.Plan {
		if err := s.mayAsk(cmd.Yes, "do", "--plan"); err != nil {
			return err
		}
	}
	m, err := s.declaredTargets(ctx)
	if err != nil {
		return err
	}
	from, err := os.Hostname()
	if err != nil {
		return failed(err)
	}
	m.site.origin = adHoc
	v := &several{client: s, site: m.site, hosts: m.hosts, origin: adHoc, from: from, facts: []string{"home"}}
	v.runOf = func(ctx context.Context, name string, told *machine.Facts) (*site, error) {
		return v.partFor(ctx, cmd, name, told)
	}
	if err := v.reach(ctx); err != nil {
		return err
	}
	if !cmd.Plan {
		return v.applyAll(ctx, cmd.Yes, cmd.DetailedExitcode, nil)
	}
	outcomes, err := v.plan(ctx)
	if err != nil {
		return err
	}
	return v.ended(outcomes, cmd.DetailedExitcode)
}

// partFor makes the run of the only part for a host.
func (v *several) partFor(ctx context.Context, cmd *doCmd, name string, told *machine.Facts) (*site, error) {
	facts, err := v.factsFrom(told)
	if err != nil {
		return nil, err
	}
	c, declarations, err := cmd.site(ctx, name, func() (string, error) {
		home, err := facts("home")
		return fmt.Sprint(home), err
	})
	if err != nil {
		return nil, err
	}
	diags, err := v.compiled(c, declarations)
	if err == nil && diags.HasErrors() {
		err = diags
	}
	if err != nil {
		return nil, err
	}
	c.forgetPlanner()
	return c, nil
}

// site is a site of nothing but the part.
func (cmd *doCmd) site(ctx context.Context, host string, home func() (string, error)) (*site, *states.Declarations, error) {
	part, sources, err := cmd.part(ctx, home)
	if err != nil {
		return nil, nil, err
	}
	// As a target it runs, whatever its type: nothing here would notify a handler.
	return &site{sources: sources, origin: adHoc, targets: []string{part.Address}}, &states.Declarations{Host: host, List: []states.Declaration{{
		Address: part.Address, Base: part.Base, TopLevel: true, Parts: []states.PartDeclaration{part}, Range: part.Range,
	}}}, nil
}
