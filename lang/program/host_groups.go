package program

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
)

// groupEntry is an evaluated group.
type groupEntry struct {
	*groupDecl
	priority int
	hosts    []string
	labels   map[string]string
}

// groups evaluates the groups, ordered by priority, then by name.
func (e hostReader) groups(external *externalHosts) []*groupEntry {
	var out []*groupEntry
	for _, d := range e.site.groups {
		g := &groupEntry{groupDecl: d}
		if v, ok := e.attribute(d.priority, e.root); ok {
			n, whole := expr.Int(v)
			if !whole {
				e.wrongValue(d.priority, fmt.Errorf("a whole number is required, not %s", expr.Kind(v)), "write priority = 10")
			}
			g.priority = n
		}
		if v, ok := e.attribute(d.hosts, e.root); ok {
			globs, err := expr.Texts(v)
			if err != nil {
				e.wrongValue(d.hosts, err, `write hosts = ["web*", "db1"]`)
			}
			g.hosts = globs
			e.checkGlobs(d, globs, external)
		} else if d.labels == nil {
			e.checkMembers(d, external)
		}
		g.labels = e.labels(d.labels)
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b *groupEntry) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	return out
}

// checkGlobs reports names in a group that no host has.
func (e hostReader) checkGlobs(d *groupDecl, globs []string, external *externalHosts) {
	if e.hosts.incomplete {
		return // they may be of hosts that are not known
	}
	var all []site.Host
	for _, h := range e.site.hosts {
		all = append(all, site.Host{Name: h.name})
	}
	for _, name := range external.names {
		all = append(all, site.Host{Name: name})
	}
	for _, glob := range globs {
		if _, err := site.SelectHosts(all, nil, glob); err != nil {
			e.wrongValue(d.hosts, err, `write hosts = ["web*", "db1"]`)
		}
	}
}

func (e hostReader) labels(a *syntax.Attribute) map[string]string {
	items, _ := e.items(a, e.root, "labels")
	labels := map[string]string{}
	for _, item := range items {
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

// contains reports whether a host belongs to the group.
func (g *groupEntry) contains(h *hostEntry) bool {
	if slices.Contains(h.Groups, g.name) { // an inventory says so
		return true
	}
	for _, glob := range g.hosts {
		if site.MatchHost(glob, h.Name) {
			return true
		}
	}
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
