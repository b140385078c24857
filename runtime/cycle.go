package runtime

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/states"
)

// checkNesting reports a block that is within itself: what is in it could not be
// listed. The planner makes no such run, but one may have come from a file.
func checkNesting(run *states.StateRun) error {
	const open, done = 1, 2
	blocks := make(map[string]*states.Block, len(run.Blocks))
	for i := range run.Blocks {
		blocks[run.Blocks[i].Address] = &run.Blocks[i]
	}
	state := make(map[string]int, len(blocks))
	var visit func(b *states.Block) error
	visit = func(b *states.Block) error {
		switch state[b.Address] {
		case open:
			return fmt.Errorf("the run goes in a circle: %s is within itself", b.Address)
		case done:
			return nil
		}
		state[b.Address] = open
		for _, m := range slices.Concat(b.Members, b.Rescue, b.Always) {
			if inner := blocks[m]; inner != nil {
				if err := visit(inner); err != nil {
					return err
				}
			}
		}
		state[b.Address] = done
		return nil
	}
	for i := range run.Blocks {
		if err := visit(&run.Blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkCycles reports a cycle among the nodes, which would wait for each other without
// end.
func (d dag) checkCycles() error {
	waiting := make([]int, len(d)) // by order
	var ready []*node
	for _, n := range d {
		if waiting[n.order] = n.waiting; n.waiting == 0 {
			ready = append(ready, n)
		}
	}
	remaining := len(d)
	for ; len(ready) > 0; remaining-- {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, next := range n.next {
			if waiting[next.order]--; waiting[next.order] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if remaining == 0 {
		return nil
	}
	var in []string
	for _, n := range d {
		if waiting[n.order] > 0 {
			in = append(in, n.address)
		}
	}
	slices.Sort(in)
	return fmt.Errorf("the run goes in a circle: %s waits for itself", in[0])
}
