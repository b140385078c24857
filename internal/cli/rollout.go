package cli

import (
	"context"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang"
)

// rolloutFlags are the flags that say how many hosts at a time, and when it stops.
type rolloutFlags struct {
	Batch       string `help:"Apply to so many hosts at a time, batch by batch: 1,10%,100%." placeholder:"N|P%,…" group:"rollout"`
	MaxFailures string `help:"Stop before the next batch when more hosts have failed." placeholder:"N|P%" group:"rollout"`
	Pause       *span  `help:"Wait this long between batches." placeholder:"DURATION" group:"rollout"`
	Order       string `help:"Take hosts in this order: inventory or shuffle." placeholder:"ORDER" group:"rollout"`
}

// areGiven reports whether one of them is.
func (r *rolloutFlags) areGiven() bool { return *r != (rolloutFlags{}) }

// check refuses what cannot be meant.
func (r *rolloutFlags) check() error { return r.override(&lang.Rollout{}) }

// override puts the flags that are given in the place of what the site says. Its stages
// stay, but batches and failures of their own do not.
func (r *rolloutFlags) override(out *lang.Rollout) error {
	const hint = "write a number of hosts or a share of them, such as 3 or 10%"
	if r.Batch != "" {
		batch, err := lang.ParseBatch(r.Batch)
		if err != nil {
			return usage(hint+", with commas between them", "--batch: %w", err)
		}
		out.Batch = batch
	}
	if r.MaxFailures != "" {
		most, err := lang.ParseAmount(r.MaxFailures)
		if err != nil {
			return usage(hint, "--max-failures: %w", err)
		}
		out.MaxFailures = &most
	}
	if r.Pause != nil {
		out.Pause = time.Duration(*r.Pause)
	}
	if r.Order != "" {
		if !slices.Contains(lang.Orders(), r.Order) {
			return usage("write inventory or shuffle", "--order cannot be %q", r.Order)
		}
		out.Order = r.Order
	}
	for i := range out.Stages {
		if r.Batch != "" {
			out.Stages[i].Batch = nil
		}
		if r.MaxFailures != "" {
			out.Stages[i].MaxFailures = nil
		}
	}
	return nil
}

// rollout is how the site and the flags want an apply to go; nil: to all hosts at once.
func (s *client) rollout(ctx context.Context, cmd *applyCmd, v *fleetRun) (*lang.Rollout, error) {
	if !v.hasNames {
		if cmd.rolloutFlags.areGiven() {
			return nil, usage("leave it out", "a rollout is over several hosts, and this is about one machine")
		}
		return nil, nil
	}
	stop := s.limitEvaluation()
	wanted, diags := v.site.Rollout(ctx, v.site.Target, v.hosts)
	stop()
	if err := s.diagnose(v.site, diags); err != nil {
		return nil, err
	}
	if wanted == nil {
		if !cmd.rolloutFlags.areGiven() {
			return nil, nil
		}
		wanted = &lang.Rollout{}
	}
	if err := cmd.rolloutFlags.override(wanted); err != nil {
		return nil, err
	}
	return wanted, nil
}
