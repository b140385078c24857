package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// simulated is a machine whose runner does what a test wants of it. Its run goes
// on whatever becomes of connections: events happen when they are first asked for.
type simulated struct {
	name  string
	run   string
	total int // events of a run

	// cut ends a connection after so many frames of it; nil or negative: none. It is
	// asked with the number of the connection, from 0.
	cut func(connection int) int
	// refuse is an error of Dial.
	refuse func(attempt int) error
	// receive takes the bundle of a plan or an apply; nil: it is discarded.
	receive func(c *wire.Conn) error
	// serve, when set, answers instead, after Hello and request.
	serve func(ctx context.Context, connection int, c *wire.Conn, r *wire.Request) error
	// mute says that it does not say meanwhile that it is there.
	mute bool
	// result is how the run ends.
	result machine.Result

	mu          sync.Mutex
	attempts    int
	connections int
	begun       int // runs
	cancelled   bool
	requests    []wire.Request
}

// member is it in a fleet.
func (s *simulated) member() *fleet.Member {
	return &fleet.Member{Name: s.name, Machine: &remote.Machine{Name: s.name, Dial: s.dial, Registry: states.NewRegistry()}}
}

// errCut is what a cut connection gives.
var errCut = errors.New("cut")

func (s *simulated) dial(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	s.mu.Lock()
	attempt := s.attempts
	s.attempts++
	s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(attempt); err != nil {
			return nil, nil, err
		}
	}
	s.mu.Lock()
	connection := s.connections
	s.connections++
	s.mu.Unlock()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	shut := func(err error) { inR.CloseWithError(err); inW.CloseWithError(err); outW.CloseWithError(err) }
	left := -1
	if s.cut != nil {
		left = s.cut(connection)
	}
	there := wire.New(inR, &cutter{w: outW, left: left, cut: func() { shut(io.EOF) }}, nil)
	go func() {
		if err := s.answer(ctx, connection, there); err != nil {
			shut(io.EOF)
		}
		outW.Close()
	}()
	here := wire.New(outR, inW, func() error { outR.Close(); return inW.Close() })
	var hello wire.Hello
	if err := here.Expect(wire.KindHello, &hello); err != nil {
		return nil, nil, &dialError{text: err.Error(), temporary: true}
	}
	return here, &hello, nil
}

// discard takes a bundle, and lacks nothing of it.
func discard(c *wire.Conn) error {
	for {
		f, err := c.Receive()
		if err != nil {
			return err
		}
		if f.Kind == wire.KindSent {
			return c.Send(wire.KindNeed, []byte{})
		}
	}
}

// cutter cuts a connection after so many frames.
type cutter struct {
	w    io.Writer
	left int
	cut  func()
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.left == 0 {
		c.cut()
		return 0, errCut
	}
	c.left--
	return c.w.Write(p)
}

type dialError struct {
	text                string
	temporary, answered bool
}

func (e *dialError) Error() string   { return e.text }
func (e *dialError) Temporary() bool { return e.temporary }
func (e *dialError) Answered() bool  { return e.answered }

func (s *simulated) answer(ctx context.Context, connection int, c *wire.Conn) error {
	if err := c.Send(wire.KindHello, wire.Hello{Protocol: wire.Protocol, OS: "linux", UID: 1000}); err != nil {
		return err
	}
	var r wire.Request
	if err := c.Expect(wire.KindRequest, &r); err != nil {
		return err
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if !s.mute {
		defer c.Beat(wire.BeatEvery)()
	}
	if r.Op == wire.OpApply || r.Op == wire.OpPlan {
		receive := s.receive
		if receive == nil {
			receive = discard
		}
		if err := receive(c); err != nil {
			return err
		}
	}
	go func() {
		if f, err := c.Receive(); err == nil && f.Kind == wire.KindCancel {
			s.mu.Lock()
			s.cancelled = true
			s.mu.Unlock()
		}
	}()
	if s.serve != nil {
		return s.serve(ctx, connection, c, &r)
	}
	return s.plain(c, &r)
}

func (s *simulated) wasCancelled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled
}

// plain does what is asked.
func (s *simulated) plain(c *wire.Conn, r *wire.Request) error {
	s.mu.Lock()
	known := s.begun > 0
	s.mu.Unlock()
	switch r.Op {
	case wire.OpApply:
		s.mu.Lock()
		s.begun++
		s.mu.Unlock()
		if err := c.Send(wire.KindStarted, wire.Started{Run: s.run}); err != nil {
			return err
		}
	case wire.OpAttach:
		if !known {
			return c.Send(wire.KindEnd, wire.End{Failure: &states.Failure{Code: machine.CodeNotFound, Message: "there is no such run"}})
		}
	}
	for seq := r.After + 1; seq <= int64(s.total); seq++ {
		if err := c.Send(wire.KindEvent, states.Event{Seq: seq, Type: states.EventPart, Address: fmt.Sprint("part", seq)}); err != nil {
			return err
		}
	}
	switch r.Op {
	case wire.OpStatus, wire.OpForget, wire.OpClean, wire.OpLogs:
		if err := c.Write(wire.KindData, []byte("null")); err != nil {
			return err
		}
	case wire.OpHold:
		if err := c.Send(wire.KindData, machine.HoldResult{Hold: &journal.Hold{}}); err != nil {
			return err
		}
	}
	result := s.result
	result.Run = s.run
	return c.Send(wire.KindEnd, wire.End{Result: &result})
}

