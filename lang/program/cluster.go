package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// clusterDecl is what cluster "NAME" { … } has beyond a host_group.
type clusterDecl struct{ leader, together, ensure *syntax.Attribute }

func (d *decoder) cluster(b *syntax.Block) {
	wrong := d.check(b.Body, d.shapes.Cluster, nil)
	if !d.identifier(b) {
		return
	}
	a, name := b.Body.Attribute, b.Labels[0]
	d.enterGroup(b, wrong, &clusterDecl{a("leader"), a("together"), a("ensure")})
	d.site.names.Declare("cluster", name, &expr.Entry{Base: states.LabelAddress("cluster", name), Range: rangeOf(b.Header)})
}

// checkClusters reports clusters of a site without a name, by which hosts remember whose members they are.
func (d *decoder) checkClusters() {
	if d.site.name != "" {
		return
	}
	for _, g := range d.site.groups {
		if g.cluster != nil {
			d.errorAt(g.src, `give the site a name: site { name = "NAME" }`, "the cluster %q is in a site without a name: its hosts could not tell whose members they are", g.name)
		}
	}
}

// evaluateCluster evaluates what makes a group a cluster.
func (e hostReader) evaluateCluster(g *groupEntry) {
	d := g.groupDecl.cluster
	if d == nil {
		return
	}
	g.cluster = &site.Cluster{Name: g.name, Range: rangeOf(g.src), Together: e.flag(d.together, e.root, false)}
	g.cluster.Leader, _ = e.singleText(d.leader, e.root)
	if text, ok := e.singleText(d.ensure, e.root); ok {
		switch ensure := states.Ensure(text); ensure {
		case states.Present, states.Absent:
			g.cluster.Absent = ensure == states.Absent
		default:
			e.wrongValue(d.ensure, fmt.Errorf("a cluster is present or absent, not %q", text), `write ensure = "absent"`)
		}
	}
}

// join makes a host that a cluster's pattern fits a member of it, if the cluster is to be present.
func (e hostReader) join(h *hostEntry, g *groupEntry) {
	if g.cluster.Absent {
		return
	}
	if first := h.cluster; first != nil {
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the host %q is in two clusters that are to be present: %s and %s", h.Name, first.name, g.name),
			Detail: "A host serves one cluster at a time.", Hint: `take it out of one of them, or give one of them ensure = "absent"`, Range: rangeOf(g.src),
			Related: []diag.Related{{Message: first.name + " is declared here", Range: rangeOf(first.src)}}})
		return
	}
	h.cluster, h.Cluster = g, g.name
}

// hasJoined reports whether the host has joined the cluster by now, and so has its roles.
func (e *evaluation) hasJoined(h *hostEntry, g *groupEntry) bool {
	return h.cluster == g && (e.target.Clusters == nil || slices.Contains(e.target.Clusters[g.name], h.Name))
}

// clusterRoles sets the roles of a host to those that it has, among them those of a cluster that it
// has joined. given are those that it has by other means.
func (e hostReader) clusterRoles(h *hostEntry, groups []*groupEntry, given []string) {
	byOthers := func(name string) bool { return slices.Contains(given, name) }
	for _, g := range groups {
		if g.cluster != nil && !e.hasJoined(h, g) {
			h.Roles = slices.DeleteFunc(h.Roles, func(name string) bool { return slices.Contains(g.cluster.Roles, name) && !byOthers(name) })
		}
	}
	h.Roles = e.site.withTaken(h.Roles)
	if h.cluster != nil && e.hasJoined(h, h.cluster) {
		h.clusterRoles = slices.DeleteFunc(slices.Clone(h.Roles), byOthers)
	}
}

// joinedText tells by one text who has joined which cluster.
func joinedText(joined map[string][]string) string {
	if joined == nil {
		return "all"
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(joined)) {
		fmt.Fprintf(&out, "%q: %q\n", name, joined[name])
	}
	return out.String()
}

// clusters finds the members of the clusters, once all hosts are known.
func (e hostReader) clusters(groups *hostGroups) {
	for _, g := range groups.clusters {
		d, c := g.groupDecl, g.cluster
		c.Hosts = nil
		for _, h := range e.hosts.entries {
			if slices.Contains(h.Groups, c.Name) {
				c.Hosts = append(c.Hosts, h.Name)
			}
		}
		c.Roles = e.site.withTaken(c.Roles)
		if c.Leader != "" && !slices.Contains(c.Hosts, c.Leader) && !e.hosts.incomplete {
			e.wrongLeader(d, c)
		}
		e.hosts.clusters = append(e.hosts.clusters, c)
	}
}

