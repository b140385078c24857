package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// fakeMachine is a machine that has a version of each site. What it does not do here is not asked of it.
type fakeMachine struct {
	machine.Machine
	world *world

	mu        sync.Mutex
	applied   map[string]string
	facts     map[string]any
	applies   int
	runs      int
	fail      error           // of applies
	bad       string          // a version that fails
	pending   *machine.Status // of a run that was interrupted
	resumed   []string
	began     func(site string)
	hang      bool           // applies end with their context
	execution string         // of the last apply
	running   string         // the version of the last apply
	events    []states.Event // that an apply begins with
	log       []states.Event // of the newest run
}

func (m *fakeMachine) version(site string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.applied[site]
}

func (m *fakeMachine) drift(site string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applied[site] = "something else"
}

// act demands that what is acted on is durable: after a loss of power now the agent would hold it, or what comes after it.
func (m *fakeMachine) act(ctx context.Context, j *machine.Job) error {
	if m.world.disk.isDead() { // the process is
		<-ctx.Done()
		return ctx.Err()
	}
	held := m.world.durable()[j.Run.Site]
	if held == nil || held.Revision < j.Run.Revision {
		m.world.t.Errorf("%s of %s is acted on, and the disk has %v", j.Run.Revision, j.Run.Site, held)
	}
	return nil
}

func (m *fakeMachine) Plan(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	if err := m.act(ctx, j); err != nil {
		return nil, err
	}
	if m.version(j.Run.Site) != j.Run.Revision {
		o.TellEvent(states.Event{Type: states.EventPart, Action: states.Update, Address: "file.page"})
	}
	return &machine.Result{}, nil
}

func (m *fakeMachine) Apply(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	if err := m.act(ctx, j); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.runs++
	m.execution, m.running = j.Execution, j.Run.Revision
	run, fail, began := fmt.Sprintf("%08d", m.runs), m.fail, m.began
	m.mu.Unlock()
	o.TellStarted(machine.Started{Run: run})
	for _, ev := range m.events {
		o.TellEvent(ev)
	}
	if began != nil {
		began(j.Run.Site)
	}
	if m.hang || m.world.disk.isDead() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applies++
	if m.bad != "" && j.Run.Revision == m.bad {
		fail = errors.New("it does not start")
	}
	if fail != nil {
		return nil, fail
	}
	if m.applied[j.Run.Site] = j.Run.Revision; len(j.Run.Revision) == 0 {
		delete(m.applied, j.Run.Site)
	}
	o.TellEvent(states.Event{Type: states.EventPart, Action: states.Update, Address: "file.page"})
	return &machine.Result{Run: run, Report: &states.Report{Host: "web", Run: run, Ready: true}}, nil
}

func (m *fakeMachine) Status(context.Context, string) (*machine.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending != nil {
		return m.pending, nil
	}
	return machine.NewStatus(), nil
}

func (m *fakeMachine) Logs(_ context.Context, _ machine.LogRequest, o machine.Observer) ([]machine.Output, error) {
	for _, ev := range m.log {
		o.TellEvent(ev)
	}
	return nil, nil
}

func (m *fakeMachine) Resume(_ context.Context, r machine.Resumption, o machine.Observer) (*machine.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resumed, m.pending = append(m.resumed, r.Run.ID), nil
	o.TellStarted(machine.Started{Run: r.Run.ID})
	return &machine.Result{Run: r.Run.ID, Report: &states.Report{Host: "web", Ready: true}}, nil
}

func (m *fakeMachine) Facts(context.Context, []string) (*machine.Facts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &machine.Facts{Values: maps.Clone(m.facts)}, nil
}
