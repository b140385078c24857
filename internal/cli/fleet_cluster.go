package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang"
	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
)

// A cluster is rolled out once all of its members are there, and none is another's. From then on it is
// deployed, as the members' own records say, and one that is away stays a member. A controller claims
// all members before it tells any of them who they are: a record without members is a claim of one that
// came no further.

// clusterLatch is how a cluster stands that an execution has members of.
type clusterLatch struct {
	lang.Cluster
	answers   []*answer[*machine.Status] // of all its members
	deployed  bool                       // it was before
	joined    []string                   // who has joined it, or will
	newcomer  []string                   // of these who will
	waiting   []string                   // why it is not rolled out; none: it is
	elsewhere map[string]string          // members of other clusters, and why that keeps them from this one
}

// latch finds out which clusters can be rolled out, and takes their members out of what goes on where they
// cannot. With patience it waits for them.
func (v *fleetRun) latch(ctx context.Context, patience time.Duration) error {
	if !v.hasNames || v.site == nil {
		return nil
	}
	clusters, hosts, err := v.clustersOf(ctx)
	if err != nil || len(clusters) == 0 {
		return err
	}
	deadline := time.Now().Add(patience)
	for told := ""; ; {
		reasons := ""
		v.clusters = nil
		for _, c := range clusters {
			l, err := v.client.latchOf(ctx, v.site.Name(), c, hosts)
			if err != nil {
				return err
			}
			v.clusters = append(v.clusters, l)
			reasons += strings.Join(l.waiting, "")
		}
		left := time.Until(deadline)
		if reasons == "" || left <= 0 {
			break
		}
		if reasons != told {
			for _, l := range v.clusters {
				if len(l.waiting) > 0 {
					v.noteHost("", l.reason())
				}
			}
			told = reasons
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(betweenPings, left)):
		}
	}
	v.takeLatches()
	return nil
}

// clustersOf gives the clusters that selected hosts are members of, and all hosts of the site.
func (v *fleetRun) clustersOf(ctx context.Context) ([]lang.Cluster, []lang.Host, error) {
	stop := v.limitEvaluation()
	defer stop()
	all, diags := v.site.Clusters(ctx, v.site.Target)
	if err := v.diagnose(v.site, diags); err != nil || len(all) == 0 {
		return nil, nil, err
	}
	hosts, _, diags := v.site.Hosts(ctx, v.site.Target)
	if err := v.diagnose(v.site, diags); err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(all, func(c lang.Cluster) bool {
		return !slices.ContainsFunc(v.hosts, func(h lang.Host) bool { return h.Cluster == c.Name })
	}), hosts, nil
}

// latchOf asks the members of a cluster, be they selected or not, and decides whether it can be rolled out.
func (s *client) latchOf(ctx context.Context, siteName string, c lang.Cluster, hosts []lang.Host) (*clusterLatch, error) {
	t := &targets{hasNames: true}
	for _, h := range hosts {
		if h.Cluster == c.Name {
			t.hosts = append(t.hosts, h)
		}
	}
	var err error
	if t.members, err = s.members(ctx, t.hosts, "", s.noteHost); err != nil {
		return nil, err
	}
	l := &clusterLatch{Cluster: c, elsewhere: map[string]string{}}
	l.answers, err = ask(ctx, s, t, askOne("status", true, func(ctx context.Context, m *fleet.Member) (*machine.Status, error) { return m.Status(ctx, "") }))
	if err != nil {
		return nil, err
	}
	l.decide(siteName)
	return l, nil
}

// decide decides, from what the members say, whether the cluster can be rolled out, and on whom.
func (l *clusterLatch) decide(siteName string) {
	recorded := map[string]bool{} // who was a member when one of them heard last
	for _, a := range l.answers {
		if a.replied() && a.value.Cluster.Is(siteName, l.Name) && len(a.value.Cluster.Members) > 0 {
			l.deployed = true
			for _, name := range a.value.Cluster.Members {
				recorded[name] = true
			}
		}
	}
	for _, a := range l.answers {
		name := a.host.Name
		switch f := a.failure(); {
		case f != nil && l.deployed && recorded[name]:
			l.joined = append(l.joined, name)
			if l.Together {
				l.waiting = append(l.waiting, name+" ("+f.Message+")")
			}
		case f != nil:
			if !l.deployed {
				l.waiting = append(l.waiting, name+" ("+f.Message+")")
			}
		case a.value.Cluster != nil && !a.value.Cluster.Is(siteName, l.Name):
			why := (&journal.MemberError{Membership: *a.value.Cluster}).Error()
			l.elsewhere[name] = why
			if !l.deployed {
				l.waiting = append(l.waiting, name+" ("+why+")")
			}
		default:
			l.joined = append(l.joined, name)
			if a.value.Cluster == nil || len(a.value.Cluster.Members) == 0 {
				l.newcomer = append(l.newcomer, name)
			}
		}
	}
}

