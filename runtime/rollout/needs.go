package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// hintLast is how a host reads what another one gives, without waiting for it.
const hintLast = `read what was recorded last, without an order: hosts(PATTERN, { outputs = "last" })`

// OrderError says that machines have no order in which each has its turn after those whose outputs it reads.
type OrderError struct {
	Err   error
	Reads [][2]string // who reads of whom, in the order of the message
}

// Error gives the message.
func (e *OrderError) Error() string { return e.Err.Error() }

// Unwrap gives the error with its hint.
func (e *OrderError) Unwrap() error { return e.Err }

// orderByNeeds puts the machines of each stage after those of it that they need, in their order
// otherwise.
func orderByNeeds(stages []site.Stage, members [][]string, needs map[string][]string) error {
	if len(needs) == 0 {
		return nil
	}
	stageOf := map[string]int{}
	for i, list := range members {
		for _, name := range list {
			stageOf[name] = i
		}
	}
	title := func(i int) string {
		if i < len(stages) {
			return "the stage " + stages[i].Name
		}
		return "the hosts of no stage, which come last"
	}
	for i, list := range members {
		s := &needSorter{needs: needs, done: map[string]bool{}, has: func(name string) bool { k, ok := stageOf[name]; return ok && k == i }}
		for _, name := range list {
			for _, other := range needs[name] {
				if k, ok := stageOf[other]; ok && k > i {
					err := &diag.HintError{Message: fmt.Sprintf("%s, of %s, reads an output of %s, which has its turn later: it is of %s", name, title(i), other, title(k)), Hint: hintLast}
					return &OrderError{Err: err, Reads: [][2]string{{name, other}}}
				}
			}
			if err := s.visit(name); err != nil {
				return err
			}
		}
		members[i] = s.sorted
	}
	return nil
}

// needSorter sorts the machines of one stage.
type needSorter struct {
	needs   map[string][]string
	has     func(name string) bool
	done    map[string]bool
	visited []string // on the way to the present one
	sorted  []string
}

func (s *needSorter) visit(name string) error {
	if s.done[name] {
		return nil
	}
	if i := slices.Index(s.visited, name); i >= 0 {
		ring := append(slices.Clone(s.visited[i:]), name)
		e := &OrderError{Err: &diag.HintError{Message: "hosts read outputs of each other: " + strings.Join(ring, " → "), Hint: hintLast}}
		for k, reader := range ring[:len(ring)-1] {
			e.Reads = append(e.Reads, [2]string{reader, ring[k+1]})
		}
		return e
	}
	s.visited = append(s.visited, name)
	for _, other := range s.needs[name] {
		if s.has(other) {
			if err := s.visit(other); err != nil {
				return err
			}
		}
	}
	s.visited = s.visited[:len(s.visited)-1]
	s.done[name] = true
	s.sorted = append(s.sorted, name)
	return nil
}
