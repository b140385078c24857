package runtime

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/states"
)

// execute runs nodes that are ready to their ends. Several nodes are
// invocations of one part each, whose module takes them in one call.
func (e *engine) execute(ctx context.Context, nodes []*node) {
	var runs []*invocation
	for _, n := range nodes {
		n.takeRisks()
		if n.inv == nil {
			e.endGroup(n)
			continue
		}
		if n.inv.Confirms != "" {
			e.confirm(ctx, n)
			continue
		}
		if i := e.start(ctx, n); i != nil {
			i.beginNode()
			runs = append(runs, i)
		}
	}
	if len(runs) == 0 {
		return
	}
	var names []string
	for _, i := range runs {
		names = append(names, lockNames(i.node.inv)...)
	}
	defer e.locks.acquire(names)()
	switch {
	case len(runs) > 1:
		var steps []*step
		for _, i := range runs {
			steps = append(steps, e.newStep(i, &i.node.inv.Parts[0]))
		}
		e.actOnSteps(ctx, steps)
	case runs[0].node.inv.Parallel:
		e.parallel(ctx, runs[0])
	default:
		e.sequence(ctx, runs[0])
	}
	for _, i := range runs {
		i.settle()
		i.recordNode()
	}
}

// invocation is one that runs, and what its parts have said so far.
type invocation struct {
	engine *engine
	node   *node
	mu     sync.Mutex
	// doubt is why its rows are not certain, whatever they look at: a
	// handler that may be notified, a guard that cannot be known. cause is the part for
	// which that is so, in the end.
	doubt, cause string
	debtReason   string // why it runs though nothing in this run calls it
	failedPart   string // the part that ended it
	counts       states.Counts
	parts        map[string]states.Outcome
	differing    *states.Differing // of a rule: what is done about its node; nil: that is not known
}

// start decides whether an invocation runs. If not, it has ended.
func (e *engine) start(ctx context.Context, n *node) *invocation {
	if e.takeOverAll(n) {
		return nil
	}
	if p := n.blocker(); p != nil {
		e.block(n, p)
		return nil
	}
	i := &invocation{engine: e, node: n, debtReason: n.callReason, parts: map[string]states.Outcome{}}
	reason, cause, runs := e.nodes.isCalled(n)
	owed := e.takeDebts(n)
	if !runs && len(owed) == 0 {
		e.stopBefore(n, states.Idle, "", "")
		return nil
	}
	if unaccounted := unaccountedDebts(owed, runs, e.recorder.runID()); len(unaccounted) > 0 {
		i.debtReason, reason, cause = debtReason(unaccounted), "", ""
	}
	i.doubt, i.cause = reason, cause
	if e.gate(i) {
		return nil
	}
	e.recordHandlerStart(n, owed)
	if e.resumption.hasPassedGuards(n) {
		return i
	}
	d := e.decide(ctx, n, "", account(n.inv), n.inv.Guards)
	switch {
	case d.err != nil && ctx.Err() != nil:
		return nil // pending
	case d.err != nil && d.uncertain():
		e.skip(n, decision{skip: true, reason: "its guard cannot be decided: " + d.err.Error(), doubt: d.doubt, cause: d.cause})
		return nil
	case d.err != nil:
		e.failBefore(n, d.err)
		return nil
	case d.skip:
		e.skip(n, d)
		return nil
	case d.uncertain() && i.doubt == "":
		i.doubt, i.cause = d.doubt, d.cause
	}
	return i
}

// isCalled tells whether a handler, a rescue or a plain invocation is to run, in
// a plan with the reason why that is not certain, and the part for which that is so.
func (d dag) isCalled(n *node) (doubt, cause string, runs bool) {
	if n.rescues != nil {
		cause, runs := d.failureCause(n.rescues.block.Members, false)
		if cause != "" {
			doubt = "if " + n.rescues.address + " fails"
		}
		return doubt, cause, runs
	}
	if len(n.sources) == 0 && !n.inv.Handler || n.inv.Always {
		return "", "", true
	}
	likely := never
	var by []string
	for _, s := range n.sources {
		l := s.notification()
		if l == perhaps {
			by = append(by, cmp.Or(s.part, s.node.address))
			cause = cmp.Or(cause, d.causeOf(s.node, s.part))
		}
		likely = max(likely, l)
	}
	if likely == perhaps {
		verb := " changes"
		if len(by) > 1 {
			verb = " change"
		}
		return "if " + strings.Join(by, " or ") + verb, cause, true
	}
	return "", "", likely == surely
}

// takeRisks finds a part that may fail among those that a node requires or, of a block, holds.
func (n *node) takeRisks() {
	from := n.requires
	if n.block != nil {
		from = n.before
	}
	for _, p := range from {
		if p.inv != nil && p.inv.Options.IgnoreFailure || p.block != nil && p.block.IgnoreFailure {
			continue
		}
		if n.riskBefore = cmp.Or(n.riskBefore, p.riskBefore); n.riskBefore == "" && len(p.risks) > 0 {
			n.riskBefore = p.risks[0]
		}
		if n.riskBefore != "" && n.causes[n.riskBefore] == "" {
			if n.causes == nil {
				n.causes = map[string]string{}
			}
			n.causes[n.riskBefore] = p.causes[n.riskBefore]
		}
	}
}

