package api

import (
	"context"
	"net/http"

	"github.com/tenetcm/tenet/server/access"
)

// Right is what somebody may do by one verb.
type Right struct {
	Verb       access.Verb           `json:"verb"`
	May        bool                  `json:"may" doc:"They may, for that host and site as far as these were named."`
	Everywhere bool                  `json:"everywhere" doc:"They may for all hosts and sites."`
	Grants     []access.SourcedGrant `json:"grants" nullable:"false" doc:"By which grants, and by what they have these: their own, or a role."`
}

type mayInput struct {
	Name string      `path:"name" maxLength:"200"`
	Verb access.Verb `query:"verb" enum:"read,plan,import,deploy,approve,exec,secrets,enroll,admin" doc:"Only this verb."`
	Host string      `query:"host" maxLength:"200" doc:"Only by grants for this host, by its id or its name."`
	Site string      `query:"site" maxLength:"200" doc:"Only by grants for this site."`
}

func (a *API) registerMay() {
	Register(a, Operation{ID: "list-rights", Method: http.MethodGet, Path: "/v1/people/{name}/may", Tag: "people", Scope: Self,
		Summary: "Tell what somebody may do, by verbs.", Description: "Of oneself, or as an administrator of anybody: for each verb whether they may, for a host and a site if these are named, and by which grants.",
		Codes: []string{access.CodeForbidden, access.CodeNotFound}}, a.listRights)
}

func (a *API) listRights(ctx context.Context, c *access.Caller, in *mayInput) (*ListOutput[Right], error) {
	grants, err := a.grantsOf(ctx, c, in.Name)
	if err != nil {
		return nil, err
	}
	var host *access.Target
	if in.Host != "" {
		h, err := a.host(ctx, c, access.Read, in.Host)
		if err != nil {
			return nil, err
		}
		host = new(h.Target())
	}
	out := &ListOutput[Right]{List[Right]{Items: []Right{}}}
	for _, verb := range access.Verbs() {
		if in.Verb == "" || in.Verb == verb {
			out.Body.Items = append(out.Body.Items, rightOf(verb, grants, host, in.Site))
		}
	}
	return out, nil
}

// grantsOf gives the grants of somebody, which the caller or an administrator may know. A program has its own: its person's are more than it may.
func (a *API) grantsOf(ctx context.Context, c *access.Caller, name string) ([]access.SourcedGrant, error) {
	if name != access.PersonOf(c.Name) {
		if err := c.DemandEverywhere(access.Admin); err != nil {
			return nil, err
		}
	} else if c.Kind == access.Program {
		out := []access.SourcedGrant{}
		for _, g := range c.Grants {
			out = append(out, access.SourcedGrant{Grant: g, Source: "program"})
		}
		return out, nil
	}
	_, grants, err := a.o.People.Person(ctx, name)
	if grants == nil {
		grants = []access.SourcedGrant{}
	}
	return grants, err
}

// rightOf tells what grants come to for a verb, of a host and a site as far as these are named.
func rightOf(verb access.Verb, grants []access.SourcedGrant, host *access.Target, site string) Right {
	r := Right{Verb: verb, Grants: []access.SourcedGrant{}}
	for _, g := range grants {
		one := access.Caller{Grants: []access.Grant{g.Grant}}
		if !one.MaySomewhere(verb) || host != nil && !g.Hosts.Matches(*host) || site != "" && !one.MaySite(verb, site) {
			continue
		}
		r.Grants = append(r.Grants, g)
		r.May, r.Everywhere = true, r.Everywhere || one.MayEverywhere(verb)
	}
	return r
}
