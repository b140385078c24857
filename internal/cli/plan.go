package cli

import "github.com/tenetcm/tenet/runtime/fleet"

// siteArg is the site that a command is about.
type siteArg struct {
	Site string `arg:"" optional:"" default:"." help:"Directory with state files, or one such file."`
}

// detailFlags makes changes visible in the exit status.
type detailFlags struct {
	DetailedExitcode bool `help:"End with 2 when there are or were changes."`
}

// summaryFlags shows less of plans.
type summaryFlags struct {
	Summary bool `help:"Print no more than a line for each host."`
}

type planCmd struct {
	siteArg
	detailFlags
	pruneFlags
	ruleFlags
	summaryFlags
	Save string `name:"out" short:"o" help:"Save the plan in this file, for tenet apply FILE." placeholder:"FILE"`
}

// Run shows what apply would do.
func (cmd *planCmd) Run(ctx runContext, s *client) error {
	s.prune, s.summary, s.allowEmpty, s.former = cmd.Prune, cmd.Summary, cmd.Empty, cmd.From
	if cmd.Save != "" {
		if err := maySave(cmd.Save); err != nil {
			return err
		}
	}
	v, err := s.siteRun(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if cmd.Summary && !v.hasNames {
		s.globals.Quiet = true
	}
	var outcomes []fleet.Outcome
	if v.rollout, err = s.rollout(ctx, &applyCmd{}, v); err != nil {
		return err
	}
	if err := v.noteDue(); err != nil {
		return err
	}
	if cmd.Save != "" {
		outcomes, err = v.planAndSave(ctx, cmd.Site, cmd.Save, v.rollout)
	} else {
		outcomes, err = v.plan(ctx)
	}
	if err == nil && !v.hasNames && outcomes[0].Result != nil {
		err = s.noteObstacles(v.site.Name())
	}
	if err != nil {
		return err
	}
	return v.exitStatus(outcomes, cmd.DetailedExitcode)
}
