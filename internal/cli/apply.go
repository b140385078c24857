package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
)

// lockFlags says how long to wait for another apply.
type lockFlags struct {
	LockTimeout span `help:"Wait this long for another apply to end." default:"0s" placeholder:"DURATION"`
}

// consent is how an apply gets leave to change the machine.
type consent struct {
	Yes bool `short:"y" help:"Do not ask."`
}

type applyCmd struct {
	Site string `arg:"" optional:"" default:"." help:"Directory with state files, one such file, or a saved plan."`
	consent
	detailFlags
	convergeFlags
	lockFlags
	pruneFlags
	ruleFlags
	rolloutFlags
	Wait    patience `help:"Wait for members of clusters that are away, for 5m or --wait=DURATION."`
	Resume  string   `help:"Go on with this run, which did not end, or failed, with those of an execution on its hosts, or with the last one." placeholder:"ID|last"`
	Once    bool     `help:"Apply also where an agent keeps the host as this site says, until the agent looks next."`
	Partial bool     `help:"Of a saved plan that does not fit any more, do what still fits."`
}

// Run applies a site, or a saved plan.
func (cmd *applyCmd) Run(ctx runContext, s *client) error {
	if err := cmd.convergeFlags.check(); err != nil {
		return err
	}
	if cmd.UntilConverged != nil && len(cmd.From) > 0 {
		return usage("leave out one of them", "--from says what was there before one apply, and --until-converged is for several")
	}
	if err := cmd.rolloutFlags.check(); err != nil {
		return err
	}
	s.lockTimeout = time.Duration(cmd.LockTimeout)
	s.prune, s.once, s.clusterPatience = cmd.Prune, cmd.Once, time.Duration(cmd.Wait.span)
	s.allowEmpty, s.former = cmd.Empty, cmd.From
	if cmd.Resume != "" {
		return s.resume(ctx, cmd)
	}
	if isPlanFile(cmd.Site) {
		if cmd.Prune {
			return usage("give it to tenet plan -o FILE", "--prune is for plans, and this is one that is saved")
		}
		if flag := cmd.ruleFlags.firstGiven(); flag != "" {
			return usage("give it to tenet plan -o FILE", "%s is for plans, and this is one that is saved", flag)
		}
		return s.applyPlan(ctx, cmd)
	}
	if cmd.Partial {
		return usage("tenet plan -o FILE saves a plan", "--partial is for saved plans")
	}
	if _, err := siteAt(cmd.Site); err != nil { // before anybody is told to consent to it
		return err
	}
	if err := s.mayAsk(cmd.Yes, "apply", "tenet plan"); err != nil {
		return err
	}
	if cmd.UntilConverged != nil {
		s.shownDiagnostics = &shownDiagnostics{}
	}
	v, err := s.siteRun(ctx, cmd.Site)
	if err != nil {
		return err
	}
	rollout, err := s.rollout(ctx, cmd, v)
	if err != nil {
		return err
	}
	if cmd.UntilConverged != nil {
		return v.convergeAll(ctx, cmd, rollout)
	}
	return v.applyAll(ctx, cmd.Yes, cmd.DetailedExitcode, rollout)
}

// mayAsk reports wrong usage where nobody could answer the command; look is how
// to see first what it would do.
func (s *client) mayAsk(yes bool, command, look string) error {
	_, in := terminal(s.In)
	_, out := terminal(s.Out)
	if yes || in && out && !s.globals.JSON {
		return nil
	}
	return usage("give --yes, or look first with "+look, "%s asks before it changes anything, and there is no terminal to ask on", command)
}

// ask waits for an answer, or for the end of ctx.
func (c *console) ask(ctx context.Context, in *bufio.Reader, question string) (bool, error) {
	fmt.Fprint(c.Out, "\n"+question+" [y/N] ")
	type reply struct {
		text string
		err  error
	}
	answered := make(chan reply, 1)
	fault.Go(func() {
		text, err := in.ReadString('\n')
		answered <- reply{text, err}
	})
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.Out)
		return false, &status{code: exitInterrupted, err: errInterrupted}
	case a := <-answered:
		if a.err != nil && a.err != io.EOF {
			return false, failure(a.err)
		}
		switch strings.ToLower(strings.TrimSpace(a.text)) {
		case "y", "yes":
			return true, nil
		}
		fmt.Fprintln(c.Out, "Nothing was changed.")
		return false, nil
	}
}
