package runtime

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Rules that purge delete what nobody has recorded. What is there is retrieved before the run begins, so that each deletion has an invocation
// of its own, with its order, its row and its handlers. What appears only after that is left to the next run.

// foreignNodes are nodes that are there and not wanted, and that no rule has made, by address.
type foreignNodes map[string]rules.Stored

// foreignLook looks for them once, for all the passes of a plan.
type foreignLook struct {
	once  sync.Once
	found foreignNodes
	err   error
}

// foreign gives the nodes that rules purge.
func (e *engine) foreign(ctx context.Context, run *states.StateRun) (foreignNodes, error) {
	if e.options.isLook {
		return nil, nil
	}
	look := e.options.foreign
	if look == nil {
		look = &foreignLook{}
	}
	look.once.Do(func() { look.found, look.err = e.lookForForeign(ctx, run) })
	return look.found, look.err
}

// lookForForeign plans what comparisons need for which rules purge. A look that fails finds nothing: the run itself will fail there, and tell.
func (e *engine) lookForForeign(ctx context.Context, run *states.StateRun) (foreignNodes, error) {
	comparisons := map[string]bool{}
	for i := range run.Invocations {
		of := run.Invocations[i].Node
		if of == nil || !of.Deletes || of.Address != "" {
			continue
		}
		d, err := e.documentOf(of.Comparison)
		if err != nil {
			return nil, err
		}
		if d.purges(of.Rule) {
			comparisons[of.Comparison] = true
		}
	}
	if len(comparisons) == 0 {
		return nil, nil
	}
	nodes, err := newDAG(run)
	if err != nil {
		return nil, err
	}
	found := foreignNodes{}
	o := e.options
	o.Journal, o.Managed, o.Events, o.outer, o.isLook = nil, nil, nil, &results{}, true
	o.onForeign = func(f *finding) { maps.Copy(found, f.foreignNodes()) }
	if o.Past != nil {
		o.Past = &journal.Ledger{Format: o.Past.Format, Nodes: o.Past.Nodes}
	}
	_, err = Plan(ctx, partOf(run, nodes, nodes.needed(slices.Sorted(maps.Keys(comparisons)))), o)
	return found, err
}

// needed gives addresses, and those of all that comes before them and is no handler.
func (d dag) needed(addresses []string) (list []string) {
	seen := map[*node]bool{}
	var add func(n *node)
	add = func(n *node) {
		if n == nil || seen[n] || n.inv != nil && (n.inv.Handler || len(n.inv.NotifiedBy) > 0) {
			return
		}
		seen[n] = true
		for _, b := range n.before {
			add(b)
		}
		if n.inv != nil {
			list = append(list, n.address)
		}
	}
	for _, a := range addresses {
		add(d[a])
	}
	return list
}

// purges reports whether a rule purges.
func (d *document) purges(rule string) bool {
	return slices.ContainsFunc(d.rules, func(r states.DocumentRule) bool { return r.Address == rule && r.Purges })
}

// foreignNodes gives what was found and nobody wants, of rules that purge.
func (f *finding) foreignNodes() foreignNodes {
	list := foreignNodes{}
	for address, n := range f.there {
		if f.rules[n.Rule].Purges && f.isForeign(address) {
			list[address] = n.Store()
		}
	}
	return list
}

// isForeign reports whether a node is neither wanted nor made by a rule.
func (f *finding) isForeign(address string) bool {
	_, isMade := f.last[address]
	return f.byAddress[address] == nil && !isMade
}

// addForeign adds a node that nobody wants, and that no rule has made: it is deleted if the rule purges and the run can.
func (f *finding) addForeign(address string, c *rules.Change, d states.Differing) {
	switch {
	case !f.rules[c.Rule].Purges:
		f.foreign = append(f.foreign, address)
	case f.canPurge != nil && !f.canPurge(address):
		f.late = append(f.late, address)
	default:
		d.Act, d.Why = states.DeleteNode, "it is not wanted, and the rule purges"
		f.nodes[address] = d
	}
}

// outermostNodes gives the nodes of a list but for those that go with one around them.
func (f *finding) outermostNodes(list []string) []string {
	var gone []string
	for address, d := range f.nodes {
		if n := f.there[address]; n != nil && d.Act == states.DeleteNode {
			gone = append(gone, n.Hit.ID())
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(address string) bool {
		return slices.ContainsFunc(gone, func(around string) bool {
			return f.there[address] != nil && strings.HasPrefix(f.there[address].Hit.ID(), around)
		})
	})
}

// lateWithin is the error that something is to be deleted in which a node was found too late to be purged before.
func (f *finding) lateWithin() error {
	apart := f.outermostNodes(f.late)
	within := slices.DeleteFunc(slices.Clone(f.late), func(address string) bool { return slices.Contains(apart, address) })
	if len(within) == 0 || f.isPartial {
		return nil
	}
	return &diag.HintError{Message: "found only now, within what is to be deleted: " + strings.Join(fewOf(within), ", "), Hint: "apply again"}
}
