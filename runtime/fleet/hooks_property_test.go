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
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
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

// hooksOf says how to run the hooks of a world.
func (w *world) hooksOf(failed map[string]bool) *fleet.Hooks {
	members := map[string]*fleet.Member{}
	for name, h := range w.hosts {
		members[name] = h.member()
	}
	return &fleet.Hooks{
		Members: members, Failed: failed, Plan: fleet.Plan(nil, same(job())),
		Task: func(h fleet.HookRun) fleet.Task {
			return fleet.Apply(nil, preparing(func(_ context.Context, m *fleet.Member) (*machine.Job, error) {
				return &machine.Job{
					Execution: h.Execution, Origin: fmt.Sprintf("%s %s/%s", h.State, strings.Join(h.Batch, " "), strings.Join(h.Failed, " ")),
					Run: &states.StateRun{Format: states.Format, Host: m.Name},
				}, nil
			}))
		},
	}
}

// apply is one controller: it does what is due, and then the rollout.
func (w *world) apply(names []string, r *site.Rollout) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w.stop, w.dead, w.ops = stop, false, 0
	w.arrivesAt = rapid.IntRange(1, 12).Draw(w.t, "arrives at")
	w.log = append(w.log, fmt.Sprintf("== apply %d on %v, batches %v, %v may fail", w.want, names, r.Batch, r.MaxFailures))
	defer func() {
		if w.dead {
			w.restore()
		}
	}()
	executions := &fleet.Executions{Dir: w.dir}
	all := slices.Collect(func(yield func(string) bool) {
		for name := range w.hosts {
			if !yield(name) {
				return
			}
		}
	})
	options := func(x *fleet.Execution) fleet.Options {
		failed, err := executions.FailedHosts(all, func(*fleet.Record) bool { return true })
		if err != nil {
			w.t.Fatal(err)
		}
		return fleet.Options{Forks: 1, Rollout: r, Patience: fleet.NotAgain, Execution: x, Hooks: w.hooksOf(failed)}
	}
	due, err := executions.Due()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range due {
		x, err := executions.Open(one.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := fleet.Settle(ctx, x, options(x)); err != nil {
			w.log = append(w.log, "settle: "+err.Error())
			return
		}
	}
	record := fleet.Record{Command: "apply", Site: "shop"}
	var members []*fleet.Member
	for _, name := range names {
		record.Hosts = append(record.Hosts, fleet.RecordHost{Name: name})
		members = append(members, w.hosts[name].member())
	}
	x, err := executions.New(record)
	if err != nil {
		w.t.Fatal(err)
	}
	task := fleet.Apply(nil, preparing(func(_ context.Context, m *fleet.Member) (*machine.Job, error) {
		return &machine.Job{Execution: x.ID(), Run: &states.StateRun{Format: states.Format, Host: m.Name}}, nil
	}))
	if _, err := fleet.Run(ctx, members, task, options(x)); err != nil {
		w.t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// Whatever fails, and wherever controllers die: a machine is only worked on while it is drained, a
// broken one is never undrained, and one that is well is not left drained once an apply went well.
func TestHooksProperty(t *testing.T) {
	dir := t.TempDir()
	turn := 0
	rapid.Check(t, func(t *rapid.T) {
		turn++
		w := &world{t: t, hosts: map[string]*worldHost{}, dir: filepath.Join(dir, fmt.Sprint(turn))}
		defer os.RemoveAll(w.dir)
		defer func() {
			if t.Failed() {
				t.Log(strings.Join(w.log, "\n"))
			}
		}()
		var webs, lbs []string
		for i := range rapid.IntRange(1, 4).Draw(t, "webs") {
			webs = append(webs, fmt.Sprint("web", i))
		}
		for i := range rapid.IntRange(1, 2).Draw(t, "lbs") {
			lbs = append(lbs, fmt.Sprint("lb", i))
		}
		for _, name := range slices.Concat(webs, lbs) {
			h := &worldHost{world: w, name: name, runs: map[string]*worldRun{}, withdrawn: map[string]bool{}}
			if slices.Contains(lbs, name) {
				h.drained = map[string]bool{}
			}
			w.hosts[name] = h
		}
		rollout := func() *site.Rollout {
			return &site.Rollout{
				Batch:       []site.Amount{{N: rapid.IntRange(1, 3).Draw(t, "batch")}},
				MaxFailures: &site.Amount{N: rapid.IntRange(0, 2).Draw(t, "max failures")},
				BeforeEach:  []site.Hook{{Hosts: lbs, State: "state.drain"}}, AfterEach: []site.Hook{{Hosts: lbs, State: "state.undrain"}},
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "applies") {
			w.want += rapid.IntRange(0, 1).Draw(t, "version")
			names := webs
			if rapid.Bool().Draw(t, "limited") {
				names = webs[rapid.IntRange(0, len(webs)-1).Draw(t, "from"):]
			}
			w.killAt, w.late = rapid.IntRange(-20, 30).Draw(t, "killed at"), rapid.Bool().Draw(t, "after it")
			fates := rapid.SliceOfN(rapid.SampledFrom([]fate{well, well, well, well, well, fails, unreachable, lost, lostFails}), 60, 60).Draw(t, "fates")
			next := 0
			w.faults = func(string) fate {
				next++
				return fates[next%len(fates)]
			}
			w.apply(names, rollout())
		}
		// What goes on by itself comes to its end; of hooks the next apply waits for that.
		for _, name := range webs {
			h := w.hosts[name]
			for _, r := range h.runs {
				h.finish(r)
			}
		}
		w.killAt, w.faults = -1, func(string) fate { return well }
		w.apply(webs, rollout())
		if w.onWay != nil {
			w.onWay()
		}
		for _, name := range webs {
			if h := w.hosts[name]; h.broken || h.version != w.want {
				t.Errorf("%s is at version %d of %d, broken: %t", name, h.version, w.want, h.broken)
			}
		}
		for _, name := range lbs {
			if d := w.hosts[name].drained; len(d) > 0 {
				t.Errorf("%s: still drained: %v", name, d)
			}
		}
		if due, err := (&fleet.Executions{Dir: w.dir}).Due(); err != nil || len(due) > 0 {
			t.Errorf("due in the end: %v, %v", due, err)
		}
	})
}
