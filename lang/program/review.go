package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/states"
)

// Review warns of roles that no host has, of host groups that match none, and of outputs that
// nobody can read. Where not all hosts are known, it cannot tell.
func (p *Program) Review(ctx context.Context, t expr.Target) diag.List {
	e := newEvaluation(ctx, p, t)
	e.preparation().takeInventory()
	if e.hosts.incomplete || e.list.HasErrors() {
		return nil
	}
	hosts := e.hosts.list()
	if len(hosts) == 0 {
		return e.site.readerlessOutputs(p)
	}
	var list diag.List
	warn := func(at hcl2.Range, summary, hint string) {
		list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: summary, Range: rangeOf(at), Hint: hint})
	}
	for name, r := range e.site.roles {
		if !strings.HasPrefix(name, "_") && !slices.ContainsFunc(hosts, func(h site.Host) bool { return slices.Contains(h.Roles, name) }) {
			warn(r.src, fmt.Sprintf("no host has the role %q", name),
				fmt.Sprintf("give it to a host or a host_group, roles = [role.%s], or leave it out; one that is kept on purpose begins with _", name))
		}
	}
	for _, g := range e.site.groups {
		if !strings.HasPrefix(g.name, "_") && !slices.ContainsFunc(hosts, func(h site.Host) bool { return slices.Contains(h.Groups, g.name) }) {
			at := g.src
			if a := cmp.Or(g.hosts, g.labels); a != nil {
				at = a.Range()
			}
			warn(at, fmt.Sprintf("no host is in the %s %q", g.kind(), g.name),
				"tenet inspect hosts lists the hosts with their labels; leave it out if there are none yet, or let its name begin with _")
		}
	}
	list = append(list, sharedMachine(hosts)...)
	list = append(list, e.idleHooks(hosts)...)
	return list.Sorted()
}

// reviewInventory warns of the program of an inventory that stands in the site's folder, and does
// not: such programs are not run to check a site.
func (e hostReader) reviewInventory(d *inventoryDecl, program string) {
	name := path.Clean(program)
	if !e.target.Review || !strings.Contains(program, "/") || !fs.ValidPath(name) {
		return
	}
	info, err := fs.Stat(e.site.dir.FS, name)
	warn := func(summary, hint string) {
		e.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: "command: " + summary, Range: rangeOf(d.command.Range()), Hint: hint})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		warn(fmt.Sprintf("the site has no program %s", program), "write its path from the site's folder, or its name alone where PATH leads to it")
	case err == nil && (info.IsDir() || info.Mode()&0o111 == 0):
		warn(fmt.Sprintf("%s is no program", program), "chmod +x "+name+" makes a script one")
	}
}

// reviewAccounts warns of what acts as an account that the same host is to be without.
func (e *evaluator) reviewAccounts() {
	removed := map[string]diag.Range{}
	each := func(visit func(p *states.PartDeclaration, m *states.Module, absent bool)) {
		for i := range e.out {
			d := &e.out[i]
			for k := range d.Parts {
				p := &d.Parts[k]
				if m := e.site.options.Registry.ModuleOf(p.Type); m != nil && !p.Options.LeftOut && !d.Options.LeftOut {
					visit(p, m, cmp.Or(p.Options.Ensure, d.Options.Ensure) == states.Absent)
				}
			}
		}
	}
	each(func(p *states.PartDeclaration, m *states.Module, absent bool) {
		for _, a := range m.Attributes {
			if name, ok := p.Values[a.Name].(string); ok && a.User && a.Key && absent {
				removed[name] = p.Range
			}
		}
	})
	if len(removed) == 0 {
		return
	}
	each(func(p *states.PartDeclaration, m *states.Module, absent bool) {
		for _, a := range m.Attributes {
			if name, ok := p.Values[a.Name].(string); ok && a.User && !absent {
				delete(removed, name) // both at a time are looked into elsewhere
			}
		}
	})
	warn := func(user string, at diag.Range) {
		if gone, ok := removed[user]; ok {
			e.list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("become: the site removes the account %q", user), Range: at,
				Hint: "name an account that stays, or leave become out", Related: []diag.Related{{Message: "it is removed here", Range: gone}}})
		}
	}
	for i := range e.out {
		d := &e.out[i]
		if d.Options.LeftOut {
			continue
		}
		warn(d.Options.Become, d.Range)
		for k := range d.Parts {
			if !d.TopLevel { // which has it itself
				warn(d.Parts[k].Options.Become, d.Parts[k].Range)
			}
		}
	}
	if e.host != nil {
		warn(e.host.Become, e.host.Range)
	}
}

// readerlessOutputs warns of what a site without hosts hands out. A directory that does not say
// that it is a site may be a component, whose outputs are for who uses it.
func (p *Program) readerlessOutputs(static *Program) (list diag.List) {
	if static.siteRange == nil {
		return nil
	}
	for _, name := range p.outputs.Names() {
		for _, o := range p.outputs.All(name) {
			list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("nobody can read the output %q", name), Range: rangeOf(o.src),
				Detail: "An output is what a host hands to others, and the site declares no hosts.",
				Hint:   "leave it out, or declare hosts: host \"NAME\" { … }"})
		}
	}
	return list
}
