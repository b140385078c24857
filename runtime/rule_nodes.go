package runtime

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// renameNodes records which addresses remembered nodes have now.
func (e *engine) renameNodes() {
	if e.planning() || e.options.Past == nil || len(e.run.Moved) == 0 {
		return
	}
	known := e.options.Past.Nodes[journal.Identity(e.run.Site, e.options.Origin)]
	for _, was := range slices.Sorted(maps.Keys(known)) {
		now := states.Renamed(was, e.run.Moved)
		if now == was {
			continue
		}
		if _, taken := known[now]; !taken {
			e.recorder.emit(states.Event{Type: states.EventNode, Address: now, Outcome: states.Changed, Node: known[was].Data})
			if known[was].IsUnknown {
				e.recorder.emit(states.Event{Type: states.EventNode, Address: now})
			}
		}
		e.recorder.emit(states.Event{Type: states.EventNode, Address: was, Outcome: states.Changed})
	}
}

// differingNode gives what is done about the node of an invocation; nil: nothing. doubt says why a plan cannot know.
func (e *engine) differingNode(n *node) (d *states.Differing, doubt, cause string, err error) {
	of := n.inv.Node
	found := e.results.find(of.Comparison)
	switch {
	case found == nil || found.missingReason != "":
		return nil, "", "", nil // what requires it is blocked
	case found.isUnknown:
		return nil, of.Comparison + " is known only after apply", found.cause, nil
	}
	all, _ := found.values[states.NodesResult].(map[string]any)
	if of.Verifies {
		for range all {
			return &states.Differing{}, "", "", nil
		}
		return nil, "", "", nil
	}
	one, differs := all[of.Address]
	if !differs {
		return nil, "", "", nil
	}
	text, err := json.Marshal(one)
	d = &states.Differing{}
	if err == nil {
		err = plainOf(text, d)
	}
	isDeletion := d.Act == states.DeleteNode || d.Act == states.ReplaceNode
	if of.Deletes && !isDeletion || !of.Deletes && d.Act == states.DeleteNode {
		return nil, "", "", err
	}
	return d, "", "", err
}

// gate ends an invocation of a rule that has nothing to do, and returns whether that is so.
func (e *engine) gate(i *invocation) bool {
	n := i.node
	if n.inv.Node == nil {
		return false
	}
	d, doubt, cause, err := e.differingNode(n)
	switch {
	case err != nil:
		e.failBefore(n, err)
		return true
	case n.inv.Node.Verifies && (d == nil || e.planning()), doubt == "" && d == nil:
		e.stopBefore(n, states.Unchanged, "", "")
		return true
	case doubt != "":
		i.doubt, i.cause = doubt, cause
		return false
	}
	if d.Act == states.ReplaceNode && !n.inv.Node.Deletes && e.nodes[n.address+".delete"] == nil {
		e.failBefore(n, &diag.HintError{Message: "it has to be deleted and created anew (" + d.Why + "), and this run deletes nothing", Hint: "apply all of " + n.inv.Node.Rule})
		return true
	}
	i.differing = d
	if !n.inv.Node.Verifies && i.debtReason == "" {
		i.debtReason = d.Why
		if d.Act == states.ReplaceNode {
			i.debtReason = "deleted and created: " + d.Why
		}
	}
	return false
}

// isFor reports whether a part is for what is done about the node.
func (i *invocation) isFor(p *states.Part) bool {
	if i.differing == nil || p.Act == "" || i.node.inv.Node.Verifies {
		return true
	}
	act := i.differing.Act
	switch p.Act {
	case states.DeleteNode:
		return act == states.DeleteNode || act == states.ReplaceNode
	case states.CreateNode:
		return act == states.CreateNode || act == states.ReplaceNode
	}
	return act == p.Act
}

// documents are what comparisons compare, each read once.
type documents struct {
	mu    sync.Mutex
	known map[string]*document // by the address of the comparison
	keyMu sync.Mutex
	key   []byte // of digests; nil: it was not needed yet
}

// documentOf gives what a comparison of the run compares; nil: there is none.
func (e *engine) documentOf(comparison string) (*document, error) {
	e.documents.mu.Lock()
	defer e.documents.mu.Unlock()
	if d := e.documents.known[comparison]; d != nil {
		return d, nil
	}
	for _, p := range e.comparisons() {
		if p.Address != comparison {
			continue
		}
		d, err := documentOfPart(p)
		if err == nil {
			err = e.digest(d)
		}
		if err != nil {
			return nil, err
		}
		if e.documents.known == nil {
			e.documents.known = map[string]*document{}
		}
		e.documents.known[comparison] = d
		return d, nil
	}
	return nil, fmt.Errorf("the run has no comparison %s", comparison)
}

// comparisons are the parts of the run that compare.
func (e *engine) comparisons() []*states.Part { return e.run.Comparisons() }

