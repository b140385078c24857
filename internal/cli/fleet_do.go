package cli

import (
	"context"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
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
	v := &fleetRun{client: s, site: m.site, hosts: m.hosts, origin: adHoc, place: adHoc, facts: []string{"home"}}
	v.jobOf = func(ctx context.Context, m *fleet.Member, known *machine.Facts) (*machine.Job, error) {
		facts, err := v.factsFrom(known)
		if err != nil {
			return nil, err
		}
		return cmd.job(ctx, s, m.Name, facts)
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
