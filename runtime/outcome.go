package runtime

import (
	"cmp"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// addPart adds a part's end to its invocation.
func (i *invocation) addPart(s *step) {
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
	if isFailure(outcome) && !ignored && i.failedPart == "" {
		i.failedPart = s.part.Address
	}
	was := s.notification(s.doubt)
	n.notification.add(was)
	if n.parts == nil {
		n.parts = map[string]notification{}
	}
	n.parts[s.part.Address] = was
	n.noteCause(s)
	if s.mayFail && s.doubt != "" && !s.part.Options.IgnoreFailure {
		n.risks = append(n.risks, s.part.Address)
	}
}

// causeOf gives the part for which a part of the node, or one that it requires, is uncertain.
func (n *node) causeOf(part string) string { return n.causes[part] }

// noteCause notes the part for which a row is uncertain.
func (n *node) noteCause(s *step) {
	if s.doubt == "" {
		return
	}
	n.noteCauseOf(s.part.Address, s.rootCause())
}

func (n *node) noteCauseOf(address, cause string) {
	if n.causes == nil {
		n.causes = map[string]string{}
	}
	n.causes[address] = cause
}

// noteFresh notes that a part was carried out by this process, where the run goes on.
func (i *invocation) noteFresh(part string) {
	if i.engine.resumption == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.node.fresh == nil {
		i.node.fresh = map[string]bool{}
	}
	i.node.fresh[part] = true
}

// notification tells what a part notifies that has ended so, in a plan with a doubt: the table
// in docs/language.md.
func (e ending) notification(doubt string) notification {
	likely := surely
	if doubt != "" {
		likely = perhaps
	}
	var out notification
	switch {
	case e.outcome == states.Changed, e.outcome == states.Failed && e.hasPartialChange:
		out.change = likely
	case e.outcome == states.Unknown:
		out.change = likely
	case doubt != "": // in a plan
		out.change = perhaps
	}
	if e.outcome == states.Failed || e.outcome == states.Unknown {
		out.failure = likely
	}
	return out
}

// settle settles an invocation whose parts have ended.
func (i *invocation) settle() {
	n := i.node
	if len(i.parts) < len(n.inv.Parts) && i.failedPart == "" {
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
	i.engine.recorder.recordInvocation(n, "")
}

// firstFailed names the first part, in the parts' order, that failed, for sure where there is
// such a one; empty: none did.
func (i *invocation) firstFailed() (open string) {
	for k := range i.node.inv.Parts {
		address := i.node.inv.Parts[k].Address
		if outcome := i.parts[address]; outcome != states.Failed && outcome != states.Unknown {
			continue
		}
		if i.node.causes[address] == "" {
			return address
		}
		open = cmp.Or(open, address)
	}
	return open
}

// endGroup settles a block or a join, all of whose predecessors have ended.
func (e *engine) endGroup(n *node) {
	n.isFromEarlierProcess = e.resumption != nil && !slices.ContainsFunc(n.before, func(p *node) bool { return !p.isFromEarlierProcess })
	if n.block == nil {
		n.outcome = states.Unchanged
		return
	}
	n.outcome = e.nodes.worstOutcome(n.block.Members, n)
	if isFailure(n.outcome) && len(n.block.Rescue) > 0 && !isFailure(e.nodes.worstOutcome(n.block.Rescue, n)) && n.outcome != states.Blocked {
		n.outcome = states.Rescued
	}
	if always := e.nodes.worstOutcome(n.block.Always, n); isFailure(always) && n.outcome != states.Failed && n.outcome != states.Unknown {
		n.outcome = always
	}
	cause, _ := e.nodes.failureCause(slices.Concat(n.block.Members, n.block.Always), true)
	if isFailure(n.outcome) && !n.block.IgnoreFailure {
		n.blockedBy = n.address
	}
	if n.outcome == states.Failed || n.outcome == states.Unknown || n.outcome == states.Rescued {
		n.notification.failure = surely
	}
	if cause != "" {
		n.noteCauseOf(n.address, cause)
		n.notification.failure = min(n.notification.failure, perhaps)
	}
	n.isRecorded = n.isFromEarlierProcess && e.resumption.Ended[n.address] == n.outcome
	e.recorder.recordInvocation(n, "")
}

// worstOutcome gives the outcome of several members together, and lets the block
// notify the changes that they made.
func (d dag) worstOutcome(members []string, block *node) states.Outcome {
	rank := map[states.Outcome]int{
		states.Changed: 1, states.Blocked: 2, states.Failed: 3, states.Unknown: 4,
	}
	worst := states.Unchanged
	for _, address := range members {
		m := d[address]
		block.notification.change = max(block.notification.change, m.notification.change)
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

// isExcused reports whether a failure of the node is no failure of the run.
func (n *node) isExcused() bool {
	if n.inv != nil && n.inv.Options.IgnoreFailure {
		return true
	}
	for _, b := range n.blocks {
		if b.block.IgnoreFailure || b.outcome == states.Rescued && b.block.Recovered || b.isExcused() {
			return true
		}
	}
	return false
}