// causeOf gives the part for which a part, or what is in a node, is uncertain; empty: none is known.
func (d dag) causeOf(n *node, part string) string {
	if part != "" {
		return n.causeOf(part)
	}
	if n.block != nil {
		for _, m := range n.block.Members {
			if cause := d.causeOf(d[m], ""); cause != "" {
				return cause
			}
		}
	}
	if n.inv == nil {
		return ""
	}
	for k := range n.inv.Parts {
		if cause := n.causes[n.inv.Parts[k].Address]; cause != "" {
			return cause
		}
	}
	return ""
}

// isFailure reports whether what requires this outcome is blocked by it.
func isFailure(o states.Outcome) bool {
	return o == states.Failed || o == states.Unknown || o == states.Blocked
}

// endUnrun records how a part has ended that did not run.
func (e *engine) endUnrun(n *node, p *states.Part, end ending) {
	e.recorder.recordPart(&step{engine: e, node: n, declaration: declaration{part: p}, ending: end})
}

// stopBefore ends an invocation none of whose parts ran.
func (e *engine) stopBefore(n *node, outcome states.Outcome, reason, blockedBy string) {
	for k := range n.inv.Parts {
		e.endUnrun(n, &n.inv.Parts[k], ending{outcome: outcome, reason: reason})
	}
	n.outcome, n.blockedBy = outcome, blockedBy
	e.recorder.recordInvocation(n, reason)
}

// skip ends an invocation whose guard says no. Where a plan is not certain of that, what the
// parts would do is not shown as if it happened, but may happen.
func (e *engine) skip(n *node, d decision) {
	if !d.uncertain() {
		e.stopBefore(n, states.Skipped, d.reason, "")
		return
	}
	for k := range n.inv.Parts {
		e.endOpen(n, &n.inv.Parts[k], ending{outcome: states.Skipped, reason: d.reason}, certainty{doubt: d.doubt, cause: d.cause})
	}
	n.outcome = states.Skipped
	e.recorder.recordInvocation(n, d.reason)
}

// endOpen records that a part does not run in a plan, as things are, and what it may do all the
// same.
func (e *engine) endOpen(n *node, p *states.Part, end ending, c certainty) {
	s := &step{engine: e, node: n, declaration: declaration{p, e.moduleOf(p)}, certainty: c, ending: end}
	was := s.notification(s.doubt)
	n.notification.add(was)
	if n.parts == nil {
		n.parts = map[string]notification{}
	}
	n.parts[p.Address] = was
	n.noteCause(s)
	s.addEffects()
	e.recorder.recordPart(s)
}

// failBefore ends an invocation whose guard could not be decided.
func (e *engine) failBefore(n *node, err error) {
	for k := range n.inv.Parts {
		end := ending{outcome: states.Blocked, reason: "by its guard"}
		if k == 0 {
			end = ending{outcome: states.Failed, err: err}
		}
		e.endUnrun(n, &n.inv.Parts[k], end)
	}
	n.outcome, n.notification = states.Failed, notification{failure: surely}
	if !n.inv.Options.IgnoreFailure {
		n.blockedBy = n.address
	}
	e.recorder.recordInvocation(n, "")
}

// sequence runs the parts in order; the first that fails ends it. Neighbours
// that can go in one call do.
func (e *engine) sequence(ctx context.Context, i *invocation) {
	parts := pointers(i.node.inv.Parts)
	for len(parts) > 0 {
		if i.failedPart != "" || ctx.Err() != nil {
			i.leaveParts(parts, ctx.Err())
			return
		}
		count := callSize(e.options.Registry, parts)
		var steps []*step
		for _, p := range parts[:count] {
			steps = append(steps, e.newStep(i, p))
		}
		e.actOnSteps(ctx, steps)
		parts = parts[count:]
	}
}

// callSize is how many of the first parts go in one call.
func callSize(registry *states.Registry, parts []*states.Part) int {
	m := registry.ModuleOf(parts[0].Type)
	if m == nil || m.Batch == nil || hasOwnPace(parts[0]) {
		return 1
	}
	keys := map[string]bool{parts[0].Key: true}
	count := 1
	for ; count < len(parts); count++ {
		p := parts[count]
		// What depends on a part of the call has to wait for the next one.
		depends := len(p.Guards) > 0 || len(p.Requires) > 0 || keys[p.Key]
		if p.Type != parts[0].Type || hasOwnPace(p) || depends {
			break
		}
		keys[p.Key] = true
	}
	return count
}

// hasOwnPace reports whether a part must be carried out alone.
func hasOwnPace(p *states.Part) bool {
	return p.Options.Timeout != 0 || p.Options.Become != "" || len(p.Results) > 0
}

// leaveParts records the parts that were not reached.
func (i *invocation) leaveParts(parts []*states.Part, cancelled error) {
	if cancelled != nil {
		return // they are pending, and the next apply does them
	}
	for _, p := range parts {
		i.engine.endBlocked(i.node, p, i.failedPart, i.node.causes[i.failedPart])
	}
}
