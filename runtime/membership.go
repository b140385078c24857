package runtime

import (
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// What a machine has made as a member of a cluster goes when it leaves that: as an orphan,
// whether the site prunes or not. Until all of it is gone, the machine is a member still.

// hasLeft reports whether the machine is no more in the cluster that something was made for. A run of a part of what is
// declared, as that of a hook, does not tell.
func hasLeft(run *states.StateRun, c *journal.Created) bool {
	return c.Cluster != "" && !run.Partial && (run.Cluster == nil || run.Cluster.Name != c.Cluster)
}

// settleMembership ends the membership of a machine that has left its cluster, at the end of an apply, once
// nothing is there any more of what was made for that, and can be removed.
func (e *engine) settleMembership() {
	m := e.managed()
	if m == nil || e.planning() || e.options.Journal == nil || e.run.Cluster != nil || e.run.Partial || e.recorder.err != nil || !e.hasDeparted() {
		return
	}
	if e.orphans.hasRead {
		stays := func(c *journal.Created) bool {
			return slices.ContainsFunc(e.orphans.list, func(o *orphan) bool {
				return o.entry.Resource() == c.Resource() && (o.keepReason != "" || o.isRetained)
			})
		}
		holding := m.Holding(e.run.Site)
		if m.Err() != nil || slices.ContainsFunc(holding.Entries(), func(c *journal.Created) bool { return !c.Claim && hasLeft(e.run, c) && !stays(c) }) {
			return
		}
	}
	if err := e.options.Journal.LeaveCluster(); err != nil {
		e.recorder.fail(err)
	}
}
