package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// clusterLatch is a cluster of which an execution has members, and what all its members have said.
type clusterLatch struct {
	*cluster.Latch
	answers []*statusAnswer
}

// latch finds out which clusters can be rolled out, and takes their members out of what goes on where they
// cannot. With patience it waits for them.
func (v *fleetRun) latch(ctx context.Context, patience time.Duration) error {
	if !v.hasNames || v.site == nil {
		return nil
	}
	declared, hosts, err := v.client.clustersOf(ctx, v.site)
	clusters := slices.DeleteFunc(slices.Clone(declared), func(c lang.Cluster) bool {
		return !slices.ContainsFunc(v.hosts, func(h lang.Host) bool { return h.Cluster == c.Name })
	})
	if err != nil || len(clusters) == 0 {
		return err
	}
	deadline := time.Now().Add(patience)
	for told := ""; ; {
		reasons := ""
		v.clusters = nil
		for _, c := range clusters {
			answers, err := v.client.askCluster(ctx, &c, hosts)
			if err != nil {
				return err
			}
			peers := peersOf(v.site.Name(), answers)
			if err := v.learnMemberships(v.site.Name(), peers); err != nil {
				return err
			}
			l := cluster.Decide(v.site.Name(), c, peers)
			v.clusters = append(v.clusters, &clusterLatch{l, answers})
			if len(l.Waiting) > 0 {
				reasons += l.Reason() + "\n"
			}
		}
		left := time.Until(deadline)
		if reasons == "" || left <= 0 {
			break
		}
		if reasons != told {
			v.noteHost("", strings.TrimSpace(reasons))
			told = reasons
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(betweenPings, left)):
		}
	}
	joined := map[string][]string{}
	for _, l := range v.clusters {
		v.noteRenamed(l, declared)
		joined[l.Name] = l.Joined
		v.members = v.leaveAlone(v.members, l)
	}
	v.site.Target.Clusters = joined
	return nil
}

// noteRenamed tells of a cluster that is not there yet and whose hosts are members of one that the site declares no more: it may have been given another name.
func (v *fleetRun) noteRenamed(l *clusterLatch, declared []lang.Cluster) {
	var former []string
	for _, a := range l.answers {
		if a.failure() != nil || a.value.Cluster == nil || a.value.Cluster.Site != v.name || l.Deployed {
			continue
		}
		name := a.value.Cluster.Name
		if !slices.ContainsFunc(declared, func(c lang.Cluster) bool { return c.Name == name }) && !slices.Contains(former, name) {
			former = append(former, name)
		}
	}
	if len(former) == 0 {
		return
	}
	names := strings.Join(former, ", ")
	v.noteHost("", fmt.Sprintf("the cluster %s is new, and has hosts of %s, which the site declares no more: what that has made goes in one apply, and %[1]s is made in the next", l.Name, names))
	v.noteHost("", fmt.Sprintf("hint: if it was only renamed, keep the name %s, which leaves all as it is", names))
}

// clustersOf gives the clusters of a site, and all its hosts.
func (s *client) clustersOf(ctx context.Context, c *site) ([]lang.Cluster, []lang.Host, error) {
	defer s.limitEvaluation()()
	all, diags := c.Clusters(ctx, c.Target)
	if err := s.diagnose(c, diags); err != nil || len(all) == 0 {
		return nil, nil, err
	}
	hosts, _, diags := c.Hosts(ctx, c.Target)
	return all, hosts, s.diagnose(c, diags)
}

// askCluster asks the hosts of a cluster how they stand, be they selected or not.
func (s *client) askCluster(ctx context.Context, c *lang.Cluster, hosts []lang.Host) ([]*statusAnswer, error) {
	t := &targets{hasNames: true}
	for _, h := range hosts {
		if slices.Contains(c.Hosts, h.Name) {
			t.hosts = append(t.hosts, h)
		}
	}
	var err error
	if t.members, err = s.members(ctx, t.hosts, "", s.noteHost); err != nil {
		return nil, err
	}
	return ask(ctx, s, t, askOne("status", true, func(ctx context.Context, m *fleet.Member) (*machine.Status, error) { return m.Status(ctx, "") }))
}

// peersOf tells what hosts have said, as far as it is about a site and its clusters.
func peersOf(siteName string, answers []*statusAnswer) []cluster.Peer {
	peers := make([]cluster.Peer, 0, len(answers))
	for _, a := range answers {
		p := cluster.Peer{Name: a.host.Name}
		if f := a.failure(); f != nil {
			p.Away = f.Message
			peers = append(peers, p)
			continue
		}
		p.Of, p.Parts = a.value.Cluster, a.value.ClusterParts
		p.Run, p.Why = runOf(siteName, a.value)
		peers = append(peers, p)
	}
	return peers
}

