package cli

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/tenetcm/tenet/runtime/journal"
)

// lastRun stands for the latest run of a machine, whatever its ID.
const lastRun = "last"

// resume lets machines go on, each with its own run where it ended: that of an execution, or
// its last one. On hosts it is an execution of its own.
func (s *client) resume(ctx context.Context, cmd *applyCmd) error {
	t, x, err := s.recordTargets(ctx, cmd.Resume)
	if err != nil {
		return err
	}
	id := cmd.Resume
	switch {
	case x != nil:
		id = x.ID
	case id == lastRun:
		id = ""
	}
	v := &fleetRun{client: s, newRenderer: s.renderer, hasNames: t.hasNames, hosts: t.hosts, isResumption: true, resumes: x}
	if t.hasNames {
		err = v.prepareHosts(ctx, cmd, t)
	} else {
		id, err = v.prepareHere(ctx, cmd, id)
	}
	if err != nil {
		return err
	}
	rollout, err := cmd.rolloutFlags.withoutSite()
	if err != nil {
		return err
	}
	if err := v.resumeDue(ctx); err != nil {
		return err
	}
	outcomes, err := v.execute(ctx, v.resumption(id), v.members, rollout)
	if err != nil {
		return err
	}
	return v.exitStatus(outcomes, cmd.DetailedExitcode)
}

// prepareHere makes ready to go on with a run of this machine, and gives its ID.
func (v *fleetRun) prepareHere(ctx context.Context, cmd *applyCmd, id string) (string, error) {
	h, err := v.newHost()
	if err != nil {
		return "", err
	}
	local, err := v.runner(h)
	if err != nil {
		return "", err
	}
	// Whatever comes of it, it is not tried again at each start of the machine.
	if err := local.Arrived(id); err != nil {
		return "", failure(err)
	}
	if err := v.mayResume(cmd, false); err != nil {
		return "", err
	}
	run, err := local.Find(id)
	if err != nil {
		return "", v.ran(err)
	}
	if err := v.sameRoot(run.Root); err != nil {
		return "", err
	}
	t, err := v.thisMachine() // on that root
	if err != nil {
		return "", err
	}
	v.members = t.members
	_, err = v.becomePassword(ctx)
	return run.Run, err
}

// mayResume refuses what says something else than the run itself. Of hosts some may be
// selected, and be taken one after the other.
func (s *client) mayResume(cmd *applyCmd, hosts bool) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"a site", cmd.Site != "."}, {"--until-converged", cmd.UntilConverged != nil}, {"--prune", cmd.Prune}, {"--empty", cmd.Empty}, {"--from", len(cmd.From) > 0}, {"--partial", cmd.Partial},
		{"a rollout", cmd.rolloutFlags.areGiven() && !hosts},
	} {
		if f.given {
			return usage("apply the site for that", "--resume goes on with a run as it was begun, and %s is for another one", f.name)
		}
	}
	var allowed []string
	if hosts { // what hooks have left due may need variables: resumeDue knows
		allowed = []string{"limit", "var", "var-file", "data"}
	}
	return s.onlySite("a run that goes on as it was begun", "apply the site for that", allowed...)
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
		return failure(err)
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
		plan, several, err := s.openPlan(ctx, run.Plan)
		switch {
		case err != nil:
			return nil, err
		case several != nil:
			return several.Files, nil
		}
		return plan.Files, nil
	}
	origin := placeOf(run.Origin)
	if !filepath.IsAbs(origin) { // what it needs has come in a bundle
		return nil, nil
	}
	site, err := s.openSite(ctx, origin)
	if err != nil {
		return nil, err
	}
	return site.Files(), nil
}
