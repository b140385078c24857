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

type planCmd struct {
	siteArg
	detailFlags
	pruneFlags
	Save string `name:"out" short:"o" help:"Save the plan in this file, for tenet apply FILE." placeholder:"FILE"`
}

// Run shows what apply would do.
func (cmd *planCmd) Run(ctx runContext, s *client) error {
	s.prune = cmd.Prune
	if cmd.Save != "" {
		if err := maySave(cmd.Save); err != nil {
			return err
		}
	}
	v, err := s.siteRun(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if cmd.Save != "" && len(v.hosts) > 1 {
		return usage("name one with --limit", "-o saves the plan of one host, and these are %d", len(v.hosts))
	}
	var outcomes []fleet.Outcome
	if cmd.Save != "" {
		outcomes, err = v.planAndSave(ctx, cmd.Site, cmd.Save)
	} else {
		outcomes, err = v.plan(ctx)
	}
	if err == nil && !v.hasNames && outcomes[0].Result != nil {
		err = s.noteObstacles()
	}
	if err != nil {
		return err
	}
	return v.exitStatus(outcomes, cmd.DetailedExitcode)
}
