package runtime

import (
	"container/heap"
	"context"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
)

// queue holds the nodes that are ready, in StateRun order.
type queue []*node

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].order < q[j].order }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push is for container/heap.
func (q *queue) Push(x any) { *q = append(*q, x.(*node)) }

// Pop is for container/heap.
func (q *queue) Pop() any {
	last := len(*q) - 1
	n := (*q)[last]
	*q = (*q)[:last]
	return n
}

// scheduler hands out nodes as they become ready.
type scheduler struct {
	mu        sync.Mutex
	wake      *sync.Cond
	ready     queue
	remaining int // nodes that have not ended
	isStopped bool
}

// schedule runs every node, up to Options.Parallel at a time, and returns when
// all have ended or, after ctx has, when those that were running have. A panic that is
// no part's goes up to the caller then.
func (e *engine) schedule(ctx context.Context) {
	s := &scheduler{remaining: len(e.nodes)}
	s.wake = sync.NewCond(&s.mu)
	for _, n := range e.nodes {
		if n.waiting == 0 {
			s.ready = append(s.ready, n)
		}
	}
	heap.Init(&s.ready)
	release := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.isStopped = true
		s.wake.Broadcast()
	})
	defer release()
	var workers fault.Group
	for range min(e.options.Parallel, len(e.nodes)) {
		workers.Go(func() {
			defer e.halt()
			s.work(ctx, e)
		})
	}
	workers.Wait()
}

// halt, which is deferred, stops the run at a panic, before anything waits for what has panicked.
// To the parts that this cuts off it is an interruption: the fault is not theirs.
func (e *engine) halt() {
	if f := fault.Of(recover()); f != nil {
		e.recorder.stop(nil)
		panic(f)
	}
}

// work runs nodes until none are left.
func (s *scheduler) work(ctx context.Context, e *engine) {
	for {
		nodes, inTurn := s.take(ctx, e)
		switch {
		case nodes == nil:
			return
		case !inTurn:
			e.execute(ctx, nodes)
			s.end(ctx, nodes)
			continue
		}
		for _, n := range nodes {
			if one := []*node{n}; ctx.Err() == nil {
				e.execute(ctx, one)
				s.end(ctx, one)
			}
		}
	}
}

// take waits for the next node, with all that are ready and can go in one call
// with it, or must go one after the other (inTurn). Nil: there is no more to do.
func (s *scheduler) take(ctx context.Context, e *engine) (nodes []*node, inTurn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 && s.remaining > 0 && !s.isStopped {
		s.wake.Wait()
	}
	if s.isStopped || s.remaining == 0 || ctx.Err() != nil {
		return nil, false
	}
	first := heap.Pop(&s.ready).(*node)
	nodes = []*node{first}
	typ := e.batchType(first)
	switch {
	case typ == "":
	case typ == plain:
		for share := e.share(len(s.ready)); len(nodes) < share && e.batchType(s.ready[0]) == plain; {
			nodes = append(nodes, heap.Pop(&s.ready).(*node))
		}
	default:
		var rest queue
		for s.ready.Len() > 0 {
			n := heap.Pop(&s.ready).(*node)
			if e.batchType(n) == typ {
				nodes = append(nodes, n)
			} else {
				rest = append(rest, n) // sorted, which is a heap
			}
		}
		s.ready = rest
	}
	return nodes, strings.HasPrefix(typ, locked)
}

// plain is the batch type of resources of whatever type that are looked at and
// announced together, so that one record, and one sync of it, serves them all.
const plain = "plain"

// locked begins the batch type of resources that take turns at one lock, such as
// those that are lines of one file. One worker takes them all, so that they come in
// StateRun order, and two hosts end alike.
const locked = "lock:"

// share is how many of the ready nodes one worker takes, so that all have some.
func (e *engine) share(ready int) int {
	return min(1+ready/e.options.Parallel, ready, 128)
}

// end makes ready what waited for these nodes alone; after ctx has ended
// nothing, for they may have been cut short.
func (s *scheduler) end(ctx context.Context, nodes []*node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for _, n := range nodes {
		s.remaining--
		for _, next := range n.next {
			if next.waiting--; next.waiting == 0 {
				heap.Push(&s.ready, next)
			}
		}
	}
	s.wake.Broadcast()
}

// batchType is the type of an invocation of one part that may share a call
// with others of its type, or plain, or the lock at which it takes turns, or empty.
func (e *engine) batchType(n *node) string {
	if n.inv == nil || len(n.inv.Parts) != 1 {
		return ""
	}
	p := &n.inv.Parts[0]
	m := e.options.Registry.ModuleOf(p.Type)
	switch {
	case m == nil || hasOwnPace(p):
		return ""
	case m.Batch != nil && len(e.confirms.confirmationsAround(n)) > 0: // whose host is its own
		return ""
	case m.Batch != nil:
		return p.Type
	case e.options.Parallel == 1: // one after the other, as in every plan
		return ""
	case !m.IsAct() && len(m.Locks) > 0 && !strings.Contains(m.Locks[0], "%s"):
		return locked + m.Locks[0]
	case m.IsAct() || len(m.Locks)+len(p.Options.Locks)+len(n.inv.Options.Locks) > 0:
		return ""
	}
	return plain
}
