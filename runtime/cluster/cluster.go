// Package cluster decides, from what the hosts of a cluster say, whether it can be rolled out, and on
// whom, and tells how it stands. It asks nobody itself: who drives hosts over SSH and the server decide by
// the same rules.
//
// A cluster is rolled out once all of its members are there and none is another's. From then on it is
// deployed, as the members' own records say: one that is away stays a member. A controller claims all members
// before it tells any of them who they are, so that a record without members is the claim of one that came
// no further.
package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Peer is a host of a cluster, as far as it is known.
type Peer struct {
	Name string
	Away string // why it gives no answer; empty: it has
	// WasMember: it gives no answer, and was a member of the cluster when it gave one last.
	WasMember bool
	Of        *journal.Membership // of which cluster it is a member; nil: of none
	Run       Run                 // how the latest run of the site stands there
	Why       string              // of a run that has failed
	// Parts are what it has by the cluster alone, as runs have seen it.
	Parts []states.PartReport
}

// Run is how the latest run of the cluster's site stands on a host.
type Run string

// The ways in which it stands.
const (
	RunNone   Run = ""        // there was none
	RunActive Run = "running" // it goes on
	RunDone   Run = "done"
	RunFailed Run = "failed"
)

// Latch says whether a cluster can be rolled out.
type Latch struct {
	site.Cluster
	Deployed  bool     // it was before
	Joined    []string // who is a member, or will be
	Newcomers []string // of these, who will
	// Waiting says for whom the cluster waits, and why; none: it can be rolled out on Joined.
	Waiting []string
	// Elsewhere are hosts that cannot be members, since they are of another cluster: why, by name.
	Elsewhere map[string]string
	// Leaves are, of these, those whose cluster is one of the same site, which wants them no more: their next run ends that.
	Leaves map[string]bool
	// Missing are hosts that gave no answer and are no members: why, by name.
	Missing map[string]string
	present []string // of Joined, those that have answered
}

// Decide decides whether a cluster of a site can be rolled out. Of the peers, its hosts count.
func Decide(siteName string, c site.Cluster, peers []Peer) *Latch {
	peers = slices.DeleteFunc(slices.Clone(peers), func(p Peer) bool { return !slices.Contains(c.Hosts, p.Name) })
	l := &Latch{Cluster: c, Elsewhere: map[string]string{}, Leaves: map[string]bool{}, Missing: map[string]string{}}
	recorded := map[string]bool{} // who was a member when one of them heard last
	for _, p := range peers {
		if p.isMember(siteName, c.Name) && !p.isStale(siteName, c.Name, peers) {
			l.Deployed = true
			for _, name := range p.Of.Members {
				recorded[name] = true
			}
		}
	}
	wait := func(name, why string) { l.Waiting = append(l.Waiting, fmt.Sprintf("%s (%s)", name, why)) }
	for _, p := range peers {
		isAnothers := p.Of != nil && !p.Of.Is(siteName, c.Name)
		switch {
		case isAnothers:
			l.Leaves[p.Name] = p.Of.Site == siteName // a host is wanted by one of its clusters at most
			l.Elsewhere[p.Name] = (&journal.MemberError{Membership: *p.Of}).Error()
			if !l.Deployed {
				wait(p.Name, l.Elsewhere[p.Name])
			}
		case p.Away == "":
			l.Joined, l.present = append(l.Joined, p.Name), append(l.present, p.Name)
			if !p.isMember(siteName, c.Name) {
				l.Newcomers = append(l.Newcomers, p.Name)
			}
		case !l.Deployed:
			wait(p.Name, p.Away)
		case recorded[p.Name]:
			l.Joined = append(l.Joined, p.Name)
			if l.Together {
				wait(p.Name, p.Away)
			}
		default:
			l.Missing[p.Name] = p.Away
		}
	}
	return l
}

