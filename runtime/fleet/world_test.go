package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

// world is a fleet behind load balancers, of which controllers die.
type world struct {
	mu     sync.Mutex
	t      *rapid.T
	want   int
	hosts  map[string]*worldHost
	dir    string
	ops    int
	killAt int // the controller dies at this operation; negative: it does not
	late   bool
	dead   bool
	left   map[string][]byte // the records as they were when it died
	stop   context.CancelFunc
	faults func(host string) fate
	log    []string
	// onWay is a message that arrives behind a controller that has died, before this operation of the
	// next one.
	onWay     func()
	arrivesAt int
}

// fate is what becomes of one operation on a host.
type fate int

const (
	well        fate = iota
	fails            // the run fails
	unreachable      // nothing begins
	lost             // it begins, and the line breaks for good; it ends well later
	lostFails        // the same, and it fails later
)

// worldRun is a run on a host.
type worldRun struct {
	effect func()
	ended  bool
	failed bool
}

type worldHost struct {
	machine.Machine // nothing else is asked
	*world
	name      string
	version   int
	broken    bool
	drained   map[string]bool // of a load balancer
	runs      map[string]*worldRun
	withdrawn map[string]bool
}

func (h *worldHost) member() *fleet.Member { return &fleet.Member{Name: h.name, Machine: h} }

var errDead = errors.New("the controller is dead")

// step is an operation: it reports whether its controller lives. After it, done is called.
func (w *world) step(what string) (alive bool, done func()) {
	if w.dead {
		return false, func() {}
	}
	w.ops++
	if w.onWay != nil && w.ops >= w.arrivesAt {
		arrive := w.onWay
		w.onWay = nil
		arrive()
	}
	w.log = append(w.log, what)
	if w.ops != w.killAt {
		return true, func() {}
	}
	if w.late {
		return true, w.die
	}
	w.die()
	return false, func() {}
}

func (w *world) die() {
	w.dead, w.left = true, w.records()
	w.log = append(w.log, "-- killed")
	w.stop()
}

func (w *world) records() map[string][]byte {
	files := map[string][]byte{}
	entries, _ := os.ReadDir(w.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(w.dir, e.Name())); err == nil {
			files[e.Name()] = data
		}
	}
	return files
}

// restore puts the records back as they were when the controller died.
func (w *world) restore() {
	entries, _ := os.ReadDir(w.dir)
	for _, e := range entries {
		os.Remove(filepath.Join(w.dir, e.Name()))
	}
	for name, data := range w.left {
		if err := os.WriteFile(filepath.Join(w.dir, name), data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (h *worldHost) Facts(context.Context, []string) (*machine.Facts, error) {
	return &machine.Facts{}, nil
}

func (h *worldHost) Plan(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	alive, done := h.step("plan " + h.name)
	defer done()
	if !alive {
		return nil, errDead
	}
	if h.faults(h.name) == unreachable {
		return nil, errors.New("no route")
	}
	r := &machine.Result{}
	if h.version != h.want || h.broken {
		r.Counts.Changed = 1
	}
	return r, nil
}

// effect is what a run does from its begin on, and in the end.
func (h *worldHost) effect(j *machine.Job) (begin, end func()) {
	if j.Origin == "" {
		version := h.want
		return func() {
				h.broken = true
				for _, lb := range h.hosts {
					if lb.drained != nil && !lb.drained[h.name] {
						h.t.Fatalf("%s is worked on, and not drained on %s", h.name, lb.name)
					}
				}
			}, func() {
				h.broken, h.version = false, version
			}
	}
	state, rest, _ := strings.Cut(j.Origin, " ")
	batch, failed, _ := strings.Cut(rest, "/")
	return func() {}, func() {
		for name := range strings.FieldsSeq(batch) {
			if state == "state.drain" {
				h.drained[name] = true
				continue
			}
			if slices.Contains(strings.Fields(failed), name) {
				continue
			}
			if h.hosts[name].broken {
				h.t.Fatalf("%s is broken, and undrained on %s", name, h.name)
			}
			delete(h.drained, name)
		}
	}
}

func (h *worldHost) Apply(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	alive, done := h.step(fmt.Sprintf("apply %s %s %s", h.name, j.Origin, j.Execution))
	defer done()
	if !alive {
		if h.ops == h.killAt {
			h.onWay = func() { h.arrive(j) }
		}
		return nil, errDead
	}
	fate := h.faults(h.name)
	if fate == unreachable {
		return nil, errors.New("no route")
	}
	if h.withdrawn[j.Execution] {
		h.t.Fatalf("%s begins what was withdrawn", h.name)
	}
	if h.runs[j.Execution] != nil {
		h.t.Fatalf("%s is asked to begin %s twice", h.name, j.Execution)
	}
	for _, r := range h.runs {
		if !r.ended {
			e := machine.ErrorOf(errors.New("another apply runs"))
			e.Code = machine.CodeLocked
			return nil, e
		}
	}
	begin, end := h.effect(j)
	begin()
	r := &worldRun{effect: end, failed: fate == fails || fate == lostFails}
	h.runs[j.Execution] = r
	if fate == lost || fate == lostFails || h.ops == h.killAt { // it goes on by itself
		return nil, &machine.ConnectionError{Err: errors.New("cut"), Asked: true}
	}
	return h.finish(r), nil
}

// arrive begins what a controller asked for that is dead, unless that is known or another run goes on.
func (h *worldHost) arrive(j *machine.Job) {
	if h.withdrawn[j.Execution] || h.runs[j.Execution] != nil {
		return
	}
	for _, r := range h.runs {
		if !r.ended {
			return
		}
	}
	h.log = append(h.log, "arrives late: "+h.name+" "+j.Execution)
	begin, end := h.effect(j)
	begin()
	h.runs[j.Execution] = &worldRun{effect: end}
}

func (h *worldHost) finish(r *worldRun) *machine.Result {
	if !r.ended {
		r.ended = true
		if !r.failed {
			r.effect()
		}
	}
	return &machine.Result{Run: "r", Failed: r.failed}
}

func (h *worldHost) Follow(ctx context.Context, run machine.RunRef, o machine.Observer) (*machine.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	alive, done := h.step(fmt.Sprintf("follow %s %s", h.name, run.ID))
	defer done()
	if !alive {
		return nil, errDead
	}
	if h.faults(h.name) == unreachable {
		h.onWay = nil // which does not get there either
		return nil, errors.New("no route")
	}
	r := h.runs[run.ID]
	if r == nil {
		e := machine.ErrorOf(errors.New("there is no such run"))
		e.Code = machine.CodeNotFound
		return nil, e
	}
	return h.finish(r), nil
}

func (h *worldHost) Cancel(ctx context.Context, run machine.RunRef) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run.ID != "" {
		h.withdrawn[run.ID] = true
	}
	return nil
}
