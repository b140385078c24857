package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fleet"
)

// checkExchange reports hosts of the site that read outputs of others which do not come before them.
func (s *client) checkExchange(ctx context.Context, c *site, x *fleet.Exchange, hosts []lang.Host) error {
	if !c.HasOutputs() {
		return nil
	}
	rollout, _ := c.Rollout(ctx, c.Target, hosts) // whatever is wrong with it was told
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	needs, _ := x.Needs(func(name string) bool { return slices.Contains(names, name) })
	return s.checkOrder(c, x, needs, rollout, names)
}

// checkOrder reports hosts that read outputs of others which do not come before them.
func (s *client) checkOrder(c *site, x *fleet.Exchange, needs map[string][]string, rollout *lang.Rollout, names []string) error {
	r := lang.Rollout{}
	if rollout != nil {
		r = *rollout
		r.Order = ""
	}
	_, err := fleet.BatchesInOrder(&r, 0, names, needs)
	var wrong *fleet.OrderError
	switch {
	case errors.As(err, &wrong):
		return s.diagnose(c, diag.List{x.Diagnostic(wrong)})
	case err != nil:
		return newStatus(exitSite, err, diag.HintOf(err))
	}
	return nil
}
