package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/journal"
)

// host is a simulated host with its own record, as the journal package keeps it.
type host struct {
	away bool
	of   *journal.Membership
	has  map[string]bool // what clusters have made there
}

// world is a site with clusters on simulated hosts, of which some vanish and come back at any time.
type world struct {
	*rapid.T
	hosts   map[string]*host
	names   []string
	latched map[string]bool // clusters of which all members were claimed at one time, since nothing was there of them
	calm    bool            // nothing vanishes, and no controller dies
}

const siteName = "lab"

var errKilled = errors.New("the controller was killed")

// meanwhile lets hosts vanish and come back, and controllers die.
func (w *world) meanwhile() error {
	if w.calm {
		return nil
	}
	for _, name := range w.names {
		if rapid.IntRange(0, 9).Draw(w.T, "moves") == 0 {
			w.hosts[name].away = !w.hosts[name].away
		}
	}
	if rapid.IntRange(0, 7).Draw(w.T, "dies") == 0 {
		return errKilled
	}
	return nil
}

func (w *world) peers(names []string) []Peer {
	var list []Peer
	for _, name := range names {
		h := w.hosts[name]
		p := Peer{Name: name, Away: "it does not answer"}
		if !h.away {
			p.Away, p.Of = "", h.of
			if h.of != nil && h.has[h.of.Name] {
				p.Run = RunDone
			}
		}
		list = append(list, p)
	}
	return list
}

// join is what a host does that is asked to join a cluster.
func (h *host) join(m site.Membership) Answer {
	switch {
	case h.away:
		return Answer{Err: errors.New("it does not answer")}
	case h.of != nil && h.of.Name != m.Name:
		return Answer{Err: &journal.MemberError{Membership: *h.of}}
	}
	was := h.of
	h.of = &journal.Membership{Site: siteName, Membership: m}
	return Answer{Was: was}
}

// note takes note of a cluster of which all members are claimed.
func (w *world) note(c *site.Cluster) {
	if !slices.ContainsFunc(c.Hosts, func(name string) bool { return !w.hosts[name].of.Is(siteName, c.Name) }) {
		w.latched[c.Name] = true
	}
}

// execute applies the site: each cluster that can be rolled out, and what has to go from hosts. It gives what clusters
// wait for, and whether it came to its end.
func (w *world) execute(clusters []site.Cluster) (waiting map[string]string, err error) {
	waiting = map[string]string{}
	joined, blocked := map[string][]string{}, map[string]bool{}
	for _, c := range clusters {
		if c.Absent {
			continue
		}
		l := Decide(siteName, c, w.peers(c.Hosts))
		if err := w.meanwhile(); err != nil {
			return nil, err
		}
		err := l.Join(func(names []string, m site.Membership, leaves bool) (map[string]Answer, error) {
			answers := map[string]Answer{}
			for _, name := range names {
				h := w.hosts[name]
				if leaves {
					if !h.away && h.of.Is(siteName, c.Name) {
						h.of = nil
					}
				} else {
					answers[name] = h.join(m)
				}
				w.note(&c)
				if err := w.meanwhile(); err != nil {
					return nil, err
				}
			}
			return answers, nil
		})
		if err != nil {
			return nil, err
		}
		if len(l.Waiting) > 0 {
			waiting[c.Name] = l.Reason()
		}
		for _, name := range c.Hosts {
			if blocked[name] = l.Blocks(name) != ""; !blocked[name] && slices.Contains(l.Joined, name) {
				joined[name] = append([]string{c.Name}, l.Joined...)
			}
		}
	}
	for _, name := range w.names {
		h := w.hosts[name]
		if err := w.meanwhile(); err != nil {
			return nil, err
		}
		if h.away || blocked[name] {
			continue
		}
		if of := joined[name]; of != nil {
			if a := h.join(site.Membership{Name: of[0], Members: of[1:]}); a.Err != nil {
				continue // the run is refused
			}
			if !w.latched[of[0]] {
				w.Fatalf("%s gets what %s declares, of which not all members were claimed at once", name, of[0])
			}
			h.has[of[0]] = true
		}
		for has := range h.has { // a run removes what its host has left, and is a member no more
			if joined[name] == nil || has != joined[name][0] {
				if slices.ContainsFunc(clusters, func(c site.Cluster) bool { return c.Name == has && !c.Absent && slices.Contains(c.Hosts, name) }) {
					w.Fatalf("%s loses what %s has made, which wants it", name, has)
				}
				delete(h.has, has)
			}
		}
		if joined[name] == nil {
			h.of = nil
		}
	}
	for _, c := range clusters {
		if !slices.ContainsFunc(w.names, func(name string) bool { return w.hosts[name].has[c.Name] || w.hosts[name].of.Is(siteName, c.Name) }) {
			delete(w.latched, c.Name)
		}
	}
	return waiting, nil
}

