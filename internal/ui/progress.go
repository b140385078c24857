package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/states"
)

// Progress shows, on a terminal, one line that says what runs now, how many
// parts are done of how many, and for how long. It wraps the renderer that
// shows the run, and gets out of its way.
func Progress(terminal io.Writer, width int, run *states.StateRun, inner Renderer) Renderer {
	p := &progress{printer: printer{w: terminal}, inner: inner, width: width, running: map[string]time.Time{}, done: make(chan struct{})}
	for _, inv := range run.Invocations {
		p.total += len(inv.Parts)
	}
	go p.tick()
	return p
}

type progress struct {
	mu sync.Mutex
	printer
	inner   Renderer
	width   int
	total   int
	ended   int
	order   []string
	running map[string]time.Time
	shown   bool
	done    chan struct{}
}

// every is how often the line is renewed; after is how long a part runs before
// it is worth a line.
const (
	every = 100 * time.Millisecond
	after = 300 * time.Millisecond
)

func (p *progress) tick() {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case now := <-ticker.C:
			p.mu.Lock()
			p.draw(now)
			p.mu.Unlock()
		}
	}
}

// draw renews the line. The lock is held.
func (p *progress) draw(now time.Time) {
	p.erase()
	var what []string
	longest := time.Duration(0)
	for _, address := range p.order {
		if d := now.Sub(p.running[address]); d >= after {
			what = append(what, address)
			longest = max(longest, d)
		}
	}
	if len(what) == 0 {
		return
	}
	line := fmt.Sprintf("%d/%d  %s  %s", p.ended, p.total, longest.Round(time.Second), strings.Join(what, ", "))
	if runes := []rune(line); len(runes) >= p.width {
		line = string(runes[:max(0, p.width-2)]) + "…"
	}
	p.print(line)
	p.shown = true
}

func (p *progress) erase() {
	if p.shown {
		p.print("\r\x1b[K")
		p.shown = false
	}
}

// Event notes what runs, and hands the event on.
func (p *progress) Event(ev states.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev.Type {
	case states.EventBegin:
		if _, again := p.running[ev.Address]; !again {
			p.order = append(p.order, ev.Address)
		}
		p.running[ev.Address] = ev.Time
	case states.EventPart:
		p.ended++
		if _, ran := p.running[ev.Address]; ran {
			delete(p.running, ev.Address)
			for i, address := range p.order {
				if address == ev.Address {
					p.order = append(p.order[:i], p.order[i+1:]...)
					break
				}
			}
		}
	}
	p.erase()
	p.inner.Event(ev)
}

// Close ends the line.
func (p *progress) Close() error {
	close(p.done)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	return p.inner.Close()
}
