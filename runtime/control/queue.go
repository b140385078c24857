package control

import (
	"cmp"
	"fmt"
)

// Limits of a batch, and of what an agent keeps.
const (
	MaxBatchItems = 1000
	MaxBatchBytes = 1 << 20 // an item that is larger is a batch of its own
	MaxKept       = 256 << 20
	MaxClaim      = 1000 // contents
	maxSequence   = 1 << 62
)

// Queue is an agent's stream: what it has to tell, and how far the server has it. An acknowledgement removes nothing, since a server may lose
// its latest part; what is older than the agent keeps is a gap.
type Queue struct {
	Stream string
	Limit  int64   // how many bytes are kept; 0: MaxKept
	first  uint64  // the oldest that is kept; last+1: nothing is
	last   uint64  // 0: nothing was ever told
	sizes  []int64 // of first to last
	kept   int64   // their sum
	stored uint64  // so far the server has it, as it said in this session
}

// NewQueue continues a stream of which the items from first on are kept, with these sizes. An empty stream begins at 1.
func NewQueue(stream string, first uint64, sizes []int64) *Queue {
	q := &Queue{Stream: stream, first: max(first, 1), sizes: sizes}
	q.last = q.first + uint64(len(sizes)) - 1
	for _, n := range sizes {
		q.kept += n
	}
	return q
}

// First is the number of the oldest item that is kept.
func (q *Queue) First() uint64 { return q.first }

// Last is the number of the newest item.
func (q *Queue) Last() uint64 { return q.last }

// Append takes an item in, and gives its number and that of the oldest item that is kept from now on: older ones go once the new one is durable.
func (q *Queue) Append(size int64) (number, first uint64) {
	q.last++
	q.sizes = append(q.sizes, size)
	q.kept += size
	for q.kept > cmp.Or(q.Limit, MaxKept) && len(q.sizes) > 1 {
		q.drop()
	}
	return q.last, q.first
}

// drop lets the oldest item go.
func (q *Queue) drop() {
	q.kept -= q.sizes[0]
	q.sizes = q.sizes[1:]
	q.first++
}

// next says what is to be told now; nil: nothing. The caller adds the items.
func (q *Queue) next() *Batch {
	from := q.stored + 1
	switch {
	case from > q.last:
		return nil
	case from < q.first:
		return &Batch{Stream: q.Stream, First: from, Last: q.first - 1, Gap: true}
	}
	b := &Batch{Stream: q.Stream, First: from, Last: from}
	bytes := q.sizes[from-q.first]
	for b.Last < q.last && b.Last-b.First+1 < MaxBatchItems {
		bytes += q.sizes[b.Last+1-q.first]
		if bytes > MaxBatchBytes {
			break
		}
		b.Last++
	}
	return b
}

// Check says why a batch makes no sense.
func (b *Batch) Check() error {
	switch {
	case b.First == 0 || b.Last < b.First || b.Last > maxSequence:
		return fmt.Errorf("a batch goes from %d to %d", b.First, b.Last)
	case b.Gap && len(b.Items) > 0:
		return fmt.Errorf("a gap has %d items", len(b.Items))
	case !b.Gap && (uint64(len(b.Items)) != b.Last-b.First+1 || len(b.Items) > MaxBatchItems):
		return fmt.Errorf("a batch from %d to %d has %d items", b.First, b.Last, len(b.Items))
	}
	return nil
}
