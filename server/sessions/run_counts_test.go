package sessions

import (
	"fmt"
	"slices"
	"testing"
)

// However many runs are counted, no more rows are remembered than there is room for, and the last ones are.
func TestCountedIsBounded(t *testing.T) {
	const each = maxRunCounts / 4
	c, rows := &runCounts{}, make([]linesRow, each)
	for n := range 10 {
		of := runKey{"host", fmt.Sprint(n)}
		rows[0].lines = int64(n)
		c.put(of, rows)
		c.put(of, rows) // by another one who has counted them meanwhile
		if got := c.get(of); !slices.Equal(got, rows) {
			t.Fatalf("of run %d %d rows are remembered", n, len(got))
		}
		total := 0
		for _, list := range c.runs {
			total += len(list)
		}
		if total != c.rows || total > maxRunCounts {
			t.Fatalf("%d rows are remembered, and %d are said to be", total, c.rows)
		}
	}
	c.put(runKey{"host", "large"}, make([]linesRow, maxRunCounts+1))
	if c.get(runKey{"host", "large"}) != nil || c.get(runKey{"host", "9"}) == nil {
		t.Error("one run takes the room of all")
	}
}
