package rules

import (
	"cmp"
	"fmt"
	"slices"
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
	old, err := Divide(list, before, false)
	if err != nil {
		return nil, err
	}
	wanted, err := Divide(list, after, true)
	if err != nil {
		return nil, err
	}
	return &Comparison{Changes: CompareNodes(list, old.Nodes, wanted.Nodes), Rest: differences(nil, old.Rest, wanted.Rest)}, nil
}

// CompareNodes finds out what differs between the nodes of two documents, in the order in which it is done.
func CompareNodes(list []Rule, before, after []*Node) []Change {
	old := byID(before)
	wanted := byID(after)
	moved := movedNodes(list, old, after)
	var deleted, rest []Change
	for _, n := range after {
		o := old[n.Hit.id]
		switch {
		case o == nil:
			rest = append(rest, Change{Rule: n.Rule, Act: Create, Hit: n.Hit})
		case o.Hit.kinds != n.Hit.kinds:
			deleted = append(deleted, Change{Rule: n.Rule, Act: Delete, Hit: o.Hit, Old: o.Hit.Node})
			rest = append(rest, Change{Rule: n.Rule, Act: Create, Hit: n.Hit})
		default:
			diff := differences(nil, o.Content, n.Content)
			if len(diff) > 0 || moved[n.Hit.id] {
				rest = append(rest, Change{Rule: n.Rule, Act: Update, Hit: n.Hit, Old: o.Hit.Node, Diff: diff, Moved: moved[n.Hit.id]})
			}
		}
	}
	for _, o := range before {
		if wanted[o.Hit.id] == nil {
			deleted = append(deleted, Change{Rule: o.Rule, Act: Delete, Hit: o.Hit, Old: o.Hit.Node})
		}
	}
	depth := func(c Change) int { return len(list[c.Rule].Selector) }
	slices.SortStableFunc(deleted, func(a, b Change) int { return cmp.Or(depth(b)-depth(a), a.Rule-b.Rule) })
	slices.SortStableFunc(rest, func(a, b Change) int { return cmp.Or(depth(a)-depth(b), a.Rule-b.Rule) })
	return append(deleted, rest...)
}

// movedNodes are nodes of ordered rules that stand at another place among those that both documents have: as few of them as explain the order.
func movedNodes(list []Rule, old map[string]*Node, wanted []*Node) map[string]bool {
	moved := map[string]bool{}
	groups := map[string][]*Node{} // elements of one list, by where it is
	for _, n := range wanted {
		step := list[n.Rule].Selector[len(list[n.Rule].Selector)-1]
		if o := old[n.Hit.id]; o != nil && list[n.Rule].Ordered && step.selects() && o.Hit.kinds == n.Hit.kinds {
			key := placeKey("", n.Hit.At[:len(n.Hit.At)-1]...)
			groups[key] = append(groups[key], n)
		}
	}
	for _, nodes := range groups {
		places := make([]int, len(nodes))
		for i, n := range nodes {
			places[i] = old[n.Hit.id].Hit.order
		}
		stays := longestRise(places)
		for i, n := range nodes {
			if !stays[i] {
				moved[n.Hit.id] = true
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