// wrongLeader reports a leader that is no member: a descriptor's is one.
func (e hostReader) wrongLeader(d *groupDecl, c *site.Cluster) {
	hint := cmp.Or(diag.DidYouMean(c.Leader, c.Hosts), diag.Choices(c.Hosts))
	if d.cluster.leader == nil {
		e.errorAt(d.src, hint, "%q is no member of the cluster %s, which it leads by its descriptor", c.Leader, c.Name)
		return
	}
	e.wrongValue(d.cluster.leader, fmt.Errorf("%q is no member of the cluster %s", c.Leader, c.Name), hint)
}

// externalClusters takes what inventories say of clusters: for one that the site declares, its leader; the others are clusters of the
// site if they are to be present.
func (e hostReader) externalClusters(declared []*groupEntry, external *externalHosts) []*groupEntry {
	var out []*groupEntry
	for _, c := range external.clusters {
		i := slices.IndexFunc(declared, func(g *groupEntry) bool { return g.name == c.Name })
		switch {
		case i >= 0 && declared[i].cluster != nil:
			if declared[i].groupDecl.cluster.leader == nil {
				declared[i].cluster.Leader = c.Leader
			}
		case i < 0 && c.Deployed:
			if e.site.name == "" {
				e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("the cluster %q is deployed in a site without a name: its hosts could not tell whose members they are", c.Name),
					Hint: `give the site a name: site { name = "NAME" }`, Range: c.Range})
				continue
			}
			out = append(out, &groupEntry{groupDecl: &groupDecl{reach: reach{name: c.Name, src: hclRange(c.Range)}, cluster: &clusterDecl{}},
				cluster: &site.Cluster{Name: c.Name, Leader: c.Leader, Range: c.Range}})
		}
	}
	return out
}

// membership is what the host that is evaluated is told of its cluster; nil: it has joined none.
func (e *evaluation) membership() *site.Membership {
	if e.host == nil || e.host.cluster == nil || !e.hasJoined(e.host, e.host.cluster) {
		return nil
	}
	c := e.host.cluster.cluster
	m := &site.Membership{Name: c.Name, Leader: c.Leader, Members: slices.Clone(c.Hosts)}
	if e.target.Clusters != nil {
		m.Members = slices.DeleteFunc(m.Members, func(name string) bool { return !slices.Contains(e.target.Clusters[c.Name], name) })
	}
	return m
}

// clusterValue is host.cluster.
func (e *evaluation) clusterValue() cty.Value {
	m := e.membership()
	if m == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	leader := cty.NullVal(cty.String)
	if m.Leader != "" {
		leader = cty.StringVal(m.Leader)
	}
	members := cty.ListValEmpty(cty.String)
	if len(m.Members) > 0 {
		list := make([]cty.Value, len(m.Members))
		for i, name := range m.Members {
			list[i] = cty.StringVal(name)
		}
		members = cty.ListVal(list)
	}
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(m.Name), "leader": leader, "members": members})
}

// markCluster notes which declarations the host has by its cluster alone.
func (e *evaluation) markCluster() {
	m := e.membership()
	if m == nil {
		return
	}
	bases := e.clusterBases()
	for i := range e.out {
		d := &e.out[i]
		if slices.ContainsFunc(bases, func(base string) bool {
			rest, within := strings.CutPrefix(d.Address, base)
			return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
		}) {
			d.Cluster = m.Name
		}
	}
}

// clusterBases lists what the host's cluster declares, in the order of declaration.
func (e *evaluation) clusterBases() []string {
	var bases []string
	for _, d := range e.top.site.declarations {
		if d.role != "" && e.host != nil && slices.Contains(e.host.clusterRoles, d.role) {
			bases = append(bases, d.base)
		}
	}
	return bases
}

// clusterList gives the clusters as data, in the order of declaration.
func (h *siteHosts) clusterList() []site.Cluster {
	var out []site.Cluster
	for _, c := range h.clusters {
		one := *c
		one.Hosts, one.Roles = slices.Clone(c.Hosts), slices.Clone(c.Roles)
		out = append(out, one)
	}
	return out
}
