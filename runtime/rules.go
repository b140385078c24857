package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Rules: what is done when data differs from what is there. A comparison is a part like others; what it finds decides which of the
// invocations of nodes have something to do.

// document is what a comparison compares, read for use.
type document struct {
	name   string
	rules  []states.DocumentRule
	list   []rules.Rule
	ignore []rules.Selector
	wanted []*rules.Node
	rest   any             // what no rule selects
	former *rules.Division // what is taken for what was there; nil: what is remembered is
	// byAddress are the wanted nodes.
	byAddress map[string]*rules.Node
}

// plainOf reads JSON as plain data, with its numbers as they are written.
func plainOf(data []byte, to any) error {
	if len(data) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(to)
}

// newDocument reads what a comparison compares.
func newDocument(c *states.Comparison) (*document, error) {
	d := &document{name: c.Name}
	if err := plainOf(c.Rules, &d.rules); err != nil {
		return nil, err
	}
	for _, r := range d.rules {
		s, err := rules.ParseSelector(r.Select)
		if err != nil {
			return nil, err
		}
		d.list = append(d.list, rules.Rule{Name: r.Address, Selector: s, Ordered: r.Ordered})
	}
	for _, text := range c.Ignore {
		s, err := rules.ParseSelector(text)
		if err != nil {
			return nil, err
		}
		d.ignore = append(d.ignore, s)
	}
	var wanted any
	if err := plainOf(c.Wanted, &wanted); err != nil {
		return nil, err
	}
	wanted = rules.Open(wanted)
	divided, err := rules.Divide(d.list, wanted, true)
	if err != nil {
		return nil, err
	}
	d.want(divided)
	if len(c.Former) > 0 {
		var former any
		if err := plainOf(c.Former, &former); err != nil {
			return nil, err
		}
		if d.former, err = d.divide(rules.Open(former), false); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// want takes what is wanted.
func (d *document) want(divided *rules.Division) {
	d.wanted, d.rest, d.byAddress = divided.Nodes, divided.Rest, map[string]*rules.Node{}
	for _, n := range d.wanted {
		d.byAddress[d.address(n.Rule, &n.Hit)] = n
	}
}

// address is that of a node: rule.vlan["core1/10"].
func (d *document) address(rule int, h *rules.Hit) string {
	if h.Name == "" {
		return d.rules[rule].Address
	}
	return states.InstanceAddress(d.rules[rule].Address, h.Name)
}

// ruleOf gives the index of the rule that has a node; -1: none.
func (d *document) ruleOf(address string) int {
	return slices.IndexFunc(d.rules, func(r states.DocumentRule) bool {
		rest, ok := strings.CutPrefix(address, r.Address)
		return ok && (rest == "" || rest[0] == '[')
	})
}

// remembered is a node as runs before have left it.
type remembered struct {
	stored    rules.Stored
	isUnknown bool
}

// lastNodes are the nodes of the site as they were left, by the addresses that they have now: as former documents say, and as the host remembers.
func (e *engine) lastNodes() (map[string]remembered, error) {
	last, err := e.rememberedNodes()
	if err != nil {
		return nil, err
	}
	for _, p := range e.comparisons() {
		d, err := e.documentOf(p.Address)
		if err != nil {
			return nil, err
		}
		if d.former == nil {
			continue
		}
		maps.DeleteFunc(last, func(address string, _ remembered) bool { return d.has(address) })
		maps.Copy(last, d.formerNodes())
	}
	return last, nil
}

// rememberedNodes are those of the site as the host remembers them, by the addresses that they have now.
func (e *engine) rememberedNodes() (map[string]remembered, error) {
	out := map[string]remembered{}
	past := e.options.Past
	if past == nil {
		return out, nil
	}
	known := past.Nodes[journal.Identity(e.run.Site, e.options.Origin)]
	for _, address := range slices.Sorted(maps.Keys(known)) {
		if isDepartureKey(address) {
			continue
		}
		n := remembered{isUnknown: known[address].IsUnknown}
		if err := plainOf(known[address].Data, &n.stored); err != nil {
			return nil, fmt.Errorf("what is remembered of %s cannot be read: %w", address, err)
		}
		n.stored.Node, n.stored.Content, n.stored.Parent = rules.Open(n.stored.Node), rules.Open(n.stored.Content), rules.Open(n.stored.Parent)
		now := states.Renamed(address, e.run.Moved)
		if _, taken := known[now]; now == address || !taken {
			out[now] = n
		}
	}
	return out, nil
}

// compareNodes is what a comparison does.
func (e *engine) compareNodes(s *step, c states.Comparison) (map[string]states.Differing, error) {
	d, err := newDocument(&c)
	if err == nil {
		err = e.digest(d)
	}
	if err != nil {
		return nil, err
	}
	last, err := e.lastNodes()
	if err == nil && d.former != nil {
		err = e.digestFormer(d)
		maps.Copy(last, d.formerNodes())
	}
	if err != nil {
		return nil, err
	}
	old, err := e.before(s, d, &c, last)
	if err != nil {
		return nil, err
	}
	leaves := c.Leaves != nil && *c.Leaves
	f := &finding{document: d, last: last, nodes: map[string]states.Differing{}, around: map[string]any{}, there: map[string]*rules.Node{}, allowsEmpty: e.run.AllowEmpty || leaves, isPartial: e.run.Partial}
	if !e.options.isLook {
		f.canPurge = func(address string) bool { return e.nodes[address+".delete"] != nil }
	}
	for _, n := range old {
		address := d.address(n.Rule, &n.Hit)
		f.around[address], f.there[address] = n.Hit.Around, n
	}
	for _, change := range rules.CompareNodes(d.list, old, d.wanted) {
		f.add(&change)
	}
	f.addUnknown()
	if e.options.onForeign != nil {
		e.options.onForeign(f)
	}
	if c.Verify != nil && *c.Verify {
		return nil, e.verify(f)
	}
	if err := f.problem(); err != nil {
		return nil, err
	}
	if leaves && len(f.kept) > 0 {
		e.recorder.noteOnce(s, e.leaveNote(f.kept, d))
		f.kept = nil
	}
	for _, note := range f.notes() {
		e.recorder.noteOnce(s, note)
	}
	if err := e.recordFormer(f); err != nil {
		return nil, err
	}
	e.recordFound(f)
	if !leaves {
		e.noteRest(s, f)
	}
	for address, d := range f.nodes {
		f.nodes[address] = forStates(d)
	}
	return f.nodes, nil
}

// before gives the nodes that are there: as rules have retrieved them, or as they were remembered.
func (e *engine) before(s *step, d *document, c *states.Comparison, last map[string]remembered) ([]*rules.Node, error) {
	var retrieved map[string]any
	if err := plainOf(c.Retrieved, &retrieved); err != nil {
		return nil, err
	}
	var old []*rules.Node
	for _, by := range slices.Sorted(maps.Keys(retrieved)) {
		err := d.checkAnswer(by, retrieved[by])
		var divided *rules.Division
		if err == nil {
			divided, err = d.divide(retrieved[by], false)
		}
		if err != nil {
			return nil, &diag.HintError{Message: fmt.Sprintf("what %s retrieves does not fit the rules: %v", by, err), Hint: "retrieve has to give it in the shape of the document"}
		}
		for _, n := range divided.Nodes {
			if d.rules[n.Rule].Retrieves != by {
				continue
			}
			address := d.address(n.Rule, &n.Hit)
			wanted := d.byAddress[address]
			if wanted != nil {
				n.Content = rules.Named(n.Content, wanted.Content, last[address].stored.Content)
			}
			known := last[address].stored
			if err := e.hideRetrieved(s, n, wanted, &known); err != nil {
				return nil, err
			}
			old = append(old, n)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(last)) {
		if i := d.ruleOf(address); i >= 0 && d.rules[i].Retrieves == "" {
			n := last[address]
			old = append(old, n.stored.Restore(i))
		}
	}
	return old, nil
}

// finding is what a comparison has found.
type finding struct {
	*document
	last        map[string]remembered
	around      map[string]any // what was around nodes
	there       map[string]*rules.Node
	nodes       map[string]states.Differing
	kept        []string // wanted no more, and nothing deletes them
	foreign     []string // not wanted, and not made by a rule
	late        []string // likewise, of rules that purge, and this run has nothing to delete them with
	canPurge    func(address string) bool
	isPartial   bool // the run is a selection
	wrong       []string
	allowsEmpty bool
}

// add adds a change.
func (f *finding) add(c *rules.Change) {
	r, address := f.rules[c.Rule], f.address(c.Rule, &c.Hit)
	wanted := f.byAddress[address]
	d := states.Differing{Path: c.Hit.Path, Around: f.around[address], Old: c.Old, Why: why(c)}
	switch {
	case c.Act == rules.Delete && wanted == nil && r.Shared:
		return
	case c.Act == rules.Delete && f.isForeign(address):
		f.addForeign(address, c, d)
		return
	case c.Act == rules.Delete && wanted == nil && !r.Deletes:
		f.kept = append(f.kept, address)
		return
	case c.Act == rules.Delete && wanted == nil:
		d.Act = states.DeleteNode
	case c.Act == rules.Delete: // another type: the creation says so
		f.nodes[address] = states.Differing{Old: c.Old}
		return
	case c.Act == rules.Create && f.nodes[address].Old != nil:
		d.Act, d.Old, d.Why = states.ReplaceNode, f.nodes[address].Old, "it has another type"
	case c.Act == rules.Create:
		d.Act = states.CreateNode
	case r.Updates:
		d.Act, d.Diff = states.UpdateNode, c.Diff
	default:
		d.Act, d.Diff = states.ReplaceNode, c.Diff
	}
	f.put(address, r, d)
}

// put takes in what is done about a node, if the rule can do it.
func (f *finding) put(address string, r states.DocumentRule, d states.Differing) {
	delete(f.nodes, address)
	switch {
	case d.Act == states.ReplaceNode && !r.Deletes && r.Creates:
		f.wrong = append(f.wrong, fmt.Sprintf("%s differs (%s), and %s has no update, and no delete to make it anew", address, d.Why, r.Address))
	case (d.Act == states.CreateNode || d.Act == states.ReplaceNode) && !r.Creates:
		what := "differs (" + d.Why + ")"
		if d.Act == states.CreateNode {
			what = "is not there"
		}
		f.wrong = append(f.wrong, fmt.Sprintf("%s %s, and %s has no create", address, what, r.Address))
	default:
		f.nodes[address] = d
	}
}

// addUnknown lets nodes be updated that were begun, and not seen to end well.
func (f *finding) addUnknown() {
	for _, n := range f.wanted {
		address := f.address(n.Rule, &n.Hit)
		r, last := f.rules[n.Rule], f.last[address]
		if _, differs := f.nodes[address]; differs || !last.isUnknown || r.Retrieves != "" {
			continue
		}
		d := states.Differing{Act: states.UpdateNode, Path: n.Hit.Path, Around: f.around[address], Old: last.stored.Node, Diff: []any{},
			Why: "an earlier run began it, and it did not end well"}
		switch {
		case !r.Updates && r.Deletes:
			d.Act = states.ReplaceNode
		case !r.Updates:
			d.Act = states.CreateNode
		}
		f.put(address, r, d)
	}
}

// problem is what the rules cannot do.
func (f *finding) problem() error {
	if len(f.wrong) > 0 {
		slices.Sort(f.wrong)
		return &diag.HintError{Message: strings.Join(fewOf(f.wrong), "; "), Hint: "give the rule the states for it"}
	}
	if err := f.lateWithin(); err != nil || f.allowsEmpty {
		return err
	}
	for i, r := range f.rules {
		if r.Elsewhere || slices.ContainsFunc(f.wanted, func(n *rules.Node) bool { return n.Rule == i }) {
			continue
		}
		deletes := 0
		for address, d := range f.nodes {
			// What the run has nothing to delete with, as one that is a selection, is not deleted.
			if d.Act == states.DeleteNode && f.ruleOf(address) == i && f.canPurge != nil && f.canPurge(address) {
				deletes++
			}
		}
		if deletes > 0 {
			nodes := fmt.Sprintf("%d nodes", deletes)
			if deletes == 1 {
				nodes = "one node"
			}
			return &diag.HintError{Message: fmt.Sprintf("%s selects nothing any more in %s, and would delete all that it has made%s: %s", r.Address, f.name, map[bool]string{true: ", and all else"}[r.Purges], nodes),
				Hint: "if that is meant, add --empty; else look at the document"}
		}
	}
	return nil
}

// notes tell what stays.
func (f *finding) notes() (list []string) {
	if len(f.kept) > 0 {
		list = append(list, "wanted no more, and kept, for the rule has no delete: "+strings.Join(fewOf(f.kept), ", "))
	}
	if foreign := f.outermostNodes(f.foreign); len(foreign) > 0 {
		list = append(list, "not wanted, and left alone, for no rule has made it: "+strings.Join(fewOf(foreign), ", "))
	}
	if late := f.outermostNodes(f.late); len(late) > 0 {
		why := "found only now, so that the next run deletes it"
		if f.isPartial {
			why = "kept, for this run deletes nothing"
		}
		list = append(list, "not wanted, and "+why+": "+strings.Join(fewOf(late), ", "))
	}
	return list
}
