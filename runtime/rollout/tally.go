package rollout

import (
	"fmt"

	"github.com/tenetcm/tenet/lang/site"
)

// Tally counts the failures of a rollout, stage by stage. Its zero value has counted none.
type Tally struct {
	failed int // in the present stage
}

// Add counts what has failed in the next batch. The error says that more has failed in its stage than may:
// then nothing else is begun.
func (t *Tally) Add(b Batch, failed int) error {
	if b.Number == 1 {
		t.failed = 0
	}
	t.failed += failed
	if !b.Allowed.IsExceeded(t.failed, b.Total) {
		return nil
	}
	return &LimitError{Batch: b, Failed: t.failed}
}

// LimitError says that more has failed than may.
type LimitError struct {
	Batch  Batch // after which that was so
	Failed int   // in its stage
}

// Error says after which batch, and how many had failed.
func (e *LimitError) Error() string {
	hosts := fmt.Sprintf("%d hosts", e.Failed)
	if e.Failed == 1 {
		hosts = "1 host"
	}
	return fmt.Sprintf("after %s, %s of %d had failed, and %s may", e.Batch.Label(), hosts, e.Batch.Total, allowance(e.Batch.Allowed))
}

// allowance says how many may fail.
func allowance(a site.Amount) string {
	if a.N == 0 {
		return "none"
	}
	return "at most " + a.String()
}
