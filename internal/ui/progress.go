package ui

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/states"
)

// Progress shows, on a terminal, one line that says what runs now, how many
// parts are done of how many, and for how long. It wraps the renderer that
// shows the run, and gets out of its way.
func Progress(terminal io.Writer, width int, run *states.StateRun, inner Renderer) Renderer {
	p := &progress{
		printer: printer{w: terminal}, inner: inner, width: width, started: time.Now(),
		running: map[string]time.Time{}, done: make(chan struct{}),
	}
	for _, inv := range run.Invocations {
		p.total += len(inv.Parts)
	}
	p.ticks.Go(p.tick)
	return p
}

type progress struct {
	mu sync.Mutex
	printer
	inner   Renderer
	width   int
	total   int
	ended   int
	started time.Time
	order   []string             // what runs, in the order of beginning
	running map[string]time.Time // when it began
	shown   bool
	done    chan struct{}
	ticks   fault.Group
}

// redrawInterval is how often the line is renewed; after is how long a run or a part
// takes before it is worth a line, or a word in it.
const (
	redrawInterval = 100 * time.Millisecond
	firstDelay     = 300 * time.Millisecond
)

func (p *progress) tick() {
	ticker := time.NewTicker(redrawInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case now := <-ticker.C:
			p.mu.Lock()
			p.erase()
			if now.Sub(p.started) >= firstDelay {
				p.print(p.line(now))
				p.shown = true
			}
			p.flush()
			p.mu.Unlock()
		}
	}
}

// line is the progress at a moment. The lock is held.
func (p *progress) line(now time.Time) string {
	line := fmt.Sprintf("%d of %d  %s", p.ended, p.total, now.Sub(p.started).Truncate(time.Second))
	between := "  "
	for _, address := range p.order {
		d := now.Sub(p.running[address])
		if d < firstDelay {
			continue
		}
		line += between + address
		if d >= time.Second {
			line += " " + d.Truncate(time.Second).String()
		}
		between = ", "
	}
	if runes := []rune(line); len(runes) >= p.width {
		line = string(runes[:max(0, p.width-2)]) + "…"
	}
	return line
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
			p.running[ev.Address] = ev.Time
		}
	case states.EventOrphan:
		if ev.Action == states.Remove { // a part more than are declared
			p.total++
		}
	case states.EventPart:
		p.ended++
		if _, ran := p.running[ev.Address]; ran {
			delete(p.running, ev.Address)
			p.order = slices.DeleteFunc(p.order, func(a string) bool { return a == ev.Address })
		}
	}
	p.erase()
	p.flush()
	p.inner.Event(ev)
}

// Close ends the line.
func (p *progress) Close() error {
	close(p.done)
	p.ticks.Wait() // or it draws once more behind the end
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.flush()
	return p.inner.Close()
}
