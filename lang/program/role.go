package program

import (
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
)

// role is a set of variables and declarations that a host gets by name.
type role struct {
	name        string
	src         hcl2.Range
	vars, roles *syntax.Attribute
	taken       []takenRole // in roles
	// all are the roles that it takes in, directly or not, and itself last: what has it has these.
	all []string
	has expr.Roles // the same
}

func (d *decoder) roleBlock(b *syntax.Block, file string) {
	d.check(b.Body, d.shapes.Role, nil)
	if !d.identifier(b) {
		return
	}
	r := &role{name: b.Labels[0], src: b.Header, vars: b.Body.Attribute("vars"), roles: b.Body.Attribute("roles")}
	if first := d.site.roles[r.name]; first != nil {
		d.duplicate("role."+r.name, b.Header, rangeOf(first.src))
		return
	}
	d.site.roles[r.name] = r
	d.role = r.name
	d.contents(b.Body, file)
	d.role = ""
}

// rolesOf are the roles that a host has if it has what a role declares, or the site itself.
func (p *Program) rolesOf(role string) expr.Roles {
	if role == "" {
		return expr.Roles{}
	}
	if r := p.roles[role]; r != nil {
		return r.has
	}
	return expr.NewRoles([]string{role}) // it is wrong itself
}

// hostRoles are those of the host that is evaluated. A site without hosts is for one that has
// them all.
func (e *evaluation) hostRoles() expr.Roles {
	if e.host == nil {
		return expr.AllRoles()
	}
	return e.host.has
}

// appliesToHost reports whether the host that is evaluated has a declaration, by its
// roles.
func (e *evaluation) appliesToHost(d *declaration) bool { return e.hostRoles().Has(d.role) }

// isOmitted reports whether what is not there is in something that this host
// does not have, or that is left out: references to it make no mistake.
func (e *evaluation) isOmitted(address string) bool {
	return slices.ContainsFunc(e.omittedPrefixes, func(prefix string) bool { return strings.HasPrefix(address+".", prefix) })
}