// reason says for whom the cluster waits.
func (l *clusterLatch) reason() string {
	return fmt.Sprintf("the cluster %s waits for %s", l.Name, strings.Join(l.waiting, ", "))
}

// outcome is that of a member of a cluster that waits.
func (l *clusterLatch) outcome(name string) fleet.Outcome {
	return fleet.Outcome{Machine: name, Status: fleet.Incomplete, Err: errors.New(l.reason())}
}

// takeLatches has the site evaluated as the clusters stand, and leaves those members alone that cannot be
// rolled out.
func (v *fleetRun) takeLatches() {
	joined, wait := map[string][]string{}, map[string]fleet.Outcome{}
	for _, l := range v.clusters {
		joined[l.Name] = l.joined
		for _, a := range l.answers {
			name := a.host.Name
			why, elsewhere := l.elsewhere[name]
			switch incomplete := len(l.waiting) > 0; {
			case incomplete && !a.replied():
				wait[name] = a.outcome
			case incomplete:
				wait[name] = l.outcome(name)
			case elsewhere:
				wait[name] = fleet.Outcome{Machine: name, Status: fleet.Incomplete, Err: fmt.Errorf("it cannot join the cluster %s: %s", l.Name, why)}
			}
		}
	}
	v.site.Target.Clusters = joined
	v.members = v.without(v.members, wait)
}

// without gives the members without those that have to wait, and notes why.
func (v *fleetRun) without(members []*fleet.Member, wait map[string]fleet.Outcome) []*fleet.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m *fleet.Member) bool {
		o, waits := wait[m.Name]
		if waits {
			v.untouchedHosts = append(v.untouchedHosts, o)
		}
		return waits
	})
}

// joinClusters has hosts join their clusters, all members or none: first each is claimed, then all are told who
// they are. It gives the hosts on which something can be done: not members of a cluster that lacks one now.
func (v *fleetRun) joinClusters(ctx context.Context, members []*fleet.Member) ([]*fleet.Member, error) {
	for _, l := range v.clusters {
		if len(l.waiting) > 0 || len(l.newcomer) == 0 {
			continue
		}
		failed, err := v.client.join(ctx, v.site.Name(), l)
		if err != nil {
			return nil, err
		}
		if len(failed) == 0 {
			l.newcomer, l.deployed = nil, true
			continue
		}
		l.waiting = failed
		wait := map[string]fleet.Outcome{}
		for _, a := range l.answers {
			if name := a.host.Name; !l.deployed || slices.Contains(l.newcomer, name) {
				wait[name] = l.outcome(name)
			}
		}
		members = v.without(members, wait)
	}
	return members, nil
}

// join claims all who are to join a cluster, and tells them then who its members are. Where one cannot be claimed it
// lets go of the others, and says why.
func (s *client) join(ctx context.Context, siteName string, l *clusterLatch) (failed []string, err error) {
	claim := langsite.Membership{Name: l.Name, Leader: l.Leader}
	answers, err := s.askMembers(ctx, siteName, l, claim, false, l.newcomer)
	if err != nil {
		return nil, err
	}
	var claimed []string
	for _, a := range answers {
		if f := a.failure(); f != nil {
			failed = append(failed, a.host.Name+" ("+f.Message+")")
		} else if a.value == nil {
			claimed = append(claimed, a.host.Name)
		}
	}
	if len(failed) > 0 {
		_, err = s.askMembers(ctx, siteName, l, claim, true, claimed)
		return failed, err
	}
	claim.Members = l.joined
	answers, err = s.askMembers(ctx, siteName, l, claim, false, l.newcomer)
	for _, a := range answers { // it is a member, and hears of it by its run
		if f := a.failure(); f != nil {
			s.noteHost(a.host.Name, f.Message)
		}
	}
	return nil, err
}

// askMembers asks hosts to join a cluster, or to leave it.
func (s *client) askMembers(ctx context.Context, siteName string, l *clusterLatch, m langsite.Membership, leaves bool, names []string) ([]*answer[*journal.Membership], error) {
	t := &targets{hasNames: true}
	for _, a := range l.answers {
		if slices.Contains(names, a.host.Name) {
			t.hosts = append(t.hosts, *a.host)
		}
	}
	var err error
	if t.members, err = s.members(ctx, t.hosts, "", s.noteHost); err != nil {
		return nil, err
	}
	return ask(ctx, s, t, askOne("join", true, func(ctx context.Context, to *fleet.Member) (*journal.Membership, error) {
		member, ok := to.Machine.(machine.Member)
		if !ok {
			return nil, errors.New("it cannot be a member of a cluster")
		}
		return member.Member(ctx, machine.MemberRequest{Site: siteName, Membership: m, Leaves: leaves})
	}))
}
