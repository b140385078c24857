package web

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// overview answers whether the fleet is well.
type overview struct {
	Status  api.FleetStatus
	Axes    []axis
	Active  []*api.Deployment // under way
	Recent  []*api.Deployment // that have ended
	Asks    []ask             // what waits for a person
	Failed  []failure         // the newest ones
	Older   string            // where older failures are looked for, as there are runs among which it was not looked
	Drifted []api.ListedHost  // hosts that differ from what is wanted
}

// failure is the newest run that has failed of a host for a site.
type failure struct {
	Newest api.Run
	Times  int // that it has failed among the newest ones
}

// failuresOf takes those together that are of the same host and site.
func failuresOf(runs []api.Run) (list []failure) {
	const most = 8
	at := map[[2]string]int{}
	for _, r := range runs {
		key := [2]string{string(r.Host), r.Site}
		if i, known := at[key]; known {
			list[i].Times++
		} else if len(list) < most {
			at[key], list = len(list), append(list, failure{r, 1})
		}
	}
	return list
}

// axis is one of the ways to say how hosts stand, with how many stand so.
type axis struct {
	Title, Hint string
	Counts      []share
	Total       int
}

// share is how many of an axis are in one state.
type share struct {
	Word, Class, Path string
	Count             int
}

func (p *Pages) registerOverview() { p.show("/{$}", p.overview) }

func (p *Pages) overview(v *view) (*page, error) {
	o := overview{}
	shown := &page{Template: "overview", Title: "Overview", Section: "overview", Data: &o,
		Live: []string{"host.loop", "host.run", "host.changed", "deployment.changed", "cluster.changed", "source.changed"}}
	var err error
	if o.Status, err = get[api.FleetStatus](v, "/v1/status", nil); err != nil {
		return nil, err
	}
	o.Axes = axesOf(o.Status)
	if err := v.addDeployments(&o); err != nil {
		return nil, err
	}
	runs, err := get[api.List[api.Run]](v, "/v1/runs", url.Values{"outcome": {"failed"}, "limit": {"50"}})
	if err != nil {
		return nil, err
	}
	o.Failed = failuresOf(runs.Items)
	if runs.Next != "" {
		o.Older = link("/runs", "outcome", "failed", "cursor", runs.Next)
	}
	if o.Status.Drift["drifted"] > 0 {
		hosts, err := get[api.List[api.ListedHost]](v, "/v1/hosts", url.Values{"drift": {"drifted"}, "limit": {"8"}})
		if err != nil {
			return nil, err
		}
		o.Drifted = hosts.Items
	}
	o.addAsks(v.caller.MaySomewhere(access.Enroll), v.caller.MayEverywhere(access.Admin))
	return shown, v.addStalled(&o)
}

// addDeployments adds those that are under way, however many came later, and the last ones that have ended.
func (v *view) addDeployments(o *overview) error {
	newest := func(limit int, phases ...string) ([]*api.Deployment, error) {
		list, err := get[api.List[*api.Deployment]](v, "/v1/deployments", url.Values{"phase": {strings.Join(phases, ",")}, "limit": {strconv.Itoa(limit)}})
		return list.Items, err
	}
	var err error
	if o.Active, err = newest(30, "planned", "rolling", "paused"); err != nil {
		return err
	}
	o.Recent, err = newest(6, "done", "failed", "aborted", "superseded")
	return err
}

// axesOf makes the axes of a fleet: delivery, state and reachability, and drift, which is a part of state.
func axesOf(s api.FleetStatus) []axis {
	reach := axis{Title: "Reachability", Hint: "Hosts, by when they were heard of"}
	addShares(&reach, "reachability", s.Reachability, "connected", "silent", "lost")
	delivery := axis{Title: "Delivery", Hint: "Sites of hosts, by how far what is wanted has come"}
	addShares(&delivery, "delivery", s.Delivery, "adopted", "held", "pending")
	state := axis{Title: "State", Hint: "Sites of hosts, by what the newest report says"}
	addShares(&state, "readiness", s.Readiness, "ready", "not-ready", "unknown")
	drift := axis{Title: "Drift", Hint: "Sites of hosts, by what differs from what is wanted, or did within a day"}
	addShares(&drift, "drift", s.Drift, "none", "drifted", "mended")
	return []axis{state, delivery, drift, reach}
}

func addShares[K ~string](a *axis, filter string, counts map[K]int, words ...K) {
	for _, word := range words {
		n := counts[word]
		a.Counts = append(a.Counts, share{string(word), kindOf(string(word)).class, link("/hosts", filter, string(word)), n})
		a.Total += n
	}
}

// barPart is where a count begins in a bar of 1000, and how wide it is.
type barPart struct {
	Class    string
	X, Width int
}

// Bar is where each count begins and ends in a bar of 1000. What is very small is made as wide as can be seen, at the cost of the widest one.
func (a axis) Bar() (list []barPart) {
	const least = 6
	total, widest := 0, 0
	for _, s := range a.Counts {
		if s.Count == 0 {
			continue
		}
		width := max(least, s.Count*1000/a.Total)
		total += width
		list = append(list, barPart{Class: s.Class, Width: width})
		if width > list[widest].Width {
			widest = len(list) - 1
		}
	}
	if total > 1000 {
		list[widest].Width -= total - 1000
	}
	for i := 1; i < len(list); i++ {
		list[i].X = list[i-1].X + list[i-1].Width
	}
	return list
}
