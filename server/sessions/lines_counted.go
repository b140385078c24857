package sessions

import (
	"slices"
	"sync"

	"github.com/tenetcm/tenet/runtime/trust"
)

// maxCountedRows is how many rows are remembered of all runs, in 24 MiB.
const maxCountedRows = 1_000_000

// countedRun names a run.
type countedRun struct {
	host trust.ID
	run  string
}

// counted remembers what rows have that a former version of the server has not counted: they are unpacked for that, and whoever asks again is not to have
// all of a run unpacked again. A row never changes.
type counted struct {
	mu   sync.Mutex
	runs map[countedRun][]linesRow
	rows int
}

// get gives the rows that are remembered of a run.
func (c *counted) get(of countedRun) []linesRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[of]
}

// put remembers those of a run; of the others it forgets all where they are too many.
func (c *counted) put(of countedRun, rows []linesRow) {
	if len(rows) > maxCountedRows {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows -= len(c.runs[of]); c.runs == nil || c.rows+len(rows) > maxCountedRows {
		c.runs, c.rows = map[countedRun][]linesRow{}, 0
	}
	c.runs[of] = slices.Clone(rows)
	c.rows += len(rows)
}
