package web

import (
	"net/url"

	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// ask is something that waits for a person. Without a path the one who looks can do nothing about it.
type ask struct{ Text, Path, Action string }

// addAsks adds what waits for a person, the gravest first. Who takes no hosts in sees them in the list alone.
func (o *overview) addAsks(enrolls, administers bool) {
	enrolment := func(state string) string {
		if enrolls {
			return "/enrolment"
		}
		return link("/hosts", "state", state)
	}
	add := func(n int, text, path, action string) {
		if n > 0 {
			o.Asks = append(o.Asks, ask{count(n, "host") + " " + text, path, action})
		}
	}
	server := func(is bool, text, action string) {
		switch {
		case is && administers:
			o.Asks = append(o.Asks, ask{text, "/server", action})
		case is:
			o.Asks = append(o.Asks, ask{Text: text, Action: "Tell who administers the server"})
		}
	}
	server(o.Status.Recovering, "The server was restored, and delivers nothing", "Decide")
	server(o.Status.Full, "The server has no room: it takes nothing in, and no deployment begins", "Look")
	server(o.Status.Broker != "", "Agents cannot be reached: "+o.Status.Broker, "Look")
	if enrolls {
		add(o.Status.Questions, "of which a copy was noticed", "/enrolment", "Decide")
	}
	add(o.Status.Phases["help"], "with a loop that needs help", "/hosts?phase=help", "Look")
	add(o.Status.States["pending"], "to be taken in", enrolment("pending"), "Decide")
	add(o.Status.States["locked"], "locked", enrolment("locked"), "Look")
	for _, d := range o.Active {
		if d.Why != nil && d.Why.Ask != "" || d.Phase == "planned" && d.Consent != "" {
			o.Asks = append(o.Asks, ask{"Deployment " + digits(d.ID) + " of " + d.Site + " is " + d.Phase, route("deployments", digits(d.ID)), "Decide"})
		}
	}
}

// addStalled adds what does not get on by itself: sources whose newest revision does not count, or that cannot be asked, and clusters that wait or have failed.
func (v *view) addStalled(o *overview) error {
	if !v.caller.MaySomewhere(access.Read) {
		return nil
	}
	sources, err := get[api.List[*api.Source]](v, "/v1/sources", nil)
	if err != nil && !isLacking(err) {
		return err
	}
	for _, s := range sources.Items {
		switch {
		case s.Problem != nil:
			o.Asks = append(o.Asks, ask{"The newest revision of the source " + s.Name + " does not count", "/sources", "Look"})
		case s.Away != nil && s.Closed == "":
			o.Asks = append(o.Asks, ask{"The source " + s.Name + " cannot be asked", "/sources", "Look"})
		}
	}
	clusters, err := get[api.List[*api.Cluster]](v, "/v1/clusters", url.Values{"state": {"waiting,failed"}, "parts": {"none"}})
	if err != nil && !isLacking(err) {
		return err
	}
	for _, c := range clusters.Items {
		switch c.State {
		case cluster.Waiting:
			o.Asks = append(o.Asks, ask{"The cluster " + c.Cluster + " of " + c.Site + " waits for hosts", "/clusters", "Look"})
		case cluster.Failed:
			o.Asks = append(o.Asks, ask{"The cluster " + c.Cluster + " of " + c.Site + " has failed", "/clusters", "Look"})
		}
	}
	if clusters.Next != "" {
		o.Asks = append(o.Asks, ask{"Further clusters wait for hosts, or have failed", "/clusters", "Look"})
	}
	return nil
}
