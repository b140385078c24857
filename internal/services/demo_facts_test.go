package services

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/server/api/client"
)

// hostFacts are about hosts.
func hostFacts(ctx context.Context, c *client.Client) []fact {
	is := func(name, state string, fits func(client.Host) bool) fact {
		return fact{name, func() (bool, error) {
			for h, err := range c.Hosts(ctx, client.HostFilter{State: state}) {
				if err != nil || fits(h) {
					return err == nil, err
				}
			}
			return false, nil
		}}
	}
	status := func(name, host string, fits func(client.HostStatus) bool) fact {
		return fact{name, func() (bool, error) {
			st, err := c.HostStatus(ctx, host)
			return err == nil && fits(st), err
		}}
	}
	return []fact{
		{"twenty hosts with labels are connected, but for one", func() (bool, error) {
			labelled, connected := 0, 0
			for h, err := range c.Hosts(ctx, client.HostFilter{State: "active"}) {
				if err != nil {
					return false, err
				}
				if h.Labels["role"] != "" && h.Labels["zone"] != "" {
					labelled++
				}
				if h.Status != nil && h.Status.Reachability.Connected {
					connected++
				}
			}
			return labelled == 20 && connected == 19, nil
		}},
		is("a new host asks", "pending", func(h client.Host) bool { return h.Name == "kiosk2" && h.Replaces == nil }),
		is("a host asks by the name of another one", "pending", func(h client.Host) bool { return h.Replaces != nil && len(h.Replaces.Difference) > 1 }),
		is("a clone is locked", "locked", func(h client.Host) bool { return h.CopiedAt != nil }),
		status("a host waits for help", "build1", func(st client.HostStatus) bool {
			s := st.Sites["builds"]
			return s != nil && s.Loop != nil && s.Loop.Phase == "help"
		}),
		status("a host is only looked at, and differs", "legacy1", func(st client.HostStatus) bool {
			s := st.Sites["base"]
			return s != nil && s.Loop != nil && s.Loop.Condition == "drifted"
		}),
		status("a host was taken back to the former revision", "web2", func(st client.HostStatus) bool {
			s := st.Sites["base"]
			for _, err := range c.Audit(ctx, client.AuditFilter{Action: "host.pin", Site: "base"}) {
				return err == nil && s != nil && s.Delivery.Adopted && s.Delivery.Revision == "1"
			}
			return false
		}),
	}
}

// deploymentFact is that there is a deployment of some kind.
func deploymentFact(ctx context.Context, c *client.Client, name string, fits func(client.Deployment) bool) fact {
	return fact{name, func() (bool, error) {
		for d, err := range c.Deployments(ctx, "") {
			if err != nil || fits(d) {
				return err == nil, err
			}
		}
		return false, nil
	}}
}

// deploymentFacts are about deployments.
func deploymentFacts(ctx context.Context, c *client.Client) []fact {
	is := func(name string, fits func(client.Deployment) bool) fact { return deploymentFact(ctx, c, name, fits) }
	return []fact{
		is("a deployment is done", func(d client.Deployment) bool { return d.Phase == "done" }),
		is("a deployment goes on in batches", func(d client.Deployment) bool {
			one, err := c.Deployment(ctx, d.ID)
			return err == nil && one.Phase == "rolling" && one.Turns > 3 && one.Turn > 0
		}),
		is("a deployment waits for an approval, and shows what differs", func(d client.Deployment) bool {
			if d.Why == nil || d.Why.Code != "approval" {
				return false
			}
			one, err := c.Deployment(ctx, d.ID)
			return err == nil && one.Plan != nil && len(one.Plan.Rows) > 3 && len(one.Plan.Hosts) > 5
		}),
		is("a deployment has failed since the site is wrong", func(d client.Deployment) bool {
			return d.Phase == "failed" && strings.Contains(d.Why.Text, "site.hcl:") && d.Why.Ask != ""
		}),
		is("a deployment has failed on a host", func(d client.Deployment) bool { return d.Phase == "failed" && d.Why.Code == "limit" }),
		is("somebody has paused a deployment", func(d client.Deployment) bool { return d.Phase == "paused" && d.Why.Code == "order" }),
	}
}

// otherFacts are about all the rest.
func otherFacts(ctx context.Context, c *client.Client) []fact {
	return []fact{
		{"hosts have run, but for the one that is away and the one that is only looked at, and some run has failed", func() (bool, error) {
			hosts, failed := map[string]bool{}, false
			for r, err := range c.Runs(ctx, client.RunFilter{}) {
				if err != nil {
					return false, err
				}
				hosts[r.Name] = true
				failed = failed || r.Outcome == "failed"
			}
			return failed && len(hosts) >= 18, nil
		}},
		{"a source has a revision that counts, and a mistake in the next one", func() (bool, error) {
			all, err := c.Sources(ctx)
			return err == nil && len(all) == 1 && all[0].Deployment > 0 && all[0].Problem != nil && strings.Contains(all[0].Problem.Message, "site.hcl:9:"), err
		}},
		{"a cluster is there, and leads", func() (bool, error) {
			n, stands := 0, false
			for r, err := range c.Clusters(ctx, "lab") {
				if err != nil {
					return false, err
				}
				n, stands = n+1, r.Healthy && r.Leader == "edge1" && len(r.Peers) == 3
			}
			return n == 1 && stands, nil
		}},
		{"people, a program and tokens", func() (bool, error) {
			people, programs, tokens := 0, 0, 0
			for _, err := range c.People(ctx) {
				if people++; err != nil {
					return false, err
				}
			}
			for _, err := range c.Programs(ctx, true) {
				if programs++; err != nil {
					return false, err
				}
			}
			for _, err := range c.Tokens(ctx) {
				if tokens++; err != nil {
					return false, err
				}
			}
			if people > 5 {
				return false, fmt.Errorf("there are %d people", people)
			}
			return people == 5 && programs == 1 && tokens > 20, nil
		}},
	}
}
