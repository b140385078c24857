package program

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/inventory"
	"github.com/tenetcm/tenet/lang/syntax"
)

// inventoryDecl is inventory { … }.
type inventoryDecl struct {
	src                       hcl2.Range
	command, ansible, opendut *syntax.Attribute
}

func (d *decoder) inventory(b *syntax.Block) {
	wrong := d.check(b.Body, d.shapes.Inventory, nil)
	i := &inventoryDecl{b.Header, b.Body.Attribute("command"), b.Body.Attribute("ansible"), b.Body.Attribute("opendut")}
	given := 0
	for _, a := range []*syntax.Attribute{i.command, i.ansible, i.opendut} {
		if a != nil {
			given++
		}
	}
	if given != 1 {
		if !wrong {
			d.errorAt(b.Header, `give either ansible = "hosts.ini", command = ["./inventory.py", "--list"] or opendut = "lab.yml"`, "an inventory needs one of ansible, command and opendut")
		}
		return
	}
	d.site.inventories = append(d.site.inventories, i)
}

// inventoryCache holds the inventories of a site, each read once, and the hosts that
// the site makes of them.
type inventoryCache struct {
	mu      sync.Mutex
	results map[string]*inventoryResult // by program or file
	hosts   map[hostsKey]*cachedHosts
	exports cachedExports
}

// hostsKey is what of a target the hosts of a site without scripts depend on.
type hostsKey struct {
	secretsHidden, inventoryHidden bool
	joined                         string // who has joined which cluster
}

// cachedHosts are the hosts of a site as they were evaluated. They do not change.
type cachedHosts struct {
	siteHosts
	groups    *hostGroups
	warnings  diag.List
	variables map[string]cty.Value // with which they were evaluated
}

// hostsFor gives the hosts as they were evaluated with the same values of variables.
func (c *inventoryCache) hostsFor(key hostsKey, variables map[string]cty.Value) *cachedHosts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.hosts[key]; known != nil && maps.EqualFunc(known.variables, variables, cty.Value.RawEquals) {
		return known
	}
	return nil
}

func (c *inventoryCache) storeHosts(key hostsKey, h *cachedHosts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil {
		c.hosts = map[hostsKey]*cachedHosts{}
	}
	c.hosts[key] = h
}

type inventoryResult struct {
	hosts    []*externalHost
	groups   []string
	clusters []inventory.Cluster
	list     diag.List
}

// externalHost is a host of an inventory, with what it and its groups give to
// variables.
type externalHost struct {
	inventory.Host
	groups, ownVars []levelVars
}

// externalHosts are those of all inventories of a site. Where several tell of one host,
// the last one counts.
type externalHosts struct {
	names    []string
	byName   map[string]*externalHost
	groups   []string
	clusters []inventory.Cluster
}

// undeclaredNames gives the names of those that are not declared.
func (o *externalHosts) undeclaredNames(declared []*declaredHost) []string {
	known := make(map[string]bool, len(declared))
	for _, d := range declared {
		known[d.name] = true
	}
	return slices.DeleteFunc(slices.Clone(o.names), func(name string) bool { return known[name] })
}

// externalInventory reads the inventories of the site.
func (e hostReader) externalInventory() *externalHosts {
	out := &externalHosts{byName: map[string]*externalHost{}}
	failed := false
	for _, d := range e.site.inventories {
		found := e.inventoryOf(d)
		if found == nil {
			failed = failed || !e.hosts.incomplete
			continue
		}
		e.list.Add(found.list...)
		failed = failed || found.list.HasErrors()
		out.groups = append(out.groups, found.groups...)
		out.clusters = append(out.clusters, found.clusters...)
		for _, h := range found.hosts {
			if first := out.byName[h.Name]; first != nil {
				h = first.merge(h)
			} else {
				out.names = append(out.names, h.Name)
			}
			out.byName[h.Name] = h
		}
	}
	if len(e.site.inventories) > 0 && len(out.names)+len(e.site.hosts) == 0 && !failed && !e.hosts.incomplete {
		e.errorAt(e.site.inventories[0].src, "look at what it holds, or prints", "the inventory tells of no hosts")
	}
	// Hosts may be missing now that a group or a stage names.
	e.hosts.incomplete = e.hosts.incomplete || failed
	return out
}

