package broker

import (
	"container/list"
	"sync"

	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

// Limits of what an Inbox keeps of packets that are not whole. Of what is too much, those go first that have waited longest for a piece.
const (
	maxJoins     = 2         // of one host
	maxJoinBytes = 256 << 20 // of all
)

// Inbox makes packets of what agents send over a broker that carries frames. It may be used by many goroutines, and is called for what one
// agent sends in order. Its functions are called with nothing held.
type Inbox struct {
	Packet func(from link.Address, p link.Packet)
	Ack    func(from link.Address, a link.Ack)

	mu    sync.Mutex
	joins map[link.Address]*list.Element // of *join
	order list.List                      // the one with the latest piece is last
	hosts map[trust.ID]int
	held  int
}

type join struct {
	from   link.Address
	joiner link.Joiner
	held   int
}

// Take takes a frame, by the subject under which it came. What is none, or under none, is dropped: there is nobody to tell.
func (i *Inbox) Take(subject string, data []byte) {
	from, session, err := link.ParseSubject(link.Up, subject)
	if err != nil {
		return
	}
	f, err := link.ParseFrame(data)
	if err != nil {
		return
	}
	if ack, ok := f.Ack(); ok {
		i.Ack(from, ack)
		return
	}
	whole, ok := f.Whole()
	if !ok {
		whole = i.join(from, session, f)
	}
	if p := (link.Packet{Session: session, Data: whole}); whole != nil && p.Check() == nil {
		i.Packet(from, p)
	}
}

// join takes a piece, and gives the packet of which it is the last.
func (i *Inbox) join(from link.Address, session string, f link.Frame) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.joins[from]
	if e == nil {
		if _, first := f.Piece(); !first {
			return nil
		}
		e = i.begin(from)
	}
	j := e.Value.(*join)
	i.order.MoveToBack(e)
	whole, _ := j.joiner.Add(session, f)
	i.held += j.joiner.Held() - j.held
	j.held = j.joiner.Held()
	if j.held == 0 {
		i.drop(e)
	}
	for i.held > maxJoinBytes {
		i.drop(i.order.Front())
	}
	return whole
}

func (i *Inbox) begin(from link.Address) *list.Element {
	if i.joins == nil {
		i.joins, i.hosts = map[link.Address]*list.Element{}, map[trust.ID]int{}
	}
	for e := i.order.Front(); e != nil && i.hosts[from.Host] >= maxJoins; {
		next := e.Next()
		if e.Value.(*join).from.Host == from.Host {
			i.drop(e)
		}
		e = next
	}
	e := i.order.PushBack(&join{from: from})
	i.joins[from] = e
	i.hosts[from.Host]++
	return e
}

func (i *Inbox) drop(e *list.Element) {
	j := i.order.Remove(e).(*join)
	delete(i.joins, j.from)
	i.held -= j.held
	if i.hosts[j.from.Host]--; i.hosts[j.from.Host] == 0 {
		delete(i.hosts, j.from.Host)
	}
}
