package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// A member of a cluster remembers what deletes the nodes that rules of the cluster's roles make: when it leaves, the site may declare neither the
// rules nor the cluster any more, and whoever evaluates it does not know what the machine has.

// departure is what deletes these nodes: for each data a comparison with nothing wanted, the deletions of its rules, and the handlers that these notify.
type departure struct {
	Invocations []states.Invocation `json:"invocations"`
	// Stays says why nodes of a rule stay, by the rule's address.
	Stays map[string]string `json:"stays,omitempty"`
}

// departureKey is under which name a departure stands among the nodes that a machine remembers.
func departureKey(cluster string) string { return states.LabelAddress("cluster", cluster) }

// isDepartureKey reports whether a name is that of a departure, and of no node.
func isDepartureKey(name string) bool {
	rest, ok := strings.CutPrefix(name, "cluster")
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// rememberDeparture records, before anything of the cluster is made, what deletes it.
func (e *engine) rememberDeparture(run *states.StateRun) {
	if e.planning() || e.options.outer != nil || run.Site == "" || run.Cluster == nil || run.Partial {
		return
	}
	var was json.RawMessage
	key := departureKey(run.Cluster.Name)
	if past := e.options.Past; past != nil {
		was = past.Nodes[journal.Identity(run.Site, e.options.Origin)][key].Data
	}
	ev := states.Event{Type: states.EventNode, Address: key, Outcome: states.Changed}
	if d := (&departureMaker{run: run, registry: e.options.Registry, mask: e.recorder.mask}).make(); d != nil {
		var err error
		if ev.Node, err = json.Marshal(d); err != nil {
			e.recorder.fail(err)
			return
		}
	}
	if !bytes.Equal(was, ev.Node) {
		e.recorder.emitWanted(ev)
	}
}

// departureMaker makes the departure of a run.
type departureMaker struct {
	run      *states.StateRun
	registry *states.Registry
	mask     *masker
	handlers []*states.Invocation // that deletions notify, and those that these notify
	wrong    map[string]string    // why an invocation cannot be remembered, by its address
}

// make gives the departure; nil: the cluster has no rules.
func (m *departureMaker) make() *departure {
	byCluster, deletions := map[string]bool{}, []*states.Invocation{}
	for i := range m.run.Invocations {
		inv := &m.run.Invocations[i]
		if inv.Node == nil || inv.Node.Verifies || !slices.ContainsFunc(inv.Parts, func(p states.Part) bool { return p.Options.Cluster == m.run.Cluster.Name }) {
			continue
		}
		byCluster[inv.Node.Rule] = true
		if inv.Node.Deletes && inv.Node.Address == "" {
			deletions = append(deletions, inv)
		}
	}
	if len(byCluster) == 0 {
		return nil
	}
	m.findHandlers(deletions)
	m.judge(deletions)
	d := &departure{Stays: map[string]string{}}
	deletes := map[string]bool{}
	for _, inv := range deletions {
		if why := m.wrong[inv.Address]; why != "" {
			d.Stays[inv.Node.Rule] = why
		} else {
			deletes[inv.Node.Rule] = true
		}
	}
	for name := range byCluster {
		if !deletes[name] && d.Stays[name] == "" {
			d.Stays[name] = "the rule has no delete"
		}
	}
	addresses := map[string]bool{}
	for _, p := range m.run.Comparisons() {
		if c, ok := m.comparison(p, byCluster, deletes); ok {
			d.Invocations = append(d.Invocations, c)
			addresses[c.Address] = true
		}
	}
	before := ""
	for _, inv := range deletions {
		if !deletes[inv.Node.Rule] {
			continue
		}
		out := m.deletion(inv)
		if before != "" { // from the innermost to the outermost
			out.After = []string{before}
		}
		d.Invocations, before = append(d.Invocations, out), out.Address
		addresses[out.Address] = true
	}
	for _, inv := range m.handlers {
		if m.wrong[inv.Address] == "" {
			addresses[inv.Address] = true
			d.Invocations = append(d.Invocations, handlerOnly(inv, addresses))
		}
	}
	return d
}

// findHandlers finds what deletions notify, and what that notifies.
func (m *departureMaker) findHandlers(deletions []*states.Invocation) {
	found := map[string]bool{}
	notifies := func(by states.Notification, inv *states.Invocation) bool {
		return states.Within(by.Address, inv.Address)
	}
	for more := true; more; {
		more = false
		for i := range m.run.Invocations {
			inv := &m.run.Invocations[i]
			if found[inv.Address] || !slices.ContainsFunc(inv.NotifiedBy, func(by states.Notification) bool {
				return slices.ContainsFunc(deletions, func(d *states.Invocation) bool { return notifies(by, d) }) ||
					slices.ContainsFunc(m.handlers, func(h *states.Invocation) bool { return notifies(by, h) })
			}) {
				continue
			}
			found[inv.Address], more = true, true
			m.handlers = append(m.handlers, inv)
		}
	}
}

// judge finds out what cannot be remembered: neither can what notifies that, for no handler is to be forgotten.
func (m *departureMaker) judge(deletions []*states.Invocation) {
	m.wrong = map[string]string{}
	all := slices.Concat(deletions, m.handlers)
	for _, inv := range all {
		if why := m.obstacle(inv); why != "" {
			m.wrong[inv.Address] = why
		}
	}
	for more := true; more; {
		more = false
		for _, h := range m.handlers {
			for _, inv := range all {
				isNotifier := slices.ContainsFunc(h.NotifiedBy, func(by states.Notification) bool { return states.Within(by.Address, inv.Address) })
				if isNotifier && m.wrong[h.Address] != "" && m.wrong[inv.Address] == "" {
					m.wrong[inv.Address], more = "it notifies "+states.WithoutWave(h.Address)+", and "+m.wrong[h.Address], true
				}
			}
		}
	}
}

// obstacle says why an invocation cannot be remembered; empty: it can.
func (m *departureMaker) obstacle(inv *states.Invocation) string {
	known := map[string]bool{}
	if inv.Node != nil {
		known[inv.Node.Comparison] = true
	}
	for _, p := range inv.Parts {
		known[p.Address] = true
	}
	computed := func(list map[string]*states.Expr) string {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if list[name].Find(states.ExprOutput) != nil {
				return "it needs an output of another host"
			}
			for _, r := range list[name].Refs() {
				if slices.ContainsFunc(r.From, func(address string) bool { return !known[address] }) {
					return "it needs the result of " + r.Ref.Address
				}
			}
		}
		return ""
	}
	guards := slices.Clone(inv.Guards)
	for i := range inv.Parts {
		p := &inv.Parts[i]
		guards = append(guards, p.Guards...)
		switch why := computed(p.Results); {
		case len(p.Sensitive) > 0 || p.Options.Sensitive:
			return p.Address + " is sensitive"
		case why != "":
			return why
		case m.needsFiles(p):
			return p.Address + " needs files of the site"
		}
	}
	for _, g := range guards {
		if why := computed(g.Results); why != "" {
			return why
		}
		if len(g.WouldChange) > 0 {
			return "its guard asks for a plan of " + strings.Join(g.WouldChange, ", ")
		}
	}
	if m.hasSecret(inv) {
		return "it holds a secret"
	}
	return ""
}