func documentOfPart(p *states.Part) (*document, error) {
	c := states.Comparison{Name: p.Key}
	for name, to := range map[string]*json.RawMessage{"rules": &c.Rules, "wanted": &c.Wanted, "former": &c.Former} {
		if p.Values[name] == nil {
			continue
		}
		text, err := json.Marshal(p.Values[name])
		if err != nil {
			return nil, err
		}
		*to = text
	}
	if list, ok := p.Values["ignore"].([]any); ok {
		for _, s := range list {
			c.Ignore = append(c.Ignore, fmt.Sprint(s))
		}
	}
	if list, ok := p.Values["ignore"].([]string); ok {
		c.Ignore = list
	}
	return newDocument(&c)
}

// storedNode is what is remembered of the wanted node of an address; none if it is not wanted.
func (e *engine) storedNode(comparison, address string) (json.RawMessage, error) {
	d, err := e.documentOf(comparison)
	if err != nil {
		return nil, err
	}
	n := d.byAddress[address]
	if s, purges := e.foreigners[address]; n == nil && purges { // from now on it is to go, whatever ends the run
		return remember(s)
	}
	if n == nil {
		return nil, nil
	}
	return remember(n.Store())
}

// isOfNode reports whether the invocation changes a node, in an apply.
func (i *invocation) isOfNode() bool {
	return i.differing != nil && !i.node.inv.Node.Verifies && !i.engine.planning()
}

// beginNode records that a node is about to be changed: should it not be seen to end well, nobody knows what is there.
func (i *invocation) beginNode() {
	if !i.isOfNode() {
		return
	}
	of := i.node.inv.Node
	data, err := i.engine.storedNode(of.Comparison, of.Address)
	if err != nil {
		i.engine.recorder.fail(err)
		return
	}
	i.engine.recorder.emit(states.Event{Type: states.EventNode, Address: of.Address, Node: data})
}

// recordNode records what has become of a node whose invocation has ended.
func (i *invocation) recordNode() {
	if !i.isOfNode() || i.node.outcome != states.Changed && i.node.outcome != states.Unchanged {
		return
	}
	of := i.node.inv.Node
	ev := states.Event{Type: states.EventNode, Address: of.Address, Outcome: states.Changed}
	switch {
	case of.Deletes && i.differing.Act == states.ReplaceNode:
		return // it is made next
	case !of.Deletes:
		var err error
		if ev.Node, err = i.engine.storedNode(of.Comparison, of.Address); err != nil {
			i.engine.recorder.fail(err)
			return
		}
	}
	i.engine.recorder.recordNode(ev)
}

// recordNode records how a node is now. What was done on the host is to outlast a loss of power if that record does.
func (r *recorder) recordNode(ev states.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.syncHost(); err != nil {
		r.stopRun(err)
		return
	}
	r.emitLocked(ev)
}

// recordFound records the nodes that a comparison has found to be as they are wanted, and those that are there no more.
func (e *engine) recordFound(f *finding) {
	if e.planning() {
		return
	}
	for _, n := range f.wanted {
		address := f.address(n.Rule, &n.Hit)
		last, known := f.last[address]
		if _, differs := f.nodes[address]; differs || len(f.wrong) > 0 {
			continue
		}
		now := n.Store()
		if known && !last.isUnknown && isRememberedAs(last.stored, now) {
			continue
		}
		e.recordAs(address, now)
	}
	for address := range f.last {
		i := f.ruleOf(address)
		if i < 0 || f.rules[i].Shared || f.rules[i].Retrieves == "" || f.byAddress[address] != nil || slices.Contains(f.kept, address) {
			continue
		}
		if _, differs := f.nodes[address]; !differs { // it is gone already
			e.recorder.emit(states.Event{Type: states.EventNode, Address: address, Outcome: states.Changed})
		}
	}
}

func (e *engine) recordAs(address string, s rules.Stored) {
	data, err := remember(s)
	if err != nil {
		e.recorder.fail(err)
		return
	}
	e.recorder.emit(states.Event{Type: states.EventNode, Address: address, Outcome: states.Changed, Node: data})
}

// verify tells which nodes still differ after all was done.
func (e *engine) verify(f *finding) error {
	var list []string
	for _, n := range f.wanted {
		address := f.address(n.Rule, &n.Hit)
		if d, differs := f.nodes[address]; differs {
			list = append(list, fmt.Sprintf("%s (%s)", address, d.Why))
			e.recorder.emit(states.Event{Type: states.EventNode, Address: address})
		}
	}
	for address, d := range f.nodes {
		if d.Act == states.DeleteNode && !e.run.Partial {
			list = append(list, address+" (it is still there)")
		}
	}
	slices.Sort(list)
	list = append(list, f.wrong...)
	if len(list) == 0 {
		return nil
	}
	return &diag.HintError{Code: "still_differs", Message: "still differs after its states have run: " + strings.Join(fewOf(list), "; "),
		Hint: "look at what the states of the rule do, and at what retrieve gives"}
}
