package machinetest

import (
	"encoding/json"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// recorder keeps what an Observer is told.
type recorder struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change

	sent    int
	started []machine.Started
	early   bool // an event came before Started
	events  []states.Event
	notes   []machine.Note
	output  map[string]string // by stream
}

func newRecorder() *recorder {
	return &recorder{changed: make(chan struct{}), output: map[string]string{}}
}

func (r *recorder) take(add func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) observer() machine.Observer {
	return machine.Observer{
		Sent:    func() { r.take(func() { r.sent++ }) },
		Started: func(s machine.Started) { r.take(func() { r.started = append(r.started, s) }) },
		Event: func(ev states.Event) {
			r.take(func() {
				r.early = r.early || len(r.started) == 0
				r.events = append(r.events, ev)
			})
		},
		Note:   func(n machine.Note) { r.take(func() { r.notes = append(r.notes, n) }) },
		Output: func(stream string, data []byte) { r.take(func() { r.output[stream] += string(data) }) },
	}
}

// await waits until something was told.
func (r *recorder) await(s *suite, what string, has func() bool) {
	s.Helper()
	for {
		r.mu.Lock()
		done, changed := has(), r.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			s.Fatalf("%s was not told; the events are %s", what, marshal(s, r.events))
		}
	}
}

// begins waits until a part has begun.
func (r *recorder) begins(s *suite, address string) {
	s.Helper()
	r.await(s, "the begin of "+address, func() bool {
		for _, ev := range r.events {
			if ev.Type == states.EventBegin && ev.Address == address {
				return true
			}
		}
		return false
	})
}

// run gives the name of the run that was started.
func (r *recorder) run(s *suite) string {
	s.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.started) != 1 || r.started[0].Run == "" {
		s.Fatalf("it was started: %+v", r.started)
	}
	return r.started[0].Run
}

// follows wants events with all numbers after one.
func (r *recorder) follows(s *suite, after int64) {
	s.Helper()
	if len(r.events) == 0 {
		s.Error("there are no events")
	}
	for i, ev := range r.events {
		if ev.Seq != after+int64(i)+1 {
			s.Errorf("event %d (%s %s) comes %d. after %d", ev.Seq, ev.Type, ev.Address, i+1, after)
		}
	}
}

// outcomes are those of parts, by address.
func (r *recorder) outcomes() map[string]states.Outcome {
	out := map[string]states.Outcome{}
	for _, ev := range r.events {
		if ev.Type == states.EventPart {
			out[ev.Address] = ev.Outcome
		}
	}
	return out
}

// call is a call that goes on beside the test.
type call struct {
	*recorder
	ended  chan struct{}
	result *machine.Result
	err    error
}

// start makes a call beside the test.
func start(do func(o machine.Observer) (*machine.Result, error)) *call {
	c := &call{recorder: newRecorder(), ended: make(chan struct{})}
	fault.Go(func() {
		defer close(c.ended)
		c.result, c.err = do(c.observer())
	})
	return c
}

// end waits for the end of the call.
func (c *call) end(s *suite) (*machine.Result, error) {
	s.Helper()
	select {
	case <-c.ended:
	case <-s.ctx.Done():
		s.Fatal("the call has not ended")
	}
	return c.result, c.err
}

func marshal(s *suite, v any) string {
	s.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}
