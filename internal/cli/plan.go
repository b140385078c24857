package cli

import "github.com/tenetcm/tenet/runtime/machine"

// siteArg is the site that a command is about.
type siteArg struct {
	Site string `arg:"" optional:"" default:"." help:"Directory with state files, or one such file."`
}

// detailed makes changes visible in the exit status.
type detailed struct {
	DetailedExitcode bool `help:"End with 2 when there are or were changes."`
}

type planCmd struct {
	siteArg
	detailed
	pruning
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
	c, hosts, err := s.chosen(ctx, cmd.Site)
	if err != nil {
		return err
	}
	if hosts != nil {
		return s.planHosts(ctx, cmd, c, hosts)
	}
	j, err := s.jobHere(ctx, c)
	if err != nil {
		return err
	}
	var result *machine.Result
	if cmd.Save != "" {
		result, err = s.savePlan(ctx, c, j, cmd.Site, cmd.Save)
	} else {
		result, err = s.showPlan(ctx, j)
	}
	if err == nil {
		err = s.noteObstacles()
	}
	if err != nil {
		return err
	}
	return exitCode(result, cmd.DetailedExitcode)
}
