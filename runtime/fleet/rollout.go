package fleet

import (
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/rollout"
)

// Batch is what is done at once, with what runs around it.
type Batch struct{ rollout.Batch }

// OrderError is that of package rollout.
type OrderError = rollout.OrderError

// Batches is that of package rollout.
func Batches(r *site.Rollout, seed uint64, machines []string) ([]Batch, error) {
	return BatchesInOrder(r, seed, machines, nil)
}

// BatchesInOrder is that of package rollout.
func BatchesInOrder(r *site.Rollout, seed uint64, machines []string, needs map[string][]string) ([]Batch, error) {
	dealt, err := rollout.BatchesInOrder(r, seed, machines, needs)
	batches := make([]Batch, len(dealt))
	for i, b := range dealt {
		batches[i] = Batch{b}
	}
	return batches, err
}