// merge joins what another inventory says of the host, which counts.
func (h *externalHost) merge(other *externalHost) *externalHost {
	out := *other
	out.Groups = slices.Clone(h.Groups)
	for _, g := range other.Groups {
		if !slices.Contains(out.Groups, g) {
			out.Groups = append(out.Groups, g)
		}
	}
	if slices.ContainsFunc(out.Groups, func(g string) bool { return g != inventory.All && g != inventory.Ungrouped }) {
		out.Groups = slices.DeleteFunc(out.Groups, func(g string) bool { return g == inventory.Ungrouped })
	}
	out.groups = slices.Concat(h.groups, other.groups)
	out.ownVars = slices.Concat(h.ownVars, other.ownVars)
	if out.Address == out.Name {
		out.Address = h.Address
	}
	out.Port, out.User, out.Become = cmp.Or(out.Port, h.Port), cmp.Or(out.User, h.User), cmp.Or(out.Become, h.Become)
	out.BecomeMethod, out.RunnerCache = cmp.Or(out.BecomeMethod, h.BecomeMethod), cmp.Or(out.RunnerCache, h.RunnerCache)
	if out.Executor == "ssh" {
		out.Executor = h.Executor
	}
	out.SSHOptions = slices.Concat(other.SSHOptions, h.SSHOptions)
	out.Roles = slices.Concat(h.Roles, other.Roles)
	out.Labels = maps.Clone(h.Labels)
	if out.Labels == nil {
		out.Labels = other.Labels
	} else {
		maps.Copy(out.Labels, other.Labels)
	}
	return &out
}

// inventoryOf reads one inventory, if that was not done before; nil: it cannot be had,
// which is reported, or stays hidden.
func (e hostReader) inventoryOf(d *inventoryDecl) *inventoryResult {
	if d.ansible != nil {
		return e.inventoryFiles(d.ansible, inventory.Read)
	}
	if d.opendut != nil {
		return e.inventoryFiles(d.opendut, inventory.ReadPeers)
	}
	v, ok := e.attribute(d.command, e.root)
	if !ok {
		return nil
	}
	argv, err := expr.Texts(v)
	if err == nil && len(argv) == 0 {
		err = errors.New("the list is empty")
	}
	if _, sensitive := expr.Split(v); err == nil && sensitive {
		err = errors.New("a program and its arguments are shown, and cannot be sensitive")
	}
	if err != nil {
		e.wrongValue(d.command, err, `write command = ["./inventory.py", "--list"]`)
		return nil
	}
	if e.target.InventoryHidden {
		e.reviewInventory(d, argv[0])
		e.hosts.incomplete = true
		return nil
	}
	return e.cachedResult("command\x00"+strings.Join(argv, "\x00"), func() (*inventoryResult, bool) { return e.runInventory(d, argv) })
}

// inventoryFiles reads an inventory that is a file of the site, or a folder.
func (e hostReader) inventoryFiles(a *syntax.Attribute, read func(fs.FS, string) (*inventory.Inventory, diag.List)) *inventoryResult {
	name, ok := e.singleText(a, e.root)
	if !ok {
		return nil
	}
	at, err := e.parts.Files.Locate(".", name)
	if err != nil {
		e.wrongValue(a, err, "name a file of the site, or a directory")
		return nil
	}
	return e.cachedResult(a.Name+"\x00"+at, func() (*inventoryResult, bool) { return inventoryResultOf(read(e.site.dir.FS, at)), true })
}

// cachedResult gives the result of an inventory that was read before, or reads it. What is no final answer is not
// kept.
func (e hostReader) cachedResult(key string, read func() (found *inventoryResult, final bool)) *inventoryResult {
	r := e.site.inventoryCache
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.results[key]; ok {
		return found
	}
	found, final := read()
	if final {
		if r.results == nil {
			r.results = map[string]*inventoryResult{}
		}
		r.results[key] = found
	}
	return found
}

