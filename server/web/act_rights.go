package web

import (
	"net/http"
	"strings"

	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api"
)

// demand is what the page of an act takes, so that nobody fills in a form that is refused. What the act itself takes is
// the API's to say.
type demand struct {
	verb         access.Verb // empty: to have logged in
	isEverywhere bool        // for all hosts and sites
}

// demandOf gives it by the pattern of the act's page.
func demandOf(pattern string) demand {
	parts := strings.Split(strings.Trim(pattern, "/"), "/")
	switch parts[0] {
	case "new-person", "new-role", "people", "roles", "programs", "audit", "server":
		return demand{access.Admin, true}
	case "enrolment":
		return demand{verb: access.Enroll}
	case "sources":
		if parts[len(parts)-1] == "look" {
			return demand{verb: access.Deploy}
		}
		return demand{access.Admin, true}
	case "deployments":
		if parts[len(parts)-1] == "approve" {
			return demand{verb: access.Approve}
		}
		return demand{verb: access.Deploy}
	case "sites":
		if parts[len(parts)-1] == "policy" {
			return demand{access.Admin, true}
		}
		return demand{verb: access.Deploy}
	case "hosts", "selected":
		switch parts[len(parts)-1] {
		case "ping":
			return demand{verb: access.Read}
		case "hold", "release", "retry", "plan", "rollback", "unpin":
			return demand{verb: access.Deploy}
		}
		return demand{verb: access.Enroll}
	}
	return demand{}
}

// isMet tells whether somebody may see the page.
func (d demand) isMet(c *access.Caller) bool {
	switch {
	case d.verb == "":
		return true
	case d.isEverywhere:
		return c.MayEverywhere(d.verb)
	}
	return c.MaySomewhere(d.verb)
}

// refusal is what is told to whom it is not met.
func (d demand) refusal() error {
	where := "for some host"
	if d.isEverywhere {
		where = "for all hosts and sites"
	}
	return &api.Problem{Status: http.StatusForbidden, Title: "Not for you", Detail: "This takes the grant \"" + string(d.verb) + "\" " + where + ".", Hint: "Somebody who administers the server can give it to you."}
}
