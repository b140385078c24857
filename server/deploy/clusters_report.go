package deploy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/cluster"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/trust"
)

// peers are hosts of a cluster, and those that have left it and are members still.
func (w *clusterWorld) peers(row *clusterRow, c *site.Cluster) (out []cluster.Peer) {
	names := slices.Clone(c.Hosts)
	for _, name := range slices.Sorted(maps.Keys(row.Members)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		p := cluster.Peer{Name: name}
		e := w.byName[name]
		switch {
		case e == nil:
			p.Away = "it is not enrolled, or may not be changed"
		case !w.told.away[e.ID].IsZero():
			p.Away = "it is not connected"
		case w.told.facts[name] == nil:
			p.Away = "it has told no facts yet"
		case w.d.host(e.ID) == nil && row.Members[name] == "":
			p.Away = "the deployment is not for it"
		}
		for _, other := range w.rows {
			if e != nil && other.Members[name] == e.ID || other == row && row.Members[name] != "" {
				p.Of = &journal.Membership{Site: other.Site, Since: other.Since,
					Membership: site.Membership{Name: other.Name, Members: slices.Sorted(maps.Keys(other.Members))}}
			}
		}
		if e != nil {
			p.Run, p.Why = w.run(e.ID)
		}
		out = append(out, p)
	}
	return out
}

// run tells how a host stands with what it is to be.
func (w *clusterWorld) run(id trust.ID) (cluster.Run, string) {
	p, t, loop := w.prepared[id], w.targets[id], w.told.loops[id]
	switch {
	case p != nil && p.Error != "":
		return cluster.RunFailed, p.Error
	case t == nil || loop == nil || p == nil || p.Identity != t.Identity:
		return cluster.RunNone, ""
	case loop.Phase == control.PhaseHelp, loop.Condition == control.ConditionFailed, loop.Condition == control.ConditionReverted:
		return cluster.RunFailed, cmp.Or(loop.Reason, "it has failed")
	case loop.Position.Compare(t.Position) < 0, loop.Condition != control.ConditionConverged:
		return cluster.RunActive, ""
	}
	return cluster.RunDone, ""
}

// report keeps how a cluster stands.
func (w *clusterWorld) report(row *clusterRow, c *site.Cluster, declared bool) {
	of := *c
	of.Absent = c.Absent || row.Undeployed > 0
	row.Report = cluster.Tell(w.d.Site, of, w.peers(row, &of))
	if !declared && len(row.Members) == 0 {
		row.Report = nil // nothing is left of it
	}
}
