package broker

import (
	"errors"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
)

const (
	// window is how many pieces may be on their way to an agent: less than brokers keep for one that is slow.
	window = 8
	// maxOutAll is how many bytes may wait for all agents behind packets in pieces.
	maxOutAll = 512 << 20
	// ackPatience is how long the next acknowledgement may take, before what waits for an agent is dropped.
	ackPatience = 30 * time.Second
)

// Outbox sends packets over a broker that carries frames. A packet in pieces goes as fast as its agent acknowledges them, and what is sent to
// that agent meanwhile waits behind it; nothing else waits.
type Outbox struct {
	publish  func(subject string, frame []byte) error
	splitter link.Splitter
	patience time.Duration

	mu     sync.Mutex
	idle   sync.Cond
	lanes  map[link.Address]*outLane
	all    int // bytes that wait
	closed bool
}

// outLane is what waits for one agent while a packet goes to it in pieces.
type outLane struct {
	packets []link.Packet
	waiting int // bytes
	id      uint64
	acked   int // pieces
	changed chan struct{}
}

// NewOutbox sends frames by a function, which may be called by several goroutines.
func NewOutbox(splitter link.Splitter, publish func(subject string, frame []byte) error) *Outbox {
	o := &Outbox{publish: publish, splitter: splitter, patience: ackPatience, lanes: map[link.Address]*outLane{}}
	o.idle.L = &o.mu
	return o
}

// Send sends a packet, or has it wait for those before it.
func (o *Outbox) Send(to link.Address, p link.Packet) error {
	if err := errors.Join(to.Check(), p.Check()); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return link.ErrClosed
	}
	l := o.lanes[to]
	if l == nil && o.splitter.Fits(p.Data) {
		o.mu.Unlock()
		defer o.mu.Lock()
		return o.publish(link.Subject(link.Down, to, p.Session), o.splitter.Frame(p.Data))
	}
	cost := len(p.Data) + packetCost
	if o.all+cost > maxOutAll || l != nil && l.waiting+cost > MaxWaiting {
		return link.ErrFull
	}
	if l == nil {
		l = &outLane{changed: make(chan struct{}, 1)}
		o.lanes[to] = l
		fault.Go(func() { o.run(to, l) })
	}
	l.packets = append(l.packets, link.Packet{Session: p.Session, Data: append([]byte{}, p.Data...)})
	l.waiting += cost
	o.all += cost
	return nil
}

// Ack takes what an agent has acknowledged.
func (o *Outbox) Ack(from link.Address, a link.Ack) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := o.lanes[from]; l != nil && a.ID == l.id && a.Index+1 > l.acked {
		l.acked = a.Index + 1
		l.signal()
	}
}

func (l *outLane) signal() {
	select {
	case l.changed <- struct{}{}:
	default: // it is told already
	}
}

// run sends what waits for an agent, until nothing does, or the agent no longer answers.
func (o *Outbox) run(to link.Address, l *outLane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(l.packets) > 0 && !o.closed {
		p := l.packets[0]
		l.id, l.acked = link.NewPacketID(), 0
		o.mu.Unlock()
		err := o.sendNow(to, l, p)
		o.mu.Lock()
		if err != nil {
			break
		}
		l.packets[0] = link.Packet{}
		l.packets = l.packets[1:]
		l.waiting -= len(p.Data) + packetCost
		o.all -= len(p.Data) + packetCost
	}
	o.all -= l.waiting
	delete(o.lanes, to)
	if len(o.lanes) == 0 {
		o.idle.Broadcast()
	}
}

func (o *Outbox) sendNow(to link.Address, l *outLane, p link.Packet) error {
	subject := link.Subject(link.Down, to, p.Session)
	if o.splitter.Fits(p.Data) {
		return o.publish(subject, o.splitter.Frame(p.Data))
	}
	pieces := 0
	for i, frame := range o.splitter.Pieces(l.id, p.Data) {
		if err := o.wait(l, i-window+1); err != nil {
			return err
		}
		if err := o.publish(subject, frame); err != nil {
			return err
		}
		pieces = i + 1
	}
	return o.wait(l, pieces) // so that the next packet does not come on top
}

var errSilent = errors.New("the agent does not acknowledge what it is sent")

// wait waits until so many pieces are acknowledged.
func (o *Outbox) wait(l *outLane, pieces int) error {
	timer := time.NewTimer(o.patience)
	defer timer.Stop()
	for {
		o.mu.Lock()
		enough, closed := l.acked >= pieces, o.closed
		o.mu.Unlock()
		if closed {
			return link.ErrClosed
		}
		if enough {
			return nil
		}
		select {
		case <-l.changed:
			timer.Reset(o.patience)
		case <-timer.C:
			return errSilent
		}
	}
}

// Close drops what waits. Nothing is sent any more when it returns.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, l := range o.lanes {
		l.signal()
	}
	for len(o.lanes) > 0 {
		o.idle.Wait()
	}
}
