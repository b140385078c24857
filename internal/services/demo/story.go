package demo

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/server/api/client"
)

// upload gives the server a revision of a site, by its number among the files here.
func (d *Demo) upload(ctx context.Context, by, site string, number int, message string) (client.Revision, error) {
	f, err := revision(site, number, d.machines)
	if err != nil {
		return client.Revision{}, err
	}
	return d.send(ctx, by, site, f, message)
}

// send gives the server files as a revision of a site.
func (d *Demo) send(ctx context.Context, by, site string, f files, message string) (client.Revision, error) {
	data, err := f.archive()
	if err != nil {
		return client.Revision{}, err
	}
	return d.as(by).Upload(ctx, site, data, message)
}

// deploy uploads a revision and has it deployed, with the same message.
func (d *Demo) deploy(ctx context.Context, by, site string, number int, message string) (client.Deployment, error) {
	r, err := d.upload(ctx, by, site, number, message)
	if err != nil {
		return client.Deployment{}, err
	}
	return d.as(by).Deploy(ctx, client.DeployRequest{Site: site, Revision: r.Number, Message: message})
}

// awaitPhase waits until a deployment is in one of some phases.
func (d *Demo) awaitPhase(ctx context.Context, id int64, phases ...string) (now client.Deployment, err error) {
	err = await(ctx, fmt.Sprintf("deployment %d is %v", id, phases), func() (bool, error) {
		var err error
		if now, err = d.as(d.Admin).Deployment(ctx, id); err != nil {
			return false, err
		}
		for _, phase := range phases {
			if now.Phase == phase {
				return true, nil
			}
		}
		return false, nil
	})
	return now, err
}

// endPhases are the phases in which a deployment changes nothing by itself.
func endPhases() []string { return []string{"done", "failed", "aborted", "superseded"} }

// beginBase has what every machine has: two revisions, of which a machine was taken back to the former one.
func (d *Demo) beginBase(ctx context.Context) error {
	one, err := d.deploy(ctx, operator, "base", 1, "base: the same clock, accounts and message on all machines")
	if err != nil {
		return err
	}
	next, err := d.upload(ctx, operator, "base", 2, "time: two servers of our own in place of the pool (INFRA-214)")
	if err != nil {
		return err
	}
	if _, err := d.awaitPhase(ctx, one.ID, endPhases()...); err != nil {
		return err
	}
	two, err := d.as(operator).Deploy(ctx, client.DeployRequest{Site: "base", Revision: next.Number, Message: next.Message})
	if err != nil {
		return err
	}
	if _, err := d.awaitPhase(ctx, two.ID, endPhases()...); err != nil {
		return err
	}
	return d.pin(ctx)
}

// pinned is the machine that is taken back to a former revision of base.
func (d *Demo) pinned() string {
	return named(d.machines, "web")[min(1, len(named(d.machines, "web"))-1)]
}

func (d *Demo) pin(ctx context.Context) error {
	_, err := d.as(operator).Rollback(ctx, "base", client.RollbackRequest{Hosts: d.pinned(), Reason: "its clock jumps since the new servers; looking into it (INFRA-231)"})
	return err
}

// beginShop has a release that is there, one that is on its way, and one that somebody has to approve.
func (d *Demo) beginShop(ctx context.Context) error {
	one, err := d.deploy(ctx, program, "shop", 1, "release 4.1.0")
	if err != nil {
		return err
	}
	two, err := d.upload(ctx, program, "shop", 2, "release 4.2.0: warm the caches before buyers come (SHOP-877)")
	if err != nil {
		return err
	}
	three, err := d.upload(ctx, program, "shop", 3, "release 4.3.0: longer timeouts for the big catalogue (SHOP-902)")
	if err != nil {
		return err
	}
	if _, err := d.awaitPhase(ctx, one.ID, endPhases()...); err != nil {
		return err
	}
	rolling, err := d.as(operator).Deploy(ctx, client.DeployRequest{Site: "shop", Revision: two.Number, Message: two.Message})
	if err != nil {
		return err
	}
	if _, err := d.awaitPhase(ctx, rolling.ID, append(endPhases(), "rolling")...); err != nil {
		return err
	}
	_, err = d.as(operator).Deploy(ctx, client.DeployRequest{Site: "shop", Revision: three.Number, Consent: "approve", Message: three.Message})
	return err
}

// beginBuilds has a deployment that fails: on one machine something is in the way.
func (d *Demo) beginBuilds(ctx context.Context) error {
	if len(named(d.machines, kindsOf("builds")...)) == 0 {
		return nil
	}
	_, err := d.deploy(ctx, operator, "builds", 1, "builds: a place for workspaces, and git")
	return err
}

// beginMetrics has a revision that is wrong for its hosts, and one that somebody has paused.
func (d *Demo) beginMetrics(ctx context.Context) error {
	if len(named(d.machines, kindsOf("metrics")...)) == 0 {
		return nil
	}
	one, err := d.deploy(ctx, operator, "metrics", 1, "metrics: numbers of all machines but the web servers")
	if err != nil {
		return err
	}
	if _, err := d.deploy(ctx, operator, "metrics", 2, "metrics: listen in the management network only"); err != nil {
		return err
	}
	next, err := d.upload(ctx, operator, "metrics", 3, "metrics: count processes, too; one machine after the other")
	if err != nil {
		return err
	}
	if _, err := d.awaitPhase(ctx, one.ID, endPhases()...); err != nil {
		return err
	}
	three, err := d.as(operator).Deploy(ctx, client.DeployRequest{Site: "metrics", Revision: next.Number, Message: next.Message})
	if err != nil {
		return err
	}
	if now, err := d.awaitPhase(ctx, three.ID, append(endPhases(), "rolling", "paused")...); err != nil || now.Phase != "rolling" {
		return err
	}
	_, err = d.as(operator).Steer(ctx, three.ID, "pause", "the graphs of the first machine look odd; back after lunch")
	return tolerate(err)
}

// beginLab has a cluster.
func (d *Demo) beginLab(ctx context.Context) error {
	if len(named(d.machines, kindsOf("lab")...)) == 0 {
		return nil
	}
	_, err := d.deploy(ctx, labTeam, "lab", 1, "lab: a bench of all machines at hand")
	return err
}
