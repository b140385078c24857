package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/fleet"
)

type whyCmd struct {
	Address string `arg:"" help:"Address of a state, a run, a block or a part."`
	siteArg
}

// Run explains why something runs.
func (cmd *whyCmd) Run(ctx runContext, s *client) error {
	site, c, err := s.compile(ctx, cmd.Site)
	if err != nil {
		return err
	}
	explanation, err := graph.Why(c.Result, cmd.Address)
	if err != nil {
		return usage("tenet compile lists the addresses", "%w", err)
	}
	if hooks, err := s.hooksOfState(ctx, site, explanation.Address); err != nil {
		return err
	} else if len(hooks) > 0 {
		explanation.Runs = strings.Join(hooks, "; ")
	}
	if s.globals.JSON {
		return s.printJSON(explanation)
	}
	return failure(explanation.Text(s.Out))
}

// hooksOfState says around which batches the rollout runs a state on the chosen host.
func (s *client) hooksOfState(ctx context.Context, c *site, address string) (list []string, err error) {
	if c.Target.Host == "" {
		return nil, nil
	}
	stop := s.limitEvaluation()
	rollout, diags := c.Rollout(ctx, c.Target, nil)
	stop()
	if err := s.diagnose(c, diags); err != nil || !rollout.HasHooks() {
		return nil, err
	}
	add := func(where string, kind fleet.HookKind, hooks []lang.Hook) {
		for _, h := range hooks {
			if h.State == address && slices.Contains(h.Hosts, c.Target.Host) {
				list = append(list, fmt.Sprintf("around batches of %s with something to do, as %s", where, kind))
			}
		}
	}
	add("hosts of no stage", fleet.BeforeEach, rollout.BeforeEach)
	add("hosts of no stage", fleet.AfterEach, rollout.AfterEach)
	for _, stage := range rollout.Stages {
		add("stage "+stage.Name, fleet.BeforeEach, stage.BeforeEach)
		add("stage "+stage.Name, fleet.AfterEach, stage.AfterEach)
	}
	return slices.Compact(list), nil
}
