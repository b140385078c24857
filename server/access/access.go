// Package access knows who asks a server for something: people and their programs, what they may
// do, and what they have done.
//
// What somebody may do is a list of grants, each for one verb, on some hosts, for one site or for
// all. A Caller is somebody whose name was proven, with all grants that count at that moment; who
// serves a request asks Caller.May, and audits what changes something by Audit in the transaction
// that changes it.
package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Verb is what one may do. None includes another one.
type Verb string

// The verbs of grants.
const (
	Read    Verb = "read"    // see hosts, sites, deployments, reports and events
	Plan    Verb = "plan"    // have hosts plan
	Import  Verb = "import"  // read what is set up on hosts, files among it
	Deploy  Verb = "deploy"  // upload revisions, begin and steer deployments, pin and unpin
	Approve Verb = "approve" // approve what others have asked for
	Exec    Verb = "exec"    // run commands on hosts
	Secrets Verb = "secrets" // read secrets in the clear
	Enroll  Verb = "enroll"  // take hosts in, lock and revoke them, and make tokens for them
	Admin   Verb = "admin"   // people, roles, grants, audit
)

// Verbs lists all verbs.
func Verbs() []Verb { return []Verb{Read, Plan, Import, Deploy, Approve, Exec, Secrets, Enroll, Admin} }

// Check refuses what is no verb.
func (v Verb) Check() error {
	if slices.Contains(Verbs(), v) {
		return nil
	}
	var names []string
	for _, known := range Verbs() {
		names = append(names, string(known))
	}
	return &diag.HintError{Code: CodeInvalid, Message: fmt.Sprintf("there is no verb %.40q", string(v)), Hint: "the verbs are " + strings.Join(names, ", ")}
}

// Codes of errors of this package.
const (
	CodeInvalid      = "invalid"       // what was given is not well-formed
	CodeNotFound     = "not_found"     // there is nothing of that name
	CodeExists       = "exists"        // there is one of that name already
	CodeUnknown      = "unauthorized"  // nobody, or nobody any more, has what was shown
	CodeForbidden    = "forbidden"     // it takes a grant that is not there
	CodeSamePerson   = "same_person"   // who approves is who has asked
	CodeTooMany      = "too_many"      // it was tried too often
	CodeBroken       = "audit_broken"  // the audit was changed
	CodeLastAdmin    = "last_admin"    // nobody would be left who may administer
	CodeNotSupported = "not_supported" // the server is not set up for it
	CodeUnavailable  = "unavailable"   // what it takes does not answer now
)

// Target is a host as it was approved: what it says of itself counts nowhere here.
type Target struct {
	Name   string
	Labels map[string]string
}

// Kind says what a caller is.
type Kind string

// The kinds of callers.
const (
	Person  Kind = "person"  // somebody who has logged in
	Program Kind = "program" // who has shown a token for programs
)

// Caller is who asks, as far as it was proven, and what that one may do now.
type Caller struct {
	Name   string // a person's; for a program PERSON/PROGRAM
	Kind   Kind
	Grants []Grant
	// ID names the session or token by which the caller has come; empty: none.
	ID string
}

// May tells whether the caller may do something to a host for a site. A site that is empty stands
// for what concerns the host whatever the site is: it takes a grant for all sites, but for
// reading, to which any site is enough.
func (c *Caller) May(verb Verb, host Target, site string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool {
		return g.Verb == verb && g.holdsFor(site) && g.Hosts.Matches(host)
	})
}

// MaySomewhere tells whether the caller has a verb for any host and site at all. Lists are asked
// for by this, and then show what May allows.
func (c *Caller) MaySomewhere(verb Verb) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.Verb == verb })
}

// MaySite tells whether the caller has a verb for a site on any host.
func (c *Caller) MaySite(verb Verb, site string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.Verb == verb && g.holdsFor(site) })
}

// MaySiteEverywhere tells whether the caller has a verb for a site on all hosts.
func (c *Caller) MaySiteEverywhere(verb Verb, site string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.Verb == verb && g.holdsFor(site) && g.Hosts.isAll() })
}

// Sites lists the sites for which the caller has a verb on any host; nil: for all.
func (c *Caller) Sites(verb Verb) []string {
	list := []string{}
	for _, g := range c.Grants {
		switch {
		case g.Verb != verb || slices.Contains(list, g.Site):
		case g.Site == All:
			return nil
		default:
			list = append(list, g.Site)
		}
	}
	return list
}

// MayEverywhere tells whether the caller has a verb for all hosts and sites: what concerns the
// server as a whole takes this.
func (c *Caller) MayEverywhere(verb Verb) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.Verb == verb && g.Site == All && g.Hosts.isAll() })
}

// Demand is an error unless the caller may do something to a host for a site.
func (c *Caller) Demand(verb Verb, host Target, site string) error {
	if c.May(verb, host, site) {
		return nil
	}
	if !c.May(Read, host, site) { // else a selector would tell the names of hosts that the caller may not see
		return forbidden(fmt.Sprintf("this takes the grant %q for each host that it is about", string(verb)))
	}
	return forbidden(fmt.Sprintf("this takes the grant %q for the host %q", string(verb), host.Name))
}

// DemandEverywhere is an error unless the caller has a verb for all hosts and sites.
func (c *Caller) DemandEverywhere(verb Verb) error {
	if c.MayEverywhere(verb) {
		return nil
	}
	return forbidden(fmt.Sprintf("this takes the grant %q for all hosts and sites", string(verb)))
}

func forbidden(message string) error {
	return &diag.HintError{Code: CodeForbidden, Message: message, Hint: "somebody who administers the server can give it to you"}
}

// PersonOf gives the person behind the name of a caller: the one who has made a program's token.
func PersonOf(caller string) string {
	person, _, _ := strings.Cut(caller, "/")
	return person
}

// CheckApproval refuses an approval by the one who has asked for it, be it by a program of theirs.
func CheckApproval(approver *Caller, askedBy string) error {
	if PersonOf(approver.Name) != PersonOf(askedBy) && approver.Name != "" && askedBy != "" {
		return nil
	}
	return &diag.HintError{Code: CodeSamePerson, Message: "who approves is not who has asked",
		Hint: "have somebody else approve it who has the grant \"approve\" for these hosts"}
}
