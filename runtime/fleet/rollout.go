package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Rollout says in which order and how many at a time.
type Rollout struct {
	Batch       []Amount      // the last one is repeated; empty: all at once
	MaxFailures *Amount       // more stop it before the next batch; nil: none may fail
	Pause       time.Duration // between batches
	Shuffle     bool
	Seed        uint64  // of the shuffling, so that an order can be had again; 0: any
	Stages      []Stage // in this order; machines in none of them come last
}

// Stage is a part of a rollout that must succeed on all its machines before the next
// one starts, apart from MaxFailures.
type Stage struct {
	Name        string
	Hosts       []string // machines; those that are not in the fleet do not matter
	Batch       []Amount // empty: the rollout's
	MaxFailures *Amount  // nil: the rollout's
}

// Amount is a number of machines, or a share of them.
type Amount struct {
	N       int
	Percent bool
}

// String gives it as people write it: "3" or "10%".
func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.N) + "%"
	}
	return strconv.Itoa(a.N)
}

// batch is how many machines of so many it stands for: a share is rounded up.
func (a Amount) batch(of int) int {
	if a.Percent {
		return max(1, (of*a.N+99)/100)
	}
	return a.N
}

// exceeded tells whether so many of so many are more than it allows.
func (a Amount) exceeded(n, of int) bool {
	if a.Percent {
		return n*100 > of*a.N
	}
	return n > a.N
}

// Batch is what is done at once.
type Batch struct {
	Stage    string   // empty: none
	Number   int      // in its stage, from 1
	Of       int      // so many has its stage
	Machines []string // in their order
	Allowed  Amount   // so many failures in its stage until now do not stop it
	Total    int      // so many machines has its stage
}

// Batches deals machines out: each of them is in one batch, in their order or, where
// the rollout shuffles them, in that of its seed. Stages come in theirs; a machine is in
// the first that names it, and in a last one without a name if none does. The error is
// for a rollout that means nothing.
func (r *Rollout) Batches(machines []string) ([]Batch, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Shuffle {
		machines = slices.Clone(machines)
		random := rand.New(rand.NewPCG(r.Seed, r.Seed))
		random.Shuffle(len(machines), func(i, k int) { machines[i], machines[k] = machines[k], machines[i] })
	}
	var batches []Batch
	for i, members := range r.staged(machines) {
		stage := Stage{}
		if i < len(r.Stages) {
			stage = r.Stages[i]
		}
		batches = append(batches, r.deal(stage, members)...)
	}
	return batches, nil
}

// staged gives the machines of each stage, and last those of none.
func (r *Rollout) staged(machines []string) [][]string {
	stage := map[string]int{}
	for i, s := range r.Stages {
		for _, name := range s.Hosts {
			if _, ok := stage[name]; !ok {
				stage[name] = i
			}
		}
	}
	staged := make([][]string, len(r.Stages)+1)
	for _, name := range machines {
		i, ok := stage[name]
		if !ok {
			i = len(r.Stages)
		}
		staged[i] = append(staged[i], name)
	}
	return staged
}

// deal makes the batches of one stage.
func (r *Rollout) deal(stage Stage, machines []string) []Batch {
	sizes := stage.Batch
	if len(sizes) == 0 {
		sizes = r.Batch
	}
	if len(sizes) == 0 {
		sizes = []Amount{{100, true}}
	}
	allowed := Amount{}
	for _, a := range []*Amount{r.MaxFailures, stage.MaxFailures} {
		if a != nil {
			allowed = *a
		}
	}
	var batches []Batch
	total := len(machines)
	for len(machines) > 0 {
		n := min(len(machines), sizes[min(len(batches), len(sizes)-1)].batch(total))
		batches = append(batches, Batch{
			Stage: stage.Name, Number: len(batches) + 1, Machines: machines[:n:n], Allowed: allowed, Total: total,
		})
		machines = machines[n:]
	}
	for i := range batches {
		batches[i].Of = len(batches)
	}
	return batches
}

func (r *Rollout) check() error {
	sizes := r.Batch
	allowed := []*Amount{r.MaxFailures}
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
	if r.Pause < 0 {
		return fmt.Errorf("a pause of %s cannot be", r.Pause)
	}
	return nil
}

// where names a batch for people.
func (b Batch) where() string {
	text := fmt.Sprintf("batch %d of %d", b.Number, b.Of)
	if b.Stage != "" {
		text = fmt.Sprintf("stage %s, %s", b.Stage, text)
	}
	return text
}
