// Package rollout says whose turn it is when a change is brought to many hosts: how they are dealt out in stages and batches, when
// the next one begins, and when too much has failed. It is pure: a fleet and a server drive it, each with outcomes of its own.
package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tenetcm/tenet/lang/site"
)

// Batch is what is done at once.
type Batch struct {
	Stage    string      // empty: none
	Number   int         // in its stage, from 1
	Of       int         // so many has its stage
	Machines []string    // in their order
	Allowed  site.Amount // so many failures in its stage until now do not stop it
	Total    int         // so many machines has its stage
	Before   []site.Hook // run before it, if there is anything to do
	After    []site.Hook // run after it, then
}

// Batches deals machines out: each of them is in one batch, in their order or, where
// the rollout shuffles them, in that of the seed. Stages come in theirs; a machine is in
// the first that names it, and in a last one without a name if none does. The error is
// for a rollout that means nothing.
func Batches(r *site.Rollout, seed uint64, machines []string) ([]Batch, error) {
	return BatchesInOrder(r, seed, machines, nil)
}

// BatchesInOrder is Batches for machines some of which need others before them: within a stage these
// come first. That they come in a later stage, or need each other, is an error.
func BatchesInOrder(r *site.Rollout, seed uint64, machines []string, needs map[string][]string) ([]Batch, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	if r.Order == site.OrderShuffle {
		machines = slices.Clone(machines)
		random := rand.New(rand.NewPCG(seed, seed))
		random.Shuffle(len(machines), func(i, k int) { machines[i], machines[k] = machines[k], machines[i] })
	}
	var batches []Batch
	stages := membersOfStages(r.Stages, machines)
	if err := orderByNeeds(r.Stages, stages, needs); err != nil {
		return nil, err
	}
	for i, members := range stages {
		stage := site.Stage{}
		if i < len(r.Stages) {
			stage = r.Stages[i]
		}
		batches = append(batches, batchesOf(r, stage, members)...)
	}
	return batches, nil
}

// membersOfStages gives the machines of each stage, and last those of none.
func membersOfStages(stages []site.Stage, machines []string) [][]string {
	stage := map[string]int{}
	for i, s := range stages {
		for _, name := range s.Hosts {
			if _, ok := stage[name]; !ok {
				stage[name] = i
			}
		}
	}
	members := make([][]string, len(stages)+1)
	for _, name := range machines {
		i, ok := stage[name]
		if !ok {
			i = len(stages)
		}
		members[i] = append(members[i], name)
	}
	return members
}

// batchesOf gives the batches of one stage.
func batchesOf(r *site.Rollout, stage site.Stage, machines []string) []Batch {
	sizes := stage.Batch
	if len(sizes) == 0 {
		sizes = r.Batch
	}
	if len(sizes) == 0 {
		sizes = []site.Amount{{N: 100, Percent: true}}
	}
	allowed := site.Amount{}
	for _, a := range []*site.Amount{r.MaxFailures, stage.MaxFailures} {
		if a != nil {
			allowed = *a
		}
	}
	before, after := r.BeforeEach, r.AfterEach
	if stage.Name != "" {
		before, after = stage.BeforeEach, stage.AfterEach
	}
	var batches []Batch
	total := len(machines)
	for len(machines) > 0 {
		n := min(len(machines), sizes[min(len(batches), len(sizes)-1)].BatchSize(total))
		batches = append(batches, Batch{
			Stage: stage.Name, Number: len(batches) + 1, Machines: machines[:n:n], Allowed: allowed, Total: total, Before: before, After: after,
		})
		machines = machines[n:]
	}
	for i := range batches {
		batches[i].Of = len(batches)
	}
	return batches
}

// check says why a rollout cannot be.
func check(r *site.Rollout) error {
	sizes := r.Batch
	allowed := []*site.Amount{r.MaxFailures}
	for _, s := range r.Stages {
		sizes = append(slices.Clip(sizes), s.Batch...)
		allowed = append(allowed, s.MaxFailures)
	}
	for _, a := range sizes {
		if a.N < 1 || a.Percent && a.N > 100 {
			return fmt.Errorf("a batch of %s machines cannot be: it is at least 1, or 1%% to 100%%", a)
		}
	}
	for _, a := range allowed {
		if a != nil && (a.N < 0 || a.Percent && a.N > 100) {
			return fmt.Errorf("at most %s failures cannot be: it is at least 0, or 0%% to 100%%", a)
		}
	}
	if r.Order != "" && !slices.Contains(site.Orders(), r.Order) {
		return fmt.Errorf("the order of machines cannot be %q", r.Order)
	}
	if r.Pause < 0 {
		return fmt.Errorf("a pause of %s cannot be", r.Pause)
	}
	return nil
}

// Label names a batch for people.
func (b Batch) Label() string {
	text := fmt.Sprintf("batch %d of %d", b.Number, b.Of)
	if b.Stage != "" {
		text = fmt.Sprintf("stage %s, %s", b.Stage, text)
	}
	return text
}
