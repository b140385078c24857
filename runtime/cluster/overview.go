package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/states"
)

// State is how a cluster stands.
type State string

// The states of clusters.
const (
	Undeployed  State = "undeployed"
	Waiting     State = "waiting"     // for members
	Deploying   State = "deploying"   // not all members have had its revision
	Deployed    State = "deployed"    // healthy or not: see Overview
	Undeploying State = "undeploying" // some still have what it has made
	Failed      State = "failed"      // on all members
)

// Standing is how a host stands with a cluster.
type Standing string

// The ways in which it stands.
const (
	Available Standing = "available" // it can join
	Blocked   Standing = "blocked"   // it is a member of another cluster
	Claimed   Standing = "claimed"   // by one that did not go on yet
	IsMember  Standing = "member"
	Leaving   Standing = "leaving" // it has still what the cluster has made
	Unknown   Standing = "unknown" // it gives no answer, and nobody else knows
)

// Overview is how a cluster stands, and each of its hosts.
type Overview struct {
	Cluster string       `json:"cluster"`
	Site    string       `json:"site"`
	State   State        `json:"state"`
	Healthy bool         `json:"healthy"` // deployed, all members are there, and none has failed
	Leader  string       `json:"leader,omitempty"`
	Waiting []string     `json:"waiting_for,omitempty"`
	Peers   []PeerReport `json:"peers"`
}

// PeerReport is how a host stands with the cluster.
type PeerReport struct {
	Host       string   `json:"host"`
	Connected  bool     `json:"connected"`
	Membership Standing `json:"membership"`
	By         string   `json:"blocked_by,omitempty"` // the cluster that has it
	BySite     string   `json:"blocked_by_site,omitempty"`
	// Configuration is how the latest run of the site stands there.
	Configuration Run `json:"configuration,omitempty"`
	// Missing says what keeps the host from being as it is wanted.
	Missing string `json:"missing,omitempty"`
	// Parts are what the host has by the cluster alone: how each stands, as the latest run has seen it that has looked at it.
	Parts []states.PartReport `json:"parts,omitempty"`
}

// Unsettled are the parts that are not as they are wanted, as far as is known.
func (p *PeerReport) Unsettled() []states.PartReport {
	return slices.DeleteFunc(slices.Clone(p.Parts), func(part states.PartReport) bool {
		return part.State == states.PartDone || part.State == string(part.Target) || part.State == states.PartPending && part.Reason == string(states.Idle)
	})
}

// AddParts adds what a host has by the cluster, if it is a member.
func (p *PeerReport) AddParts(cluster string, parts []states.PartReport) {
	if p.Membership != IsMember && p.Membership != Leaving {
		return
	}
	for _, part := range parts {
		if part.Cluster == cluster {
			p.Parts = append(p.Parts, part)
		}
	}
	if failed := countFailed(p.Parts); failed > 0 && p.Missing == "" {
		p.Missing = fmt.Sprintf("%d of %d parts failed", failed, len(p.Parts))
	}
}

func countFailed(parts []states.PartReport) (n int) {
	for _, part := range parts {
		if part.State == states.PartError {
			n++
		}
	}
	return n
}

// Tell tells how a cluster of a site stands. peers are its hosts, and those that have left it and are known to be
// members still.
func Tell(siteName string, c site.Cluster, peers []Peer) *Overview {
	l := Decide(siteName, c, peers)
	r := &Overview{Cluster: c.Name, Site: siteName, Leader: c.Leader, Peers: []PeerReport{}}
	members, active, failed, away, leaving, doubtful := 0, 0, 0, 0, 0, 0
	for i := range peers {
		p := l.tellPeer(siteName, &peers[i])
		p.AddParts(c.Name, peers[i].Parts)
		r.Peers = append(r.Peers, p)
		switch p.Membership {
		case Leaving:
			leaving++
			continue
		case IsMember:
			members++
		case Unknown:
			if peers[i].WasMember && !l.wants(p.Host) {
				doubtful++
			}
			continue
		default:
			continue
		}
		switch {
		case !p.Connected:
			away++
		case p.Configuration == RunFailed:
			failed++
		case p.Configuration != RunDone:
			active++
		}
	}
	switch {
	case c.Absent && leaving+doubtful > 0, !c.Absent && members == 0 && leaving+doubtful > 0:
		r.State = Undeploying
	case members == 0 && !c.Absent && len(l.Waiting) > 0:
		r.State, r.Waiting = Waiting, l.Waiting
	case members == 0:
		r.State = Undeployed
	case failed == members:
		r.State = Failed
	case active > 0:
		r.State = Deploying
	default:
		r.State, r.Healthy = Deployed, failed+away+doubtful == 0 && members == len(c.Hosts)
	}
	if r.State == Deployed && len(l.Waiting) > 0 {
		r.Waiting = l.Waiting
	}
	return r
}

// wants reports whether the cluster is to have a host.
func (l *Latch) wants(host string) bool { return !l.Absent && slices.Contains(l.Hosts, host) }

// For gives what somebody may know of it who may know of some hosts and of some sites alone: the others have no names.
func (r *Overview) For(mayKnowHost, mayKnowSite func(name string) bool) *Overview {
	out := *r
	out.Peers, out.Waiting = []PeerReport{}, nil
	if !mayKnowHost(r.Leader) {
		out.Leader = ""
	}
	waits := func(name string) bool {
		return slices.ContainsFunc(r.Waiting, func(w string) bool { return strings.HasPrefix(w, name+" (") })
	}
	for _, p := range r.Peers {
		hides := p.BySite != "" && !mayKnowSite(p.BySite)
		if hides {
			p.By, p.BySite, p.Missing = "another cluster", "", "it is a member of another cluster"
		}
		switch {
		case !mayKnowHost(p.Host):
			if waits(p.Host) {
				out.Waiting = append(out.Waiting, "another host")
			}
			continue
		case hides && waits(p.Host):
			out.Waiting = append(out.Waiting, fmt.Sprintf("%s (%s)", p.Host, p.Missing))
		case waits(p.Host):
			out.Waiting = append(out.Waiting, r.Waiting[slices.IndexFunc(r.Waiting, func(w string) bool { return strings.HasPrefix(w, p.Host+" (") })])
		}
		out.Peers = append(out.Peers, p)
	}
	return &out
}

func (l *Latch) tellPeer(siteName string, p *Peer) PeerReport {
	out := PeerReport{Host: p.Name, Connected: p.Away == "", Configuration: p.Run, Missing: p.Away}
	wanted := l.wants(p.Name)
	switch {
	case p.Of != nil && !p.Of.Is(siteName, l.Name):
		out.Membership, out.By, out.BySite, out.Missing = Blocked, p.Of.Name, p.Of.Site, l.Elsewhere[p.Name]
	case p.Of != nil && !wanted:
		out.Membership, out.Missing = Leaving, "its next turn, which takes away what the cluster has made"
	case p.isMember(siteName, l.Name), p.Away != "" && wanted && slices.Contains(l.Joined, p.Name):
		out.Membership = IsMember
		switch {
		case p.Away != "":
		case p.Run == RunNone:
			out.Missing = "its turn, since it has joined"
		case p.Run == RunFailed:
			out.Missing = p.Why
		}
	case p.Of != nil:
		out.Membership, out.Missing = Claimed, "the other members"
	case p.Away != "":
		if out.Membership = Unknown; p.WasMember && !wanted {
			out.Missing = "it is away, and may be a member still: " + p.Away
		}
	default:
		out.Membership = Available
	}
	return out
}
