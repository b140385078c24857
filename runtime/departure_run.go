package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// departureWork is what is done in a run, since the machine has left clusters, about nodes that rules of these have made.
type departureWork struct {
	keys      []string          // of the departures
	addresses map[string]bool   // of comparisons and handlers
	stays     map[string]string // why nodes of rules stay
}

// has reports whether an invocation is part of it.
func (d *departureWork) has(inv *states.Invocation) bool {
	return inv != nil && (d.addresses[inv.Address] || inv.Node != nil && d.addresses[inv.Node.Comparison])
}

// departuresOf gives the keys of what a machine remembers of clusters of a site that it has left.
func departuresOf(past *journal.Ledger, run *states.StateRun, origin string) (keys []string) {
	if past == nil || run.Site == "" || run.Partial {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(past.Nodes[journal.Identity(run.Site, origin)])) {
		if isDepartureKey(key) && (run.Cluster == nil || key != departureKey(run.Cluster.Name)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// withDeparture gives the run with what deletes the nodes that rules of a cluster have made which the machine has left. What rules of the
// run are for is theirs.
func (e *engine) withDeparture(run *states.StateRun) (*states.StateRun, error) {
	e.departures = departureWork{addresses: map[string]bool{}, stays: map[string]string{}}
	if e.options.outer != nil {
		return run, nil
	}
	e.departures.keys = departuresOf(e.options.Past, run, e.options.Origin)
	if len(e.departures.keys) == 0 {
		return run, nil
	}
	remembered, err := e.rememberedNodes()
	if err != nil {
		return nil, err
	}
	declared := map[string]bool{}
	for _, p := range run.Comparisons() {
		d, err := documentOfPart(p)
		if err != nil {
			return nil, err
		}
		for _, r := range d.rules {
			declared[r.Address] = true
		}
	}
	out := run
	for _, key := range e.departures.keys {
		var d departure
		if err := plainOf(e.options.Past.Nodes[journal.Identity(run.Site, e.options.Origin)][key].Data, &d); err != nil {
			return nil, &diag.HintError{Code: "record", Err: fmt.Errorf("what deletes the nodes of %s, which this host has left, cannot be read: %w", key, err),
				Hint: "tenet forget " + key + " writes it off; its nodes stay"}
		}
		if out, err = e.depart(out, &d, declared, remembered); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// depart puts what a departure has left to do before a run.
func (e *engine) depart(run *states.StateRun, d *departure, declared map[string]bool, last map[string]remembered) (*states.StateRun, error) {
	maps.Copy(e.departures.stays, d.Stays)
	list, isNeeded := []states.Invocation{}, false
	here := map[string]bool{}
	for _, inv := range d.Invocations {
		isCompared := len(inv.Parts) == 1 && inv.Parts[0].Type == states.ComparisonType
		switch {
		case isCompared:
			p := inv.Parts[0]
			doc, err := documentOfPart(&p)
			if err != nil {
				return nil, err
			}
			rules, hasNodes := doc.undeclaredRules(declared, last)
			if len(rules) == 0 {
				continue
			}
			isNeeded = isNeeded || hasNodes
			p.ID, p.Values = graph.PartID(run.Host, p.Address), maps.Clone(p.Values)
			p.Values["rules"] = rules
			inv.Parts = []states.Part{p}
			e.departures.addresses[inv.Address] = true
		case inv.Node != nil && (declared[inv.Node.Rule] || !here[inv.Node.Comparison]):
			continue
		case inv.Node == nil:
			isNeeded = isNeeded || len(e.debts.open[states.WithoutWave(inv.Address)]) > 0
		}
		here[inv.Address] = true
		list = append(list, inv)
	}
	if !isNeeded {
		return run, nil
	}
	return e.withFirst(run, list, here), nil
}

// undeclaredRules gives the rules that the run does not declare, and whether there are nodes that they have made.
func (d *document) undeclaredRules(declared map[string]bool, last map[string]remembered) (list []states.DocumentRule, hasNodes bool) {
	for i, r := range d.rules {
		if declared[r.Address] {
			continue
		}
		list = append(list, r)
		for address := range last {
			hasNodes = hasNodes || d.ruleOf(address) == i
		}
	}
	return list, hasNodes
}

// withFirst gives a run with invocations before its own. A handler that the run has, too, is notified by them.
func (e *engine) withFirst(run *states.StateRun, list []states.Invocation, here map[string]bool) *states.StateRun {
	out := *run
	out.Invocations, out.Handlers = slices.Clone(run.Invocations), slices.Clone(run.Handlers)
	var first []states.Invocation
	for _, inv := range list {
		handler := states.WithoutWave(inv.Address)
		inv.NotifiedBy = slices.DeleteFunc(slices.Clone(inv.NotifiedBy), func(by states.Notification) bool {
			return !slices.ContainsFunc(list, func(other states.Invocation) bool {
				return here[other.Address] && states.Within(by.Address, other.Address)
			})
		})
		last := -1
		for i := range run.Invocations {
			if states.WithoutWave(run.Invocations[i].Address) == handler {
				last = i
			}
		}
		if inv.Handler && last >= 0 {
			own := &out.Invocations[last]
			own.NotifiedBy = slices.Concat(own.NotifiedBy, inv.NotifiedBy)
			continue
		}
		if inv.Handler {
			out.Handlers = slices.DeleteFunc(out.Handlers, func(h states.Invocation) bool { return h.Address == handler })
			e.departures.addresses[inv.Address] = true
		}
		first = append(first, inv)
	}
	out.Invocations = append(first, out.Invocations...)
	return &out
}

// departureAddresses lists the invocations of a run that come before anything is removed that the cluster has made: they may need it.
func (e *engine) departureAddresses(run *states.StateRun) (list []string) {
	for i := range run.Invocations {
		if e.departures.has(&run.Invocations[i]) {
			list = append(list, run.Invocations[i].Address)
		}
	}
	return list
}

// hasDeparted reports whether all went well that was to be done about the nodes.
func (e *engine) hasDeparted() bool {
	for _, n := range e.nodes {
		if !e.departures.has(n.inv) || n.inv.Options.IgnoreFailure {
			continue
		}
		switch n.outcome {
		case states.Changed, states.Unchanged, states.Skipped, states.Idle:
		default:
			return false
		}
	}
	return true
}

// endDeparture forgets what deletes nodes that are there no more.
func (e *engine) endDeparture() {
	if e.planning() || !e.hasDeparted() {
		return
	}
	for _, key := range e.departures.keys {
		e.recorder.emitWanted(states.Event{Type: states.EventNode, Address: key, Outcome: states.Changed})
	}
}

// leaveNote tells which nodes of a cluster stay, and why.
func (e *engine) leaveNote(kept []string, d *document) string {
	var list []string
	for _, address := range kept {
		list = append(list, address+" ("+e.departures.stays[d.rules[d.ruleOf(address)].Address]+")")
	}
	return "made for a cluster that this host has left, and kept: " + strings.Join(fewOf(list), ", ")
}

// Departure lists what a machine remembers of the rules of a cluster of a site (cluster.NAME): their nodes, and what deletes them.
func Departure(past *journal.Ledger, site, key string) (addresses []string, err error) {
	nodes := past.Nodes[site]
	if !isDepartureKey(key) || len(nodes[key].Data) == 0 {
		return nil, nil
	}
	var d departure
	if plainOf(nodes[key].Data, &d) != nil {
		return []string{key}, nil // whose nodes they are is not known any more
	}
	for _, inv := range d.Invocations {
		if len(inv.Parts) != 1 || inv.Parts[0].Type != states.ComparisonType {
			continue
		}
		doc, err := documentOfPart(&inv.Parts[0])
		if err != nil {
			return nil, err
		}
		for address := range nodes {
			if doc.ruleOf(address) >= 0 {
				addresses = append(addresses, address)
			}
		}
	}
	slices.Sort(addresses)
	return append(addresses, key), nil
}
