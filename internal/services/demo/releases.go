package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/tenetcm/tenet/server/api/client"
)

// untouched is how long a deployment waits for whoever looks at the demo, before the approver looks at it.
const untouched = 3 * time.Minute

// isUnderWay tells whether a deployment of a site goes on, or was paused. One that waits for an approval is none of these.
func (d *Demo) isUnderWay(ctx context.Context, site string) (bool, error) {
	for one, err := range d.as(operator).Deployments(ctx, site) {
		if err != nil || one.Phase == "rolling" || one.Phase == "paused" || one.Phase == "planned" && one.Consent == "" {
			return true, err
		}
	}
	return false, nil
}

// release has a program upload the next release of the shop, and an operator deploy it, unless one is on its way.
func (d *Demo) release(ctx context.Context) error {
	for one, err := range d.as(operator).Deployments(ctx, "shop") {
		if err != nil || one.Phase == "planned" { // it would be superseded before anybody has looked
			return err
		}
	}
	if is, err := d.isUnderWay(ctx, "shop"); is || err != nil {
		return err
	}
	n := d.count("release")
	f, err := revision("shop", 2, d.machines)
	if err != nil {
		return err
	}
	// They come around again: who uploads the same files once more has the revision that there is.
	version := fmt.Sprintf("4.%d.%d", 3+n/4%6, n%4)
	message := "release " + version + []string{": smaller pictures (SHOP-911)", ": gift cards (SHOP-930)", ": the basket keeps its order (SHOP-934)", ": fewer queries on the front page (SHOP-941)"}[n%4]
	r, err := d.send(ctx, program, "shop", f.with("release.hcl", "4.2.0", version), message)
	if err != nil {
		return err
	}
	_, err = d.as(operator).Deploy(ctx, client.DeployRequest{Site: "shop", Revision: r.Number, Message: message})
	return err
}

// approve has the approver look at what waits. While a release is on its way for which nobody was asked, the next thing comes to wait.
func (d *Demo) approve(ctx context.Context) error {
	isAsked := true
	for one, err := range d.as(approver).Deployments(ctx, "shop") {
		if err != nil {
			return err
		}
		if one.Phase == "planned" && one.Consent == "approve" {
			return d.lookAt(ctx, one)
		}
		if one.Phase == "rolling" && one.Consent == "" {
			isAsked = false
		}
	}
	if isAsked {
		return nil
	}
	f, err := revision("shop", 3, d.machines)
	if err != nil {
		return err
	}
	wait := 60 + 15*(d.count("approve")%5)
	message := fmt.Sprintf("proxies: servers may take %d seconds (SHOP-902)", wait)
	r, err := d.send(ctx, program, "shop", f.with("haproxy.cfg.tmpl", "timeout server 60s", fmt.Sprintf("timeout server %ds", wait)), message)
	if err != nil {
		return err
	}
	_, err = d.as(operator).Deploy(ctx, client.DeployRequest{Site: "shop", Revision: r.Number, Consent: "approve", Message: message})
	return err
}

// lookAt approves what has waited for a while, unless something else is under way.
func (d *Demo) lookAt(ctx context.Context, one client.Deployment) error {
	if time.Since(one.At) < untouched {
		return nil
	}
	if is, err := d.isUnderWay(ctx, "shop"); is || err != nil {
		return err
	}
	shown, err := d.as(approver).Deployment(ctx, one.ID)
	if err != nil || shown.Plan == nil {
		return err
	}
	_, err = d.as(approver).Consent(ctx, one.ID, "approve", shown.Plan.Digest, "looks right, and the office is staffed")
	return err
}

// deployBuilds has the operator see whether all machines that build are as they should be.
func (d *Demo) deployBuilds(ctx context.Context) error {
	if len(named(d.machines, kindsOf("builds")...)) == 0 {
		return nil
	}
	_, err := d.deploy(ctx, operator, "builds", 1, "builds: once more, after a look at build1")
	return err
}

// goOnWithMetrics has the operator go on with what was paused, pause what goes on, or begin anew.
func (d *Demo) goOnWithMetrics(ctx context.Context) error {
	if len(named(d.machines, kindsOf("metrics")...)) == 0 {
		return nil
	}
	for one, err := range d.as(operator).Deployments(ctx, "metrics") {
		switch {
		case err != nil:
			return err
		case one.Phase == "paused":
			_, err = d.as(operator).Steer(ctx, one.ID, "continue", "it was the graphs, not the machines")
			return err
		case one.Phase == "rolling":
			_, err = d.as(operator).Steer(ctx, one.ID, "pause", "somebody else works on these machines")
			return err
		}
	}
	number := 1 + 2*(d.count("metrics")%2)
	_, err := d.deploy(ctx, operator, "metrics", number, []string{"metrics: processes are not counted any more", "metrics: count processes again; one machine after the other"}[number/2])
	return err
}
