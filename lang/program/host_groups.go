package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// groupEntry is an evaluated group.
type groupEntry struct {
	*groupDecl
	priority int
	pattern  site.Pattern
	cluster  *site.Cluster // nil: it is none
	labels   map[string]string
	// around are the groups whose patterns name it, and those around these.
	around map[*groupEntry]bool
}

// hostGroups are the groups of a site.
type hostGroups struct {
	clusters     []*groupEntry // in the order of declaration, those of inventories behind
	byPrecedence []*groupEntry // lowest first
	byNeed       []*groupEntry // each behind those that its pattern names
}

// groups evaluates the groups.
func (e hostReader) groups(declared []*declaredHost, external *externalHosts) *hostGroups {
	known := e.hostNames(declared, external)
	var all []*groupEntry
	for _, d := range e.site.groups {
		g := &groupEntry{groupDecl: d}
		if v, ok := e.attribute(d.priority, e.root); ok {
			n, whole := expr.Int(v)
			if !whole {
				e.wrongValue(d.priority, fmt.Errorf("a whole number is required, not %s", expr.Kind(v)), "write priority = 10")
			}
			g.priority = n
		}
		pattern, given, _ := e.pattern(d.hosts, known)
		if g.pattern = pattern; !given && d.labels == nil && !d.doubtful {
			e.checkMembers(d, external)
		}
		g.labels = e.labels(d.labels, e.root)
		e.evaluateCluster(g)
		all = append(all, g)
	}
	all = append(all, e.externalClusters(all, external)...)
	return &hostGroups{clusters: slices.DeleteFunc(slices.Clone(all), func(g *groupEntry) bool { return g.cluster == nil }), byNeed: e.orderByNeed(all), byPrecedence: orderByPrecedence(all)}
}

// hostNames gives all hosts of the site by their names alone.
func (e hostReader) hostNames(declared []*declaredHost, external *externalHosts) []site.Host {
	var all []site.Host
	for _, h := range declared {
		all = append(all, site.Host{Name: h.name})
	}
	for _, name := range external.names {
		all = append(all, site.Host{Name: name})
	}
	return all
}

func (e hostReader) labels(a *syntax.Attribute, ctx *hcl2.EvalContext) map[string]string {
	items, _ := e.items(a, ctx, "labels")
	labels := map[string]string{}
	for _, item := range items {
		if !item.value.IsKnown() && !expr.IsWithheld(item.value) {
			continue // why has been reported
		}
		v, sensitive := expr.Split(item.value)
		text, err := expr.Text(v)
		if err != nil || sensitive {
			e.errorAt(item.valueRange, `write NAME = "VALUE"`, "labels: the value of %q is no text that may be shown", item.name)
			continue
		}
		labels[item.name] = text
	}
	return labels
}

// groupNeeds are the groups that each group's pattern names, by the site's groups: all of
// them, or those alone whose hosts it takes in.
func groupNeeds(all []*groupEntry, excluded bool) map[*groupEntry][]*groupEntry {
	byName := make(map[string]*groupEntry, len(all))
	for _, g := range all {
		byName[g.name] = g
	}
	needs := make(map[*groupEntry][]*groupEntry, len(all))
	for _, g := range all {
		names, without := g.pattern.Groups()
		if excluded {
			names = append(names, without...)
		}
		for _, name := range names {
			if other := byName[name]; other != nil { // else only an inventory has it
				needs[g] = append(needs[g], other)
			}
		}
	}
	return needs
}

// orderByNeed puts each group behind those that its pattern names, and reports groups
// that name each other.
func (e hostReader) orderByNeed(all []*groupEntry) []*groupEntry {
	needs := groupNeeds(all, true)
	var out, path []*groupEntry
	visited := map[*groupEntry]bool{}
	var visit func(*groupEntry)
	visit = func(g *groupEntry) {
		if i := slices.Index(path, g); i >= 0 {
			e.reportGroupCycle(path[i:])
			return
		}
		if visited[g] {
			return
		}
		path = append(path, g)
		for _, other := range needs[g] {
			visit(other)
		}
		path = path[:len(path)-1]
		visited[g] = true
		out = append(out, g)
	}
	for _, g := range all {
		visit(g)
	}
	return out
}

// reportGroupCycle reports groups of which each names the next, and the last the first:
// from the one that is declared first.
func (e hostReader) reportGroupCycle(cycle []*groupEntry) {
	// Who is in these groups is not known: a stage that names one may seem to have no hosts.
	e.hosts.incomplete = true
	if len(cycle) == 1 {
		e.errorAt(cycle[0].hosts.Range(), "name its hosts, or other groups", "the %s %q names itself", cycle[0].kind(), cycle[0].name)
		return
	}
	declared := func(g *groupEntry) int { return slices.Index(e.site.groups, g.groupDecl) }
	first := slices.MinFunc(cycle, func(a, b *groupEntry) int { return cmp.Compare(declared(a), declared(b)) })
	at := slices.Index(cycle, first)
	cycle = slices.Concat(cycle[at:], cycle[:at])
	d := diag.Diagnostic{Range: rangeOf(cycle[0].hosts.Range()),
		Hint: "one of them must not name the others: name its hosts themselves, or give them a label"}
	var names []string
	for i, g := range cycle {
		names = append(names, g.name)
		if i > 0 {
			d.Related = append(d.Related, diag.Related{Message: g.name + " names its hosts here", Range: rangeOf(g.hosts.Range())})
		}
	}
	d.Summary = "the host groups name each other: " + strings.Join(append(names, names[0]), " → ")
	e.list.Add(d)
}

// orderByPrecedence orders groups by priority. At equal priority a group comes behind
// those around it, since it says more of its hosts than they do; else the name decides.
func orderByPrecedence(all []*groupEntry) []*groupEntry {
	findAround(all)
	rest := slices.Clone(all)
	slices.SortStableFunc(rest, func(a, b *groupEntry) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	var out []*groupEntry
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(g *groupEntry) bool {
			return !slices.ContainsFunc(rest, func(other *groupEntry) bool {
				return other != g && other.priority == g.priority && g.around[other]
			})
		})
		next = max(next, 0) // in a cycle, which is reported
		out = append(out, rest[next])
		rest = slices.Delete(rest, next, next+1)
	}
	return out
}

// findAround finds for each group those around it.
func findAround(all []*groupEntry) {
	needs := groupNeeds(all, false)
	for _, outer := range all {
		var enter func(*groupEntry)
		enter = func(g *groupEntry) {
			for _, inner := range needs[g] {
				if inner.around[outer] {
					continue
				}
				if inner.around == nil {
					inner.around = map[*groupEntry]bool{}
				}
				inner.around[outer] = true
				enter(inner)
			}
		}
		enter(outer)
	}
}

// of gives the groups of a host, lowest precedence first.
func (s *hostGroups) of(h *hostEntry) []*groupEntry {
	names := slices.Clone(h.Groups) // those of inventories
	in := map[*groupEntry]bool{}
	for _, g := range s.byNeed {
		if slices.Contains(h.Groups, g.name) || g.pattern.Matches(h.Name, names) || g.fitsLabels(h) {
			in[g], names = true, append(names, g.name)
		}
	}
	return slices.DeleteFunc(slices.Clone(s.byPrecedence), func(g *groupEntry) bool { return !in[g] })
}

// fitsLabels reports whether a host has all labels of the group.
func (g *groupEntry) fitsLabels(h *hostEntry) bool {
	if g.groupDecl.labels == nil {
		return false
	}
	for name, text := range g.labels {
		if have, ok := h.Labels[name]; !ok || have != text {
			return false
		}
	}
	return true
}
