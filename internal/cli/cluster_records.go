package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/fleet"
)

// undeclared is why nobody asks a host that was a member.
const undeclared = "the site declares it no more"

// membershipRecords are the records of this controller.
func (s *client) membershipRecords() (*fleet.Memberships, error) {
	dir, err := s.stateDir()
	return &fleet.Memberships{Dir: filepath.Join(dir, "memberships")}, err
}

// readMemberships gives these records, and what they know of a site: the clusters of which its hosts were members.
func (s *client) readMemberships(siteName string) (*fleet.Memberships, map[string]map[string]fleet.RecordedMembership, error) {
	records, err := s.membershipRecords()
	if err != nil {
		return nil, nil, err
	}
	known, err := records.Read(siteName)
	return records, known, failure(err)
}

// learnMemberships records of which clusters of a site hosts are members, as they have said.
func (s *client) learnMemberships(siteName string, peers []cluster.Peer) error {
	now := map[string]string{}
	for _, p := range peers {
		switch {
		case p.Away != "":
		case p.Of != nil && p.Of.Site == siteName:
			now[p.Name] = p.Of.Name
		default:
			now[p.Name] = ""
		}
	}
	records, err := s.membershipRecords()
	if err == nil {
		err = records.Learn(siteName, now)
	}
	return failure(err)
}

// learnJoined records who has joined a cluster.
func (s *client) learnJoined(siteName string, l *cluster.Latch) error {
	now := map[string]string{}
	for _, host := range l.Joined {
		now[host] = l.Name
	}
	records, err := s.membershipRecords()
	if err == nil {
		err = records.Learn(siteName, now)
	}
	return failure(err)
}

// addRecorded marks peers that do not answer and were members of a cluster when they did, and adds those that the site declares no more.
func (s *client) addRecorded(siteName, name string, peers []cluster.Peer) ([]cluster.Peer, error) {
	_, known, err := s.readMemberships(siteName)
	if err != nil {
		return nil, err
	}
	for _, host := range slices.Sorted(maps.Keys(known)) {
		if _, was := known[host][name]; !was {
			continue
		}
		i := slices.IndexFunc(peers, func(p cluster.Peer) bool { return p.Name == host })
		if i < 0 {
			i = len(peers)
			peers = append(peers, cluster.Peer{Name: host, Away: undeclared})
		}
		peers[i].WasMember = peers[i].Away != ""
	}
	return peers, nil
}

// dropUndeclared names the hosts that were members of clusters of the site and are declared no more, once: nobody asks them any more. Where nobody
// would read it, that is left to a later apply.
func (v *fleetRun) dropUndeclared(ctx context.Context) error {
	if v.globals.JSON || v.globals.Quiet || v.site == nil || v.site.Name() == "" {
		return nil
	}
	records, known, err := v.readMemberships(v.site.Name())
	if err != nil || len(known) == 0 {
		return err
	}
	hosts, _, diags := v.site.Hosts(ctx, v.site.Target)
	if err := v.diagnose(v.site, diags); err != nil {
		return err
	}
	gone := map[string]string{}
	for _, host := range slices.Sorted(maps.Keys(known)) {
		if slices.ContainsFunc(hosts, func(h lang.Host) bool { return h.Name == host }) {
			continue
		}
		gone[host] = ""
		for name := range known[host] {
			v.noteUndeclared(host, name)
		}
	}
	return failure(records.Learn(v.site.Name(), gone))
}

func (v *fleetRun) noteUndeclared(host, name string) {
	v.noteHost(host, fmt.Sprintf("it is declared no more, and may be a member of the cluster %s still, with all that this has made there", name))
	v.noteHost(host, fmt.Sprintf("hint: declare it and apply, which takes that away, or write it off: tenet forget cluster.%s -l %s, with -i for a site that declares the host", name, host))
}

// learnLeft asks hosts that have had their run, and whose cluster wants them no more, whether they have left it.
func (v *fleetRun) learnLeft(ctx context.Context, outcomes []fleet.Outcome) error {
	if v.site == nil || v.site.Name() == "" {
		return nil
	}
	_, known, err := v.readMemberships(v.site.Name())
	if err != nil || len(known) == 0 {
		return err
	}
	left := &lang.Cluster{}
	for _, o := range outcomes {
		i := slices.IndexFunc(v.hosts, func(h lang.Host) bool { return h.Name == o.Machine })
		if i < 0 || o.Status != fleet.Done || len(known[o.Machine]) == 0 {
			continue
		}
		if _, stays := known[o.Machine][v.hosts[i].Cluster]; !stays {
			left.Hosts = append(left.Hosts, o.Machine)
		}
	}
	if len(left.Hosts) == 0 {
		return nil
	}
	answers, err := v.askCluster(ctx, left, v.hosts)
	if err != nil {
		return err
	}
	return v.learnMemberships(v.site.Name(), peersOf(v.site.Name(), answers))
}