// DemandAll has the cluster wait for everyone who cannot join now, though it is deployed: what it is to be was made for all of them.
func (l *Latch) DemandAll() {
	for _, list := range []map[string]string{l.Missing, l.Elsewhere} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if text := fmt.Sprintf("%s (%s)", name, list[name]); !slices.Contains(l.Waiting, text) {
				l.Waiting = append(l.Waiting, text)
			}
		}
	}
}

// isStale reports whether the record of a host names another one as a member that answers, and is none: since then
// the cluster was taken away, while this host was not there.
func (p *Peer) isStale(siteName, cluster string, peers []Peer) bool {
	return slices.ContainsFunc(peers, func(other Peer) bool {
		return other.Away == "" && !other.Of.Is(siteName, cluster) && slices.Contains(p.Of.Members, other.Name)
	})
}

// isMember reports whether the host knows that it is a member, and of whom else.
func (p *Peer) isMember(siteName, cluster string) bool {
	return p.Of.Is(siteName, cluster) && len(p.Of.Members) > 0
}

// Reason says for whom the cluster waits.
func (l *Latch) Reason() string {
	return fmt.Sprintf("the cluster %s waits for %s", l.Name, strings.Join(l.Waiting, ", "))
}

// Blocks tells why a host gets nothing at present; empty: nothing keeps it from its turn.
func (l *Latch) Blocks(host string) string {
	why, elsewhere := l.Elsewhere[host]
	away, missing := l.Missing[host]
	switch {
	case l.Leaves[host]:
	case len(l.Waiting) > 0:
		return l.Reason()
	case missing: // were it back by its turn, that would take away what it may have of the cluster
		return fmt.Sprintf("it gave no answer when the cluster %s was asked: %s", l.Name, away)
	case elsewhere:
		return fmt.Sprintf("it cannot join the cluster %s: %s", l.Name, why)
	}
	return ""
}

// Answer is what a host says that was asked to join a cluster, or to leave it.
type Answer struct {
	Was *journal.Membership // nil: it was a member of none
	Err error
}

// Ask asks hosts to join, or to leave, and gives what each says, by its name.
type Ask func(names []string, m site.Membership, leaves bool) (map[string]Answer, error)

// Join claims all who are to join the cluster, and tells all then who its members are. Where one cannot be claimed it lets go
// of the others, and the latch waits for that; a cluster that is deployed goes on without it. An error is the caller's own: nobody was asked.
func (l *Latch) Join(ask Ask) error {
	if len(l.Waiting) > 0 || len(l.Newcomers) == 0 {
		return nil
	}
	m := site.Membership{Name: l.Name, Leader: l.Leader}
	answers, err := ask(l.Newcomers, m, false)
	if err != nil {
		return err
	}
	var claimed, failed []string
	reasons := map[string]string{}
	for _, name := range l.Newcomers {
		switch a, ok := answers[name]; {
		case !ok:
			failed, reasons[name] = append(failed, name), "it was not asked"
		case a.Err != nil:
			failed, reasons[name] = append(failed, name), a.Err.Error()
		case a.Was == nil:
			claimed = append(claimed, name)
		}
	}
	if len(failed) > 0 && !l.Deployed {
		for _, name := range failed {
			l.Waiting = append(l.Waiting, fmt.Sprintf("%s (%s)", name, reasons[name]))
		}
		if len(claimed) > 0 {
			_, err = ask(claimed, m, true)
		}
		return err
	}
	for _, name := range failed { // the others go on without it
		l.Elsewhere[name] = reasons[name]
		is := func(other string) bool { return other == name }
		l.Joined, l.present = slices.DeleteFunc(l.Joined, is), slices.DeleteFunc(l.present, is)
	}
	m.Members = slices.Clone(l.Joined)
	if _, err := ask(l.present, m, false); err != nil {
		return err
	}
	l.Newcomers, l.Deployed = nil, true // one that did not hear it is a member, and hears of it by its run
	return nil
}
