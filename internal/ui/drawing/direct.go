package drawing

import (
	"slices"

	"github.com/tenetcm/tenet/states"
)

// directArrows leaves out the arrows of order that other ones imply: if a comes before b, and b
// before c, nobody needs to see that a comes before c. A requirement is implied by requirements
// alone. Notifications and members stay, and so does whatever goes in a circle.
func directArrows(nodes []node, arrows []states.OutlineArrow) []states.OutlineArrow {
	isOrder := func(a states.OutlineArrow) bool { return a.Kind == "requires" || a.Kind == "after" }
	all := reachOf(nodes, arrows, isOrder)
	required := reachOf(nodes, arrows, func(a states.OutlineArrow) bool { return a.Kind == "requires" })
	return slices.DeleteFunc(slices.Clone(arrows), func(a states.OutlineArrow) bool {
		switch {
		case !isOrder(a):
			return false
		case a.Kind == "requires":
			return required.isImplied(a)
		}
		return all.isImplied(a)
	})
}

// reach says which nodes are reached from which: there are few enough of them to know all.
type reach struct {
	index map[string]int
	next  [][]int
	from  [][]bool
}

func reachOf(nodes []node, arrows []states.OutlineArrow, counts func(states.OutlineArrow) bool) *reach {
	r := &reach{index: map[string]int{}, next: make([][]int, len(nodes)), from: make([][]bool, len(nodes))}
	for i, n := range nodes {
		r.index[n.address] = i
	}
	for _, a := range arrows {
		from, ok := r.index[a.From]
		to, also := r.index[a.To]
		if ok && also && from != to && counts(a) && !slices.Contains(r.next[from], to) {
			r.next[from] = append(r.next[from], to)
		}
	}
	for i := range nodes {
		seen := make([]bool, len(nodes))
		stack := slices.Clone(r.next[i])
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !seen[at] {
				seen[at] = true
				stack = append(stack, r.next[at]...)
			}
		}
		r.from[i] = seen
	}
	return r
}

// isImplied reports whether there is another way than the arrow from its beginning to its end.
func (r *reach) isImplied(a states.OutlineArrow) bool {
	from, ok := r.index[a.From]
	to, also := r.index[a.To]
	if !ok || !also {
		return false
	}
	return slices.ContainsFunc(r.next[from], func(by int) bool {
		return by != to && r.from[by][to] && !r.from[to][by] && !r.from[by][from]
	})
}