// needsFiles reports whether a part is more than its values: its module is a site's own, or files of the site go with it.
func (m *departureMaker) needsFiles(p *states.Part) bool {
	module := m.registry.ModuleOf(p.Type)
	return module == nil || slices.ContainsFunc(module.Attributes, func(a states.Attribute) bool { return a.Kind.FromSite() && p.Values[a.Name] != nil })
}

// hasSecret reports whether a secret of the run is anywhere in an invocation.
func (m *departureMaker) hasSecret(inv *states.Invocation) bool {
	text, err := json.Marshal(inv)
	var plain any
	if err == nil {
		err = plainOf(text, &plain)
	}
	return err != nil || !reflect.DeepEqual(m.mask.value(plain), plain)
}

// comparisonOf is the address of the comparison of a departure, by that of the one in the run.
func comparisonOf(address string) string { return address + ".leave" }

// comparison makes of the comparison of a run one that wants nothing of the rules of the cluster; false: it has none of them.
func (m *departureMaker) comparison(p *states.Part, byCluster, deletes map[string]bool) (inv states.Invocation, ok bool) {
	verifies, _ := p.Values["verify"].(bool)
	d, err := documentOfPart(p)
	if err != nil || verifies {
		return inv, false // which the run itself tells of
	}
	var list []any
	for _, r := range d.rules {
		if !byCluster[r.Address] {
			continue
		}
		list = append(list, map[string]any{"address": r.Address, "select": r.Select, "ordered": r.Ordered, "deletes": deletes[r.Address]})
	}
	address := comparisonOf(p.Address)
	part := states.Part{Address: address, Type: p.Type, Key: address, Ensure: p.Ensure, Values: map[string]any{"name": address, "rules": list, "leaves": true}}
	return states.Invocation{Address: address, State: address, Parts: []states.Part{part}}, len(list) > 0
}

