package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/planfile"
)

// latchPlan asks the members of the clusters that a saved plan is for, be they hosts of the plan or not, and leaves alone those of clusters that are not as they were planned.
func (v *fleetRun) latchPlan(ctx context.Context, plan *planfile.Fleet, declared []lang.Host) error {
	wanted := map[string]*langsite.Membership{}
	for i := range plan.Hosts {
		one, err := plan.Plan(i)
		if err != nil {
			return failure(err)
		}
		if one != nil && one.Run.Cluster != nil {
			wanted[one.Run.Cluster.Name] = one.Run.Cluster
		}
	}
	return v.latchMemberships(ctx, wanted, declared)
}

// latchMemberships does so for memberships of hosts, by the names of their clusters.
func (v *fleetRun) latchMemberships(ctx context.Context, wanted map[string]*langsite.Membership, declared []lang.Host) error {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		c := lang.Cluster{Name: name, Leader: wanted[name].Leader, Hosts: wanted[name].Members}
		answers, err := v.client.askCluster(ctx, &c, declared)
		if err != nil {
			return err
		}
		peers := peersOf(v.name, answers)
		for _, member := range c.Hosts {
			if !slices.ContainsFunc(peers, func(p cluster.Peer) bool { return p.Name == member }) {
				peers = append(peers, cluster.Peer{Name: member, Away: undeclared})
			}
		}
		if err := v.learnMemberships(v.name, peers); err != nil {
			return err
		}
		l := cluster.Decide(v.name, c, peers)
		l.DemandAll()
		v.clusters = append(v.clusters, &clusterLatch{l, answers})
		v.members = v.leaveAlone(v.members, v.clusters[len(v.clusters)-1])
	}
	return nil
}
