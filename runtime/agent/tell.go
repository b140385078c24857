package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/states"
)

// teller gathers what is to be told, and adds it to the stream: what comes within a moment shares one wait for the disk.
type teller struct {
	agent *Agent
	wake  chan struct{}

	mu      sync.Mutex
	pending [][]byte
	bytes   int
	lost    int // that found no place
}

const (
	gather     = 100 * time.Millisecond
	maxPending = 16 << 20 // while the disk takes nothing
	retryWrite = 10 * time.Second
)

// tell adds an item.
func (t *teller) tell(i control.Item) {
	i.At = t.agent.Clock().UTC()
	data, err := json.Marshal(i)
	if err == nil && len(data) > maxItem {
		err = fmt.Errorf("it has %d bytes", len(data))
	}
	if err != nil {
		t.agent.Log(fmt.Errorf("something cannot be told to the server: %w", err))
		return
	}
	t.mu.Lock()
	t.pending, t.bytes = append(t.pending, data), t.bytes+len(data)
	for t.bytes > maxPending && len(t.pending) > 1 {
		t.bytes -= len(t.pending[0])
		t.pending = t.pending[1:]
		t.lost++
	}
	t.mu.Unlock()
	t.signal()
}

// run writes until the context ends, and then what is left.
func (t *teller) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-t.wake:
			wait(ctx, gather)
			if !t.flush() {
				wait(ctx, retryWrite)
				t.signal()
			}
		}
	}
	t.flush()
}

// signal says that there is something to write.
func (t *teller) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// wait waits, and no longer than a context.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// flush adds what is pending to the stream.
func (t *teller) flush() bool {
	t.mu.Lock()
	items, lost := t.pending, t.lost
	t.pending, t.bytes, t.lost = nil, 0, 0
	t.mu.Unlock()
	if lost > 0 {
		t.agent.Log(fmt.Errorf("%d things could not be written down for the server, and are lost", lost))
	}
	if len(items) == 0 {
		return true
	}
	a := t.agent
	a.mu.Lock()
	err := a.stream.append(items)
	a.mu.Unlock()
	if err != nil {
		a.Log(fmt.Errorf("what is to be told to the server cannot be written: %w", err))
		t.mu.Lock()
		t.pending = append(items, t.pending...)
		for _, item := range items {
			t.bytes += len(item)
		}
		t.mu.Unlock()
		a.step(func() control.Output { return a.core.Untold(a.now(), err) })
		return false
	}
	a.step(func() control.Output {
		if out := a.core.Untold(a.now(), nil); len(out.Send) > 0 {
			return out // the answer has the rest of the stream told
		}
		return a.core.Append(a.now())
	})
	return true
}

// event tells an event of a run. One that is no JSON cannot be told.
func (t *teller) event(site, run string, ev states.Event) {
	if data, err := json.Marshal(ev); err == nil {
		t.tell(control.Item{Event: &control.Event{Site: site, Run: run, Event: data}})
	}
}