// deletion makes of a deletion of the run one that hangs on nothing but the comparison.
func (m *departureMaker) deletion(inv *states.Invocation) states.Invocation {
	out, node := *inv, *inv.Node
	was := node.Comparison
	node.Comparison = comparisonOf(was)
	out.Node, out.Requires, out.After, out.Guards, out.Parts = &node, []string{node.Comparison}, nil, slices.Clone(inv.Guards), slices.Clone(inv.Parts)
	of := func(list map[string]*states.Expr) map[string]*states.Expr {
		return withComparison(list, was, node.Comparison)
	}
	for i := range out.Guards {
		out.Guards[i].Results = of(out.Guards[i].Results)
	}
	for i := range out.Parts {
		p := &out.Parts[i]
		p.Options.Cluster = "" // what it makes is not made for the cluster
		p.Results, p.Guards = of(p.Results), slices.Clone(p.Guards)
		for k := range p.Guards {
			p.Guards[k].Results = of(p.Guards[k].Results)
		}
	}
	return out
}

// withComparison gives expressions that name another comparison.
func withComparison(list map[string]*states.Expr, was, now string) map[string]*states.Expr {
	if len(list) == 0 {
		return list
	}
	out := map[string]*states.Expr{}
	for name, x := range list {
		made, err := x.Rewrite(func(ref *states.Expr) (*states.Expr, error) {
			one := *ref
			if one.Ref.Address == was {
				one.Ref.Address = now
			}
			one.From = mapped(one.From, func(address string) string {
				if address == was {
					return now
				}
				return address
			})
			return one.New()
		})
		if err != nil {
			panic(fmt.Sprintf("an expression over %s is too large: %v", was, err)) // the limit counts names of attributes, and no addresses
		}
		out[name] = made
	}
	return out
}

// handlerOnly gives a handler that comes after, and is notified by, those alone that are named.
func handlerOnly(inv *states.Invocation, addresses map[string]bool) states.Invocation {
	out := *inv
	out.Parts = slices.Clone(inv.Parts)
	for i := range out.Parts {
		out.Parts[i].Options.Cluster = ""
	}
	out.Handler, out.Always, out.Rescues, out.Finishes, out.Next, out.Joined = true, false, "", "", nil, nil
	isOther := func(address string) bool { return !addresses[address] }
	out.Requires, out.After = slices.DeleteFunc(slices.Clone(inv.Requires), isOther), slices.DeleteFunc(slices.Clone(inv.After), isOther)
	out.NotifiedBy = slices.DeleteFunc(slices.Clone(inv.NotifiedBy), func(by states.Notification) bool {
		for address := range addresses {
			if states.Within(by.Address, address) {
				return false
			}
		}
		return true
	})
	return out
}