// Whatever vanishes and dies at any step, a cluster is on its members only once all of them were there and none was another's;
// when all are there again it is deployed, or says for whom it waits; and one that is taken away leaves nothing behind.
func TestMembersVanish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, hosts: map[string]*host{}, latched: map[string]bool{}}
		for i := range rapid.SampledFrom([]int{2, 3, 5, 50}).Draw(t, "hosts") {
			name := fmt.Sprintf("h%02d", i)
			w.names = append(w.names, name)
			w.hosts[name] = &host{has: map[string]bool{}}
		}
		// Two clusters, of which one may get hosts only once the other has left them.
		split := rapid.IntRange(1, len(w.names)).Draw(t, "split")
		clusters := []site.Cluster{{Name: "bench", Hosts: w.names[:split]}, {Name: "table", Hosts: w.names[split:]}}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				split = rapid.IntRange(0, len(w.names)).Draw(t, "split")
				clusters[0].Hosts, clusters[1].Hosts = w.names[:split], w.names[split:]
			case 1:
				c := &clusters[rapid.IntRange(0, 1).Draw(t, "cluster")]
				c.Absent = !c.Absent
			case 2:
				c := &clusters[rapid.IntRange(0, 1).Draw(t, "cluster")]
				c.Together = !c.Together
			}
			if _, err := w.execute(clusters); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		w.calm = true
		for _, h := range w.hosts {
			h.away = false
		}
		var waiting map[string]string
		for range 3 { // hosts go from one to the other, and the other may take them next time
			waiting, _ = w.execute(clusters)
		}
		for _, c := range clusters {
			w.check(&c, waiting[c.Name])
		}
		clusters[0].Absent, clusters[1].Absent = true, true
		w.execute(clusters)
		for name, h := range w.hosts {
			if len(h.has) > 0 || h.of != nil {
				t.Errorf("%s has still %v, and is a member of %+v", name, h.has, h.of)
			}
		}
		for _, c := range clusters {
			if r := Tell(siteName, c, w.peers(w.names)); r.State != Undeployed {
				t.Errorf("it is told that %s is %s", c.Name, r.State)
			}
		}
	})
}

// check checks a cluster when all hosts are there.
func (w *world) check(c *site.Cluster, waiting string) {
	var has, lacks []string
	for _, name := range w.names {
		if wanted := !c.Absent && slices.Contains(c.Hosts, name); wanted == w.hosts[name].has[c.Name] && wanted == w.hosts[name].of.Is(siteName, c.Name) {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	r := Tell(siteName, *c, w.peers(w.names))
	if len(lacks) > 0 && (waiting == "" || !strings.Contains(waiting, "it is a member of the cluster")) {
		w.Errorf("%s is not as it is wanted on %v, and waits for %q (%s)", c.Name, lacks, waiting, r.State)
	}
	want := Deployed
	if c.Absent || len(c.Hosts) == 0 {
		want = Undeployed
	}
	if len(lacks) == 0 && (r.State != want || r.Healthy != (want == Deployed)) {
		w.Errorf("%s is told to be %s, healthy: %t, with %v", c.Name, r.State, r.Healthy, has)
	}
}