// runOf tells how the latest run of a site stands that a host may have had as a member of a cluster.
func runOf(siteName string, now *machine.Status) (cluster.Run, string) {
	last := now.Status
	if bad := now.Failures[siteName]; bad != nil {
		last = bad.Status
	}
	switch {
	case last == nil, now.Cluster != nil && last.Started.Before(now.Cluster.Since):
		return cluster.RunNone, ""
	case last.Site != siteName: // it came after those of this one, which did not fail
		return cluster.RunDone, ""
	case last.State == journal.Running:
		return cluster.RunActive, ""
	case last.State == journal.Done:
		return cluster.RunDone, ""
	}
	return cluster.RunFailed, "run " + last.Run + " is " + string(last.State)
}

// joinedHere gives who has joined a cluster as this machine has been told: it asks nobody, and makes nobody a member.
func (s *client) joinedHere(ctx context.Context, siteName, name string) (map[string][]string, error) {
	t, err := s.thisMachine()
	if err != nil {
		return nil, err
	}
	now, err := t.members[0].Status(ctx, "")
	if err != nil {
		return nil, failure(err)
	}
	joined := map[string][]string{}
	if now.Cluster.Is(siteName, name) {
		joined[name] = now.Cluster.Members
	}
	return joined, nil
}

// leaveAlone gives the members without those that a cluster keeps from their turn, and notes why.
func (v *fleetRun) leaveAlone(members []*fleet.Member, l *clusterLatch) []*fleet.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m *fleet.Member) bool {
		i := slices.IndexFunc(l.answers, func(a *statusAnswer) bool { return a.host.Name == m.Name })
		if i < 0 {
			return false
		}
		why := l.Blocks(m.Name)
		if why == "" {
			return false
		}
		o := fleet.Outcome{Machine: m.Name, Status: fleet.Incomplete, Err: &diag.HintError{Message: why,
			Hint: "tenet status cluster." + l.Name + " tells what is missing; a host that another cluster has is freed there, or by tenet forget cluster.OTHER -l HOST, with -i for its site"}}
		if !l.answers[i].replied() {
			o = l.answers[i].outcome
		}
		v.untouchedHosts = append(v.untouchedHosts, o)
		return true
	})
}

// joinsCluster names the cluster that a host is about to join; empty: none.
func (v *fleetRun) joinsCluster(host string) string {
	for _, l := range v.clusters {
		if len(l.Waiting) == 0 && slices.Contains(l.Newcomers, host) {
			return l.Name
		}
	}
	return ""
}

// joinClusters has hosts join their clusters, all members or none. It gives the hosts on which something can be done:
// none of a cluster that lacks a member now.
func (v *fleetRun) joinClusters(ctx context.Context, members []*fleet.Member) ([]*fleet.Member, error) {
	for _, l := range v.clusters {
		if len(l.Waiting) > 0 {
			continue
		}
		err := l.Join(func(names []string, m langsite.Membership, leaves bool) (map[string]cluster.Answer, error) {
			return v.client.askMembers(ctx, l.answers, names, machine.MemberRequest{Site: v.name, Membership: m, Leaves: leaves})
		})
		if err != nil {
			return nil, err
		}
		if v.isSavedPlan {
			l.DemandAll()
		} else {
			v.site.Target.Clusters[l.Name] = l.Joined
		}
		if err := v.learnJoined(v.name, l.Latch); err != nil {
			return nil, err
		}
		members = v.leaveAlone(members, l)
	}
	return members, nil
}

// askMembers asks hosts, of those that have answered before, to join a cluster, or to leave it.
func (s *client) askMembers(ctx context.Context, known []*statusAnswer, names []string, r machine.MemberRequest) (map[string]cluster.Answer, error) {
	t := &targets{hasNames: true}
	for _, a := range known {
		if slices.Contains(names, a.host.Name) {
			t.hosts = append(t.hosts, *a.host)
		}
	}
	var err error
	if t.members, err = s.members(ctx, t.hosts, "", s.noteHost); err != nil {
		return nil, err
	}
	list, err := ask(ctx, s, t, askOne("join", true, func(ctx context.Context, to *fleet.Member) (*journal.Membership, error) {
		member, ok := to.Machine.(machine.Member)
		if !ok {
			return nil, errors.New("it cannot be a member of a cluster")
		}
		return member.Member(ctx, r)
	}))
	if err != nil {
		return nil, err
	}
	answers := map[string]cluster.Answer{}
	for _, a := range list {
		one := cluster.Answer{Was: a.value}
		if f := a.failure(); f != nil {
			one.Err = errors.New(f.Message)
		}
		answers[a.host.Name] = one
	}
	return answers, nil
}