// seen is what a listener heard.
type seen struct {
	mu     sync.Mutex
	t      testing.TB
	seqs   map[string][]int64
	states map[string][]fleet.State
	notes  map[string][]string
	output map[string]string
	ended  []string
	// hook is called with each event.
	hook func(machine string, ev states.Event)
}

func newSeen(t testing.TB) *seen {
	return &seen{
		t: t, seqs: map[string][]int64{}, states: map[string][]fleet.State{}, notes: map[string][]string{},
		output: map[string]string{},
	}
}

// alone tells that nobody else is told anything at the same time.
func (s *seen) alone() func() {
	if !s.mu.TryLock() {
		s.t.Error("the listener is told by two at once")
		s.mu.Lock()
	}
	return s.mu.Unlock
}

func (s *seen) State(m string, st fleet.State) {
	defer s.alone()()
	s.states[m] = append(s.states[m], st)
}

func (s *seen) Event(m string, ev states.Event) {
	defer s.alone()()
	if ev.Host != m {
		s.t.Errorf("an event of %s is said to be of %q", m, ev.Host)
	}
	s.seqs[m] = append(s.seqs[m], ev.Seq)
	if s.hook != nil {
		s.hook(m, ev)
	}
}

func (s *seen) Note(m string, n machine.Note) {
	defer s.alone()()
	s.notes[m] = append(s.notes[m], n.Text)
}

func (s *seen) Output(m, stream string, data []byte) {
	defer s.alone()()
	s.output[m] += stream + ":" + string(data) + ";"
}

func (s *seen) Ended(m string, o fleet.Outcome) {
	defer s.alone()()
	s.ended = append(s.ended, m)
}

// upTo is what is seen of a whole run.
func upTo(n int) []int64 {
	var seqs []int64
	for i := range n {
		seqs = append(seqs, int64(i+1))
	}
	return seqs
}

// execution is what a run is known by before it has told its name.
const execution = "20261121-220045-3fa9c1"

// job is one without parts.
func job() *machine.Job {
	return &machine.Job{Execution: execution, Run: &states.StateRun{Format: states.Format}}
}

// preparing makes a job for each, of the machine alone.
func preparing(f func(ctx context.Context, m *fleet.Member) (*machine.Job, error)) fleet.Prepare {
	return func(ctx context.Context, m *fleet.Member, _ *machine.Facts) (*machine.Job, error) { return f(ctx, m) }
}

// same gives all the same job.
func same(j *machine.Job) fleet.Prepare {
	return preparing(func(context.Context, *fleet.Member) (*machine.Job, error) { return j, nil })
}

// ask is a task that asks the same of all.
func ask(op wire.Op) fleet.Task {
	task := fleet.Task{Name: string(op)}
	switch op {
	case wire.OpPlan:
		return fleet.Plan(nil, same(job()))
	case wire.OpApply:
		return fleet.Apply(nil, same(job()))
	case wire.OpPing, wire.OpStatus:
		task.Repeatable = true
	}
	task.Ask = func(ctx context.Context, c *fleet.Call) (r *machine.Result, err error) {
		switch op {
		case wire.OpPing:
			_, err = c.Ping(ctx)
		case wire.OpStatus:
			_, err = c.Status(ctx, "")
		case wire.OpHold:
			_, err = c.Hold(ctx, machine.HoldRequest{})
		case wire.OpExec:
			var status int
			if status, err = c.Exec(ctx, machine.Exec{}, c.Observer); err == nil && status != 0 {
				err = machine.ErrorOf(fmt.Errorf("status %d", status))
			}
		case wire.OpForget:
			_, err = c.Forget(ctx, machine.ForgetRequest{}, c.Observer)
		case wire.OpClean:
			_, err = c.Clean(ctx, machine.CleanRequest{})
		case wire.OpLogs:
			_, err = c.Logs(ctx, machine.LogRequest{Run: c.Run}, c.Observer)
		case wire.OpAttach:
			r, err = c.Follow(ctx, c.Run, c.Observer)
		default:
			panic(op)
		}
		return r, err
	}
	if op == wire.OpLogs || op == wire.OpAttach {
		task.Continue = task.Ask
	}
	return task
}

// apply is a task that applies.
func apply() fleet.Task { return ask(wire.OpApply) }

// machines makes so many.
func machines(n int, change func(i int, s *simulated)) ([]*simulated, []*fleet.Member) {
	var all []*simulated
	var list []*fleet.Member
	for i := range n {
		s := &simulated{name: fmt.Sprint("m", i), run: fmt.Sprint("r", i), total: 3}
		if change != nil {
			change(i, s)
		}
		all, list = append(all, s), append(list, s.member())
	}
	return all, list
}

// statuses gives the outcomes in a line.
func statuses(outcomes []fleet.Outcome) []fleet.Status {
	var list []fleet.Status
	for _, o := range outcomes {
		list = append(list, o.Status)
	}
	return list
}

func mustRun(t testing.TB, list []*fleet.Member, task fleet.Task, o fleet.Options) []fleet.Outcome {
	t.Helper()
	outcomes, err := fleet.Run(context.Background(), list, task, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Machine != list[i].Name {
			t.Fatalf("outcome %d is of %q", i, o.Machine)
		}
	}
	return outcomes
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

const short = 10 * time.Millisecond
