package cli

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// resume goes on with a run where it ended, or with those of hosts.
func (s *client) resume(ctx context.Context, cmd *applyCmd) error {
	hosts, x, err := s.recordTargets(ctx, cmd.Resume)
	if err != nil {
		return err
	}
	if hosts.named {
		if err := s.mayResume(cmd, true); err != nil {
			return err
		}
		return s.resumeHosts(ctx, cmd, hosts, x)
	}
	id := cmd.Resume
	if id == lastRun {
		id = ""
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	local, err := s.runner(h)
	if err != nil {
		return err
	}
	// Whatever comes of it, it is not tried again at each start of the machine.
	if err := local.Arrived(id); err != nil {
		return failed(err)
	}
	if err := s.mayResume(cmd, false); err != nil {
		return err
	}
	run, err := local.Find(id)
	if err != nil {
		return s.ran(err)
	}
	if err := s.sameRoot(run.Root); err != nil {
		return err
	}
	local.Root = s.globals.Root
	if local.Host, err = s.newHost(); err != nil {
		return err
	}
	password, err := s.becomePassword(ctx)
	if err != nil {
		return err
	}
	v := s.view(func(begun machine.Started) ui.Renderer {
		return s.renderer(begun.Job)
	})
	result, err := local.Resume(ctx, machine.Resumption{
		Run: machine.RunRef{ID: run.Run}, Parallel: s.globals.Parallel, LockTimeout: s.lockTimeout,
		Become: machine.Become{Method: s.globals.BecomeMethod, Password: password},
	}, v.observer())
	if err := s.ran(v.end(err)); err != nil {
		return err
	}
	return exitCode(result, cmd.DetailedExitcode)
}

// mayResume refuses what says something else than the run itself. Of hosts some may be
// selected, and be taken one after the other.
func (s *client) mayResume(cmd *applyCmd, hosts bool) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"a site", cmd.Site != "."}, {"--until-converged", cmd.UntilConverged != nil}, {"--prune", cmd.Prune}, {"--partial", cmd.Partial},
		{"a rollout", cmd.rollingOut.given() && !hosts},
	} {
		if f.given {
			return usage("apply the site for that", "--resume goes on with a run as it was begun, and %s is for another one", f.name)
		}
	}
	return s.onlySite("a run that goes on as it was begun", "apply the site for that", hosts)
}

// sameRoot makes sure that a run goes on on the tree that it was begun on.
func (s *client) sameRoot(root string) error {
	given := s.globals.Root
	if given == "" {
		s.globals.Root = root
		return nil
	}
	a, err := filepath.Abs(given)
	if err != nil {
		return failed(err)
	}
	if root == "" {
		root = "/"
	}
	if b, err := filepath.Abs(root); err != nil || a != b {
		return usage("leave --root away", "the run acts on %s, and not on %s", root, given)
	}
	return nil
}

// filesOf opens the files that a run may need, in its plan or in its site.
func (s *client) filesOf(ctx context.Context, run journal.Status) (fs.FS, error) {
	if run.Plan != "" && isPlanFile(run.Plan) {
		plan, err := s.openPlan(ctx, run.Plan)
		if err != nil {
			return nil, err
		}
		return plan.Files, nil
	}
	origin := run.Origin
	if name, err := os.Hostname(); err == nil { // as other machines are told
		origin = strings.TrimPrefix(origin, name+":")
	}
	if !filepath.IsAbs(origin) { // what it needs has come in a bundle
		return nil, nil
	}
	site, err := s.openSite(ctx, origin)
	if err != nil {
		return nil, err
	}
	return site.Files(), nil
}
