package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Rule is a selector with what is done about the nodes that it selects.
type Rule struct {
	Name     string
	Selector Selector
	Ordered  bool // the order of elements counts
}

// Act is what a difference asks for.
type Act string

// The acts.
const (
	Create Act = "create"
	Update Act = "update"
	Delete Act = "delete"
)

// Change is a node that differs.
type Change struct {
	Rule  int // its index
	Act   Act
	Hit   Hit          // in the new document; of one to delete, in the old one
	Old   any          // the node in the old document; nil: it was not there
	Diff  []Difference // of an update; what deeper rules select is not in it
	Moved bool         // it stands at another place among its like
}

// Comparison is what differs between two documents.
type Comparison struct {
	// Changes are in the order in which they are done: deletions from the innermost node to the outermost, then all others from the outermost
	// to the innermost, each level in the order of the rules and of the document.
	Changes []Change
	// Rest is what differs and is selected by no rule.
	Rest []Difference
}

// ConflictError is a pair of rules that tell the elements of one list apart differently.
type ConflictError struct {
	First, Second int // indexes of rules
	Field         string
}

// Error says what is wrong.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("two rules tell the elements of %q apart differently", e.Field)
}

// Check reports rules that cannot be used together, as a *ConflictError: a node that has one name for a rule has no other one for another rule.
func Check(list []Rule) error {
	for i, second := range list {
		for j, first := range list[:i] {
			for n := range min(len(first.Selector), len(second.Selector)) {
				a, b := first.Selector[n], second.Selector[n]
				if a.Field != b.Field {
					break
				}
				if a.selects() && b.selects() && (a.Each != b.Each || !slices.Equal(a.Keys, b.Keys) || a.Each && first.Ordered != second.Ordered) {
					return &ConflictError{j, i, a.Field}
				}
				if a.selects() != b.selects() {
					break
				}
			}
		}
	}
	return nil
}

// DocumentError is a document to which rules cannot be applied.
type DocumentError struct {
	Rule  int
	IsNew bool // it is the new document, and not the old one
	*NodeError
}

// Unwrap gives the error about the node.
func (e *DocumentError) Unwrap() error { return e.NodeError }

// Compare finds out what differs between two documents. A difference belongs to the deepest rule that selects it; of rules that select the same node, to the
// first one. Its error is a *ConflictError or a *DocumentError.
func Compare(list []Rule, before, after any) (*Comparison, error) {
	if err := Check(list); err != nil {
		return nil, err
	}
	old, err := divide(list, before, false)
	if err != nil {
		return nil, err
	}
	wanted, err := divide(list, after, true)
	if err != nil {
		return nil, err
	}
	moved := movedNodes(list, old, wanted)
	var deleted, rest []Change
	for _, n := range wanted.nodes {
		o := old.byID[n.hit.id]
		switch {
		case o == nil:
			rest = append(rest, Change{Rule: n.rule, Act: Create, Hit: n.hit})
		case o.hit.kinds != n.hit.kinds:
			deleted = append(deleted, Change{Rule: n.rule, Act: Delete, Hit: o.hit, Old: o.hit.Node})
			rest = append(rest, Change{Rule: n.rule, Act: Create, Hit: n.hit})
		default:
			diff := differences(nil, o.content, n.content)
			if len(diff) > 0 || moved[n.hit.id] {
				rest = append(rest, Change{Rule: n.rule, Act: Update, Hit: n.hit, Old: o.hit.Node, Diff: diff, Moved: moved[n.hit.id]})
			}
		}
	}
	for _, o := range old.nodes {
		if wanted.byID[o.hit.id] == nil {
			deleted = append(deleted, Change{Rule: o.rule, Act: Delete, Hit: o.hit, Old: o.hit.Node})
		}
	}
	depth := func(c Change) int { return len(list[c.Rule].Selector) }
	slices.SortStableFunc(deleted, func(a, b Change) int { return cmp.Or(depth(b)-depth(a), a.Rule-b.Rule) })
	slices.SortStableFunc(rest, func(a, b Change) int { return cmp.Or(depth(a)-depth(b), a.Rule-b.Rule) })
	return &Comparison{Changes: append(deleted, rest...), Rest: differences(nil, old.rest, wanted.rest)}, nil
}

// node is a hit with what belongs to its rule.
type node struct {
	rule    int
	hit     Hit
	content any // without what deeper rules select
}

// division is a document, divided among rules.
type division struct {
	nodes []*node
	byID  map[string]*node
	rest  any // what no rule selects
}

func divide(list []Rule, document any, isNew bool) (*division, error) {
	d := &division{byID: map[string]*node{}}
	selected := map[string]bool{} // by where they are
	for i, r := range list {
		hits, err := r.Selector.Hits(document, r.Ordered)
		if e, ok := err.(*NodeError); ok {
			return nil, &DocumentError{i, isNew, e}
		}
		for _, h := range hits {
			if d.byID[h.id] != nil {
				continue
			}
			n := &node{rule: i, hit: h}
			d.nodes, d.byID[h.id] = append(d.nodes, n), n
			selected[placeKey("", h.At...)] = true
		}
	}
	for _, n := range d.nodes {
		n.content = without(n.hit.Node, placeKey("", n.hit.At...), selected)
	}
	d.rest = without(document, "", selected)
	return d, nil
}

func placeKey(key string, steps ...string) string {
	for _, s := range steps {
		key += strconv.Quote(s)
	}
	return key
}

// without gives a value without the nodes below it that are selected.
func without(v any, at string, selected map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if key := placeKey(at, name); !selected[key] {
				out[name] = without(e, key, selected)
			}
		}
		return out
	case []any:
		out := []any{}
		for i, e := range v {
			if key := placeKey(at, strconv.Itoa(i)); !selected[key] {
				out = append(out, without(e, key, selected))
			}
		}
		return out
	}
	return v
}

// movedNodes are nodes of ordered rules that stand at another place among those that both documents have: as few of them as explain the order.
func movedNodes(list []Rule, old, wanted *division) map[string]bool {
	moved := map[string]bool{}
	groups := map[string][]*node{} // elements of one list, by where it is
	for _, n := range wanted.nodes {
		step := list[n.rule].Selector[len(list[n.rule].Selector)-1]
		if o := old.byID[n.hit.id]; o != nil && list[n.rule].Ordered && step.selects() && o.hit.kinds == n.hit.kinds {
			key := placeKey("", n.hit.At[:len(n.hit.At)-1]...)
			groups[key] = append(groups[key], n)
		}
	}
	for _, nodes := range groups {
		places := make([]int, len(nodes))
		for i, n := range nodes {
			places[i] = old.byID[n.hit.id].hit.order
		}
		stays := longestRise(places)
		for i, n := range nodes {
			if !stays[i] {
				moved[n.hit.id] = true
			}
		}
	}
	return moved
}

// longestRise marks a longest rising subsequence (Fredman 1975, by patience sorting).
func longestRise(list []int) []bool {
	tails, before := []int{}, make([]int, len(list)) // indexes
	for i, v := range list {
		at, _ := slices.BinarySearchFunc(tails, v, func(t, v int) int { return list[t] - v })
		before[i] = -1
		if at > 0 {
			before[i] = tails[at-1]
		}
		if at == len(tails) {
			tails = append(tails, i)
		} else {
			tails[at] = i
		}
	}
	marks := make([]bool, len(list))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			marks[i] = true
		}
	}
	return marks
}
