package runtime

import (
	"slices"

	"github.com/tenetcm/tenet/states"
)

// partEnded adds a part's end to its invocation.
func (i *invocation) partEnded(s *step) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.node
	outcome := s.outcome
	ignored := s.part.Options.IgnoreFailure && isFailure(outcome)
	if ignored {
		i.parts[s.part.Address] = states.Unchanged
	} else {
		i.parts[s.part.Address] = outcome
	}
	switch outcome {
	case states.Changed:
		i.counts.Changed++
	case states.Failed:
		if !ignored {
			i.counts.Failed++
		}
	case states.Unknown:
		if !ignored {
			i.counts.Unknown++
		}
	case states.Skipped:
		i.counts.Skipped++
	case states.Unchanged:
		i.counts.Unchanged++
	}
	if isFailure(outcome) && !ignored && i.failed == "" {
		i.failed = s.part.Address
	}
	was := s.sends()
	n.sent.add(was)
	if n.parts == nil {
		n.parts = map[string]sent{}
	}
	n.parts[s.part.Address] = was
	if i.engine.resumed != nil && !s.over {
		if n.fresh == nil {
			n.fresh = map[string]bool{}
		}
		n.fresh[s.part.Address] = true
	}
	if t := s.taints(); t != nil {
		n.taint = t
	}
}

// sends tells what the part notifies: the table in docs/language.md.
func (s *step) sends() sent {
	likely := surely
	if s.maybe != "" {
		likely = perhaps
	}
	var out sent
	switch {
	case s.outcome == states.Changed, s.outcome == states.Failed && s.touched:
		out.change = likely
	case s.outcome == states.Unknown:
		out.change = likely
	case (s.outcome == states.Unchanged || s.outcome == states.Skipped) && s.maybe != "":
		out.change = perhaps
	}
	if s.outcome == states.Failed || s.outcome == states.Unknown {
		out.failure = likely
	}
	return out
}

// end settles an invocation whose parts have ended.
func (i *invocation) end() {
	n := i.node
	if len(i.parts) < len(n.inv.Parts) && i.failed == "" {
		return // interrupted
	}
	switch c := i.counts; {
	case c.Unknown > 0:
		n.outcome = states.Unknown
	case c.Failed > 0:
		n.outcome = states.Failed
	case c.Changed > 0:
		n.outcome = states.Changed
	case c.Skipped > 0 && c.Unchanged == 0:
		n.outcome = states.Skipped
	default:
		n.outcome = states.Unchanged
	}
	if !n.inv.Options.IgnoreFailure {
		n.blockedBy = i.firstFailed()
	}
	i.engine.recorder.invocation(n, "")
}

// firstFailed names the first part, in the parts' order, that failed; empty:
// none did.
func (i *invocation) firstFailed() string {
	for k := range i.node.inv.Parts {
		address := i.node.inv.Parts[k].Address
		if outcome := i.parts[address]; outcome == states.Failed || outcome == states.Unknown {
			return address
		}
	}
	return ""
}

// endGroup settles a block or a join, all of whose predecessors have ended.
func (e *engine) endGroup(n *node) {
	n.over = e.resumed != nil && !slices.ContainsFunc(n.before, func(p *node) bool { return !p.over })
	if n.block == nil {
		n.outcome = states.Unchanged
		return
	}
	n.outcome = e.worst(n.block.Members, n)
	if isFailure(n.outcome) && len(n.block.Rescue) > 0 && !isFailure(e.worst(n.block.Rescue, n)) && n.outcome != states.Blocked {
		n.outcome = states.Rescued
	}
	if always := e.worst(n.block.Always, n); isFailure(always) && n.outcome != states.Failed && n.outcome != states.Unknown {
		n.outcome = always
	}
	if isFailure(n.outcome) && !n.block.IgnoreFailure {
		n.blockedBy = n.address
	}
	if n.outcome == states.Failed || n.outcome == states.Unknown || n.outcome == states.Rescued {
		n.sent.failure = surely
	}
	n.quiet = n.over && e.resumed.Ended[n.address] == n.outcome
	e.recorder.invocation(n, "")
}

// worst gives the outcome of several members together, and lets the block
// notify the changes that they made.
func (e *engine) worst(members []string, block *node) states.Outcome {
	rank := map[states.Outcome]int{
		states.Changed: 1, states.Blocked: 2, states.Failed: 3, states.Unknown: 4,
	}
	worst := states.Unchanged
	for _, address := range members {
		m := e.nodes[address]
		block.sent.change = max(block.sent.change, m.sent.change)
		outcome := m.outcome
		if isFailure(outcome) && m.blockedBy == "" { // ignored
			outcome = states.Unchanged
		}
		if rank[outcome] > rank[worst] {
			worst = outcome
		}
	}
	return worst
}

// excused reports whether a failure of the node is no failure of the run.
func (n *node) excused() bool {
	if n.inv != nil && n.inv.Options.IgnoreFailure {
		return true
	}
	for _, b := range n.blocks {
		if b.block.IgnoreFailure || b.outcome == states.Rescued && b.block.Recovered || b.excused() {
			return true
		}
	}
	return false
}