// runInventory asks a program for hosts.
func (e hostReader) runInventory(d *inventoryDecl, argv []string) (found *inventoryResult, final bool) {
	failed := func(err error, hint string) *inventoryResult {
		said := diag.Diagnose(err, rangeOf(d.command.Range()))
		said.Summary = fmt.Sprintf("the inventory %s: %s", argv[0], said.Summary)
		said.Hint = cmp.Or(said.Hint, hint)
		out := &inventoryResult{}
		out.list.Add(said)
		return out
	}
	if e.target.Inventory == nil {
		return failed(errors.New("programs are not run here"), "name a file in its place"), false
	}
	data, err := e.target.Inventory(e.ctx, argv)
	if err == nil && len(data) > inventory.MaxBytes {
		err = fmt.Errorf("it printed more than %d MiB", inventory.MaxBytes>>20)
	}
	if err != nil {
		return failed(err, "run it by hand, in the directory of the site"), e.ctx.Err() == nil
	}
	return inventoryResultOf(inventory.Parse(strings.Join(argv, " "), data)), true
}

// inventoryResultOf gives values the form of the language.
func inventoryResultOf(inv *inventory.Inventory, list diag.List) *inventoryResult {
	out := &inventoryResult{groups: inv.Groups, clusters: inv.Clusters, list: list}
	for _, h := range inv.Hosts {
		x := &externalHost{Host: h}
		for _, l := range h.Levels {
			vars := levelVars{level: expr.LevelHost, name: h.Name, external: true}
			if l.Group != "" {
				vars.level, vars.name = expr.LevelGroup, l.Group
			}
			for _, i := range l.Items {
				v, err := expr.Value(i.Value)
				if err != nil {
					out.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the value of %s: %v", i.Name, err), Range: i.Range,
						Hint: "text is UTF-8 in normal form C"})
					continue
				}
				src := hclRange(i.Range)
				vars.items = append(vars.items, item{i.Name, v, src, src})
			}
			if l.Group != "" {
				x.groups = append(x.groups, vars)
			} else {
				x.ownVars = append(x.ownVars, vars)
			}
		}
		out.hosts = append(out.hosts, x)
	}
	out.list = out.list.Sorted()
	return out
}

// knownRoles gives the roles that an inventory gives a host, and reports those that the
// site does not declare.
func (e hostReader) knownRoles(x *externalHost) []string {
	var out []string
	for _, name := range x.Roles {
		if e.site.roles[name] == nil {
			known := slices.Sorted(maps.Keys(e.site.roles))
			e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the host %s: there is no role %q", x.Name, name), Range: x.Range,
				Hint: cmp.Or(diag.DidYouMean(name, known), diag.Choices(known), fmt.Sprintf("declare it: role %q { … }", name))})
			continue
		}
		out = append(slices.DeleteFunc(out, func(r string) bool { return r == name }), name)
	}
	return out
}

// checkMembers reports a group that says nothing of its hosts, and of which no inventory
// says anything either.
func (e hostReader) checkMembers(d *groupDecl, external *externalHosts) {
	switch {
	case len(e.site.inventories) == 0:
		e.errorAt(d.src, groupHint, "the %s %q needs hosts or labels", d.kind(), d.name)
	case !e.hosts.incomplete && !slices.Contains(external.groups, d.name):
		e.errorAt(d.src, cmp.Or(diag.DidYouMean(d.name, external.groups), groupHint), "the %s %q has no hosts or labels, and no inventory has such a group", d.kind(), d.name)
	}
}

// hclRange gives a range of ours as the HCL library's.
func hclRange(r diag.Range) hcl2.Range {
	pos := func(p diag.Pos) hcl2.Pos { return hcl2.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return hcl2.Range{Filename: r.File, Start: pos(r.Start), End: pos(r.End)}
}
