package sessions

import (
	"slices"
	"sync"

	"github.com/tenetcm/tenet/runtime/trust"
)

// maxRunCounts is how many rows are remembered of all runs, in 24 MiB.
const maxRunCounts = 1_000_000

// runKey names a run.
type runKey struct {
	host trust.ID
	run  string
}

// runCounts remembers what rows have that a former version of the server has not counted: they are unpacked for that, and whoever asks again is not to have
// all of a run unpacked again. A row never changes.
type runCounts struct {
	mu   sync.Mutex
	runs map[runKey][]linesRow
	rows int
}

// get gives the rows that are remembered of a run.
func (c *runCounts) get(of runKey) []linesRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[of]
}

// put remembers those of a run; of the others it forgets all where they are too many.
func (c *runCounts) put(of runKey, rows []linesRow) {
	if len(rows) > maxRunCounts {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows -= len(c.runs[of]); c.runs == nil || c.rows+len(rows) > maxRunCounts {
		c.runs, c.rows = map[runKey][]linesRow{}, 0
	}
	c.runs[of] = slices.Clone(rows)
	c.rows += len(rows)
}
