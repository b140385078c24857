package agent

import (
	"bytes"
	"errors"
	"path/filepath"
	"sync"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

// send sends a message to the agent. The lock is held.
func (w *world) send(m control.Message) {
	if w.link == nil || w.cut || w.lose != nil && w.lose(m) {
		return
	}
	data, err := control.Encode(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.link.deliver(link.Packet{Data: data})
}

// receive takes a packet of the agent in.
func (w *world) receive(l *memoryLink, p link.Packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut || l != w.link || w.disk.isDead() {
		return
	}
	if p.Session != "" {
		w.packets = append(w.packets, p)
		return
	}
	m, err := control.Decode(p.Data)
	if err != nil {
		w.t.Error(err)
		return
	}
	if w.lose != nil && w.lose(m) {
		return
	}
	switch m := m.(type) {
	case *control.Hello:
		w.checkHello(m)
		w.objections = m.Objections()
		w.send(w.core.Hello(&w.host, m))
	case *control.Batch:
		w.checkBatch(m)
		taken, answer := w.core.Batch(&w.host, m)
		for i, item := range m.Items {
			if taken {
				w.items[m.Stream][m.First+uint64(i)] = item
			}
		}
		if answer != nil {
			w.send(answer)
		}
	case *control.Pulse:
		if answer := w.core.Pulse(&w.host, m); answer != nil {
			w.send(answer)
		}
	case *control.Claim:
		if len(m.Contents) > 0 {
			w.send(w.answerClaim(m))
		}
	}
}

func (w *world) answerClaim(c *control.Claim) *control.Turn {
	if w.turn != nil {
		if t := w.turn(c); t != nil {
			t.Session, t.Site = c.Session, c.Site
			return t
		}
	}
	t := &control.Turn{Session: c.Session, Site: c.Site, Tickets: map[trust.Digest]string{}}
	for _, d := range c.Contents {
		t.Tickets[d] = d.String()
	}
	return t
}

// checkHello demands that what the agent says it holds would be there after a loss of power now, and is not older than what it has said before.
func (w *world) checkHello(m *control.Hello) {
	durable := w.durable()
	for site, held := range m.Held {
		if d := durable[site]; d == nil || d.Position != held.Position {
			w.t.Errorf("the agent says that it holds %s of %s, and the disk has %v", held.Position, site, d)
		}
		if held.Compare(w.held[site]) < 0 {
			w.t.Errorf("the agent held %s of %s, and now %s", w.held[site], site, held.Position)
		}
	}
	for site, was := range w.held {
		if _, ok := m.Held[site]; !ok {
			w.t.Errorf("the agent held %s of %s, and now nothing", was, site)
		}
	}
	for site, held := range m.Held {
		w.held[site] = held.Position
	}
	if w.items[m.Stream] == nil {
		w.items[m.Stream] = map[uint64][]byte{}
	}
}

// checkBatch demands that what the agent tells would be there after a loss of power now, and is what it has told before under these numbers.
func (w *world) checkBatch(m *control.Batch) {
	in, _ := w.disk.durableCopy().open(filepath.Join(w.dir, "agent", "stream"))
	s, err := openStream(in, streamLimits{})
	if err != nil || s.queue.Stream != m.Stream {
		w.t.Errorf("the agent tells of a stream that is not durable: %v", err)
		return
	}
	kept, err := s.read(m.First, m.Last)
	if err != nil && !m.Gap {
		w.t.Errorf("the agent tells items %d to %d, which are not durable: %v", m.First, m.Last, err)
		return
	}
	for i, item := range m.Items {
		if !bytes.Equal(kept[i], item) {
			w.t.Errorf("item %d is told otherwise than it is kept", m.First+uint64(i))
		}
		if was, ok := w.items[m.Stream][m.First+uint64(i)]; ok && !bytes.Equal(was, item) {
			w.t.Errorf("item %d was told before, and was another one", m.First+uint64(i))
		}
	}
}

// durable gives what would be held after a loss of power now.
func (w *world) durable() map[string]*control.Assigned {
	in, _ := w.disk.durableCopy().open(filepath.Join(w.dir, "agent", "held"))
	held, err := assignmentFolder{in}.load(w.host.ID)
	if err != nil {
		w.t.Errorf("what is held could not be read after a loss of power: %v", err)
	}
	return held
}

// memoryLink is a link within the process.
type memoryLink struct {
	world   *world
	handler link.Handler
	down    chan func()
	up      chan link.Packet
	done    chan struct{}
	ended   sync.WaitGroup
}

func (w *world) connect(h link.Handler) (link.Link, error) {
	l := &memoryLink{world: w, handler: h, down: make(chan func(), 10000), up: make(chan link.Packet, 10000), done: make(chan struct{})}
	w.mu.Lock()
	w.link = l
	w.mu.Unlock()
	l.ended.Go(func() {
		for {
			select {
			case <-l.done:
				return
			case f := <-l.down:
				f()
			}
		}
	})
	l.ended.Go(func() {
		for {
			select {
			case <-l.done:
				return
			case p := <-l.up:
				w.receive(l, p)
			}
		}
	})
	l.down <- h.Connected
	return l, nil
}

func (l *memoryLink) deliver(p link.Packet) { l.down <- func() { l.handler.Receive(p) } }

func (l *memoryLink) Send(p link.Packet) error {
	if err := p.Check(); err != nil {
		return err
	}
	l.up <- p
	return nil
}

func (l *memoryLink) Close() error {
	close(l.done)
	l.ended.Wait()
	return nil
}

// setCut says whether nothing comes through. What the ends know of it they find out.
func (w *world) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// reconnect breaks the connection, and makes it anew.
func (w *world) reconnect() {
	w.mu.Lock()
	l := w.link
	w.mu.Unlock()
	l.down <- func() { l.handler.Disconnected(errors.New("the cable was pulled")) }
	l.down <- l.handler.Connected
}
