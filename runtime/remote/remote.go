// Package remote is a machine behind a connection, as the machine package has it. What
// comes over the connection is a stranger's word: it is bounded, and checked before it is
// handed on.
//
// One connection serves one request, and the facts that were asked for before it.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Dial starts a runner, and gives the connection behind its Hello.
type Dial func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error)

// Machine is a machine behind connections that Dial makes. It does one thing at a time;
// Cancel may be called meanwhile.
type Machine struct {
	Name   string // for errors; empty: it has none
	Dial   Dial
	Caller machine.Caller
	// Site is whose content it is asked for first, as journal.Identity names it: that need
	// not be sent. Empty: all is sent.
	Site string
	// Registry holds the program's modules, for jobs that bring none along.
	Registry *states.Registry

	mu    sync.Mutex
	ready *line // that has answered with facts, and takes a request; nil: none
	// cancel ends what the machine is asked at present, or the making of the connection for
	// it; nil: nothing is asked.
	cancel       func()
	wasCancelled bool // since it was asked
	// budget is what the machine may say of the run that it was asked for last, over
	// however many connections.
	budget
	execution string // that was asked for last
}

var (
	_ machine.Machine   = (*Machine)(nil)
	_ machine.Inventory = (*Machine)(nil)
	_ machine.Importer  = (*Machine)(nil)
	_ io.Closer         = (*Machine)(nil)
)

// Close ends the connection that is kept for the next request, if there is one.
func (m *Machine) Close() error {
	if l := m.takeReady(); l != nil {
		l.close()
	}
	return nil
}

func (m *Machine) takeReady() *line {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.ready
	m.ready = nil
	return l
}

// connect gives a connection that takes a request: the one that has told facts, or a new one.
// With keep, a wish to cancel is sent over it once it is there.
func (m *Machine) connect(ctx context.Context, o wire.Opening, keep bool) (*line, error) {
	if l := m.takeReady(); l != nil {
		l.keep = keep
		m.handOver(l)
		return l, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	m.setCancel(func() {
		if !keep {
			cancel(errCancelled)
		}
	})
	conn, hello, err := m.Dial(ctx, o)
	if err == nil && context.Cause(ctx) == errCancelled {
		conn.Close()
		err = errCancelled
	}
	if err != nil {
		m.setCancel(nil)
		defer cancel(nil)
		if context.Cause(ctx) == errCancelled {
			return nil, &machine.Error{HintError: diag.HintError{Code: machine.CodeInterrupted, Err: errCancelled}, Machine: m.Name}
		}
		return nil, err
	}
	// Who dials may want the context for as long as the connection is there.
	l := &line{conn: conn, hello: hello, since: time.Now(), keep: keep, end: func() { cancel(nil) }}
	m.handOver(l)
	return l, nil
}

// handOver has a connection take wishes to cancel, and the one that there was.
func (m *Machine) handOver(l *line) {
	m.mu.Lock()
	m.cancel = l.cancel
	cancelled := m.wasCancelled
	m.mu.Unlock()
	if cancelled {
		l.cancel()
	}
}

// errCancelled is why a connection was not made, or nothing was asked on it.
var errCancelled = errors.New("it was cancelled before it was begun")

// setCancel says how to end what is asked at present; nil: nothing is.
func (m *Machine) setCancel(cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancel, m.wasCancelled = cancel, false
}

// Facts asks for facts, and keeps the connection for the next request.
func (m *Machine) Facts(ctx context.Context, names []string) (*machine.Facts, error) {
	m.Close()
	l, err := m.connect(ctx, wire.Opening{Facts: names, Site: m.Site}, false)
	if err != nil {
		return nil, err
	}
	m.setCancel(nil) // nothing is asked until the next request
	f := &machine.Facts{Values: map[string]any{}, Errors: maps.Clone(l.hello.Errors)}
	if f.Errors == nil {
		f.Errors = map[string]string{}
	}
	for name, data := range l.hello.Facts {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			f.Errors[name] = err.Error()
			continue
		}
		f.Values[name] = value
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready = l
	return f, nil
}

// Ping tells who answers.
func (m *Machine) Ping(ctx context.Context) (*machine.Identity, error) {
	l, err := m.connect(ctx, wire.Opening{}, false)
	if err != nil {
		return nil, err
	}
	hello, heard := l.hello, l.since
	if _, err := m.exchangeOn(ctx, l, &exchange{request: &wire.Request{Op: wire.OpPing}}); err != nil {
		return nil, err
	}
	return &machine.Identity{Program: hello.Program, OS: hello.OS, Arch: hello.Arch, User: hello.User, UID: hello.UID, Now: hello.Now, Heard: heard}, nil
}

// Plan tells what Apply would do.
func (m *Machine) Plan(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	return m.job(ctx, wire.OpPlan, j, o)
}

// Apply carries a job out.
func (m *Machine) Apply(ctx context.Context, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	return m.job(ctx, wire.OpApply, j, o)
}

func (m *Machine) job(ctx context.Context, op wire.Op, j *machine.Job, o machine.Observer) (*machine.Result, error) {
	m.renew(max(1, partsOf(j)), j.Execution)
	end, err := m.ask(ctx, &exchange{
		request: &wire.Request{Op: op, BecomeMethod: j.Become.Method, BecomePassword: j.Become.Password},
		job:     j, observer: o, acts: true,
	})
	return resultOf(end), err
}

// Follow tells the events of a run until it ends.
func (m *Machine) Follow(ctx context.Context, run machine.RunRef, o machine.Observer) (*machine.Result, error) {
	m.keepBudget()
	end, err := m.ask(ctx, &exchange{
		request: &wire.Request{Op: wire.OpAttach, ID: run.ID, Host: run.Host, After: run.After}, observer: o, acts: true, numbered: true,
	})
	return resultOf(end), err
}

// Resume goes on with a run where it ended.
func (m *Machine) Resume(ctx context.Context, r machine.Resumption, o machine.Observer) (*machine.Result, error) {
	m.renew(unknownParts, r.Execution)
	end, err := m.ask(ctx, &exchange{
		request: &wire.Request{
			Op: wire.OpResume, ID: r.Run.ID, Host: r.Run.Host, Execution: r.Execution, Parallel: r.Parallel, LockTimeout: r.LockTimeout,
			BecomeMethod: r.Become.Method, BecomePassword: r.Become.Password,
		}, observer: o, acts: true,
	})
	return resultOf(end), err
}

// Cancel ends what the machine is asked to do now, over the same connection, or a run over
// another one.
func (m *Machine) Cancel(ctx context.Context, run machine.RunRef) error {
	if run.ID != "" {
		beside := &Machine{Name: m.Name, Dial: m.Dial, Caller: m.Caller}
		_, err := beside.ask(ctx, &exchange{request: &wire.Request{Op: wire.OpCancel, ID: run.ID, Host: run.Host}})
		return err
	}
	m.mu.Lock()
	cancel := m.cancel
	m.wasCancelled = cancel != nil
	m.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil
}

// Status tells how a run stands, or the machine.
func (m *Machine) Status(ctx context.Context, id string) (*machine.Status, error) {
	now, err := data[machine.Status](ctx, m, &wire.Request{Op: wire.OpStatus, ID: id})
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(now.Failures, func(_ string, f *machine.Failure) bool { return f == nil || f.Status == nil })
	return now, nil
}

// History lists the runs.
func (m *Machine) History(ctx context.Context) ([]machine.PastRun, error) {
	return list[machine.PastRun](ctx, m, &wire.Request{Op: wire.OpHistory})
}

// Managed lists what sites have created.
func (m *Machine) Managed(ctx context.Context) ([]machine.ManagedSite, error) {
	sites, err := list[machine.ManagedSite](ctx, m, &wire.Request{Op: wire.OpManaged})
	for i := range sites {
		sites[i].Resources = withoutNil(sites[i].Resources)
	}
	return sites, err
}

// Logs tells the events of a run, and gives what its programs have printed.
func (m *Machine) Logs(ctx context.Context, r machine.LogRequest, o machine.Observer) ([]machine.Output, error) {
	m.keepBudget()
	x := &exchange{request: &wire.Request{Op: wire.OpLogs, ID: r.Run.ID, After: r.Run.After, Follow: r.Follow}, observer: o}
	if _, err := m.ask(ctx, x); err != nil {
		return nil, err
	}
	if x.data == nil { // nothing was printed
		return nil, nil
	}
	return decode[[]machine.Output](m, x)
}

// Forget lets go of what a site has created.
func (m *Machine) Forget(ctx context.Context, f machine.ForgetRequest, o machine.Observer) ([]states.Event, error) {
	m.budget = budget{parts: unknownParts}
	x := &exchange{request: &wire.Request{Op: wire.OpForget, Names: f.Addresses, Site: f.Site, LockTimeout: f.LockTimeout}, observer: o}
	if _, err := m.ask(ctx, x); err != nil {
		return nil, err
	}
	return decode[[]states.Event](m, x)
}

// Clean removes records of runs. With an error comes what was removed before it, if that is known.
func (m *Machine) Clean(ctx context.Context, c machine.CleanRequest) (*machine.CleanResult, error) {
	m.budget = budget{parts: unknownParts}
	x := &exchange{request: &wire.Request{Op: wire.OpClean, ID: c.ID, Clean: &c}}
	_, refused := m.ask(ctx, x)
	if refused != nil && x.data == nil {
		return nil, refused
	}
	done, err := decode[machine.CleanResult](m, x)
	if err != nil {
		return nil, cmp.Or(refused, err)
	}
	done.Kept = withoutNil(done.Kept)
	return &done, refused
}

// Exec runs a program.
func (m *Machine) Exec(ctx context.Context, e machine.Exec, o machine.Observer) (int, error) {
	m.budget = budget{parts: unknownParts}
	end, err := m.ask(ctx, &exchange{request: &wire.Request{Op: wire.OpExec, Exec: &e}, observer: o})
	if end == nil {
		return 0, err
	}
	return end.ExitCode, err
}

// Hold keeps applies from starting.
func (m *Machine) Hold(ctx context.Context, h machine.HoldRequest) (*machine.HoldResult, error) {
	held, err := data[machine.HoldResult](ctx, m, &wire.Request{Op: wire.OpHold, Hold: &h})
	if err == nil && held.Hold == nil {
		return nil, m.answerError("tells of no hold", nil)
	}
	return held, err
}

// Unhold lets applies start again.
func (m *Machine) Unhold(ctx context.Context) (*journal.Hold, error) {
	was, err := data[*journal.Hold](ctx, m, &wire.Request{Op: wire.OpRelease})
	if err != nil {
		return nil, err
	}
	return *was, nil
}

// renew lets the machine say what so many parts have to tell. What is asked for once more,
// as an execution is whose connection broke, adds to what was said before.
func (m *Machine) renew(parts int, execution string) {
	if execution != "" && execution == m.execution {
		m.parts = parts
		return
	}
	m.budget, m.execution = budget{parts: parts}, execution
}

// keepBudget prepares for what a run that began at another time has to tell, unless that is
// the run that the budget is of already.
func (m *Machine) keepBudget() {
	if m.parts == 0 {
		m.budget = budget{parts: unknownParts}
	}
}

// data asks for a value.
func data[T any](ctx context.Context, m *Machine, q *wire.Request) (*T, error) {
	m.budget = budget{parts: unknownParts}
	x := &exchange{request: q}
	if _, err := m.ask(ctx, x); err != nil {
		return nil, err
	}
	v, err := decode[T](m, x)
	return &v, err
}

// answerError says what is wrong with an answer.
func (m *Machine) answerError(what string, cause error) error {
	return &machine.Error{Machine: m.Name, HintError: diag.HintError{Message: fmt.Sprintf("the answer of %s %s", cmp.Or(m.Name, "the machine"), what), Err: cause}}
}

// decode reads the value that was asked for.
func decode[T any](m *Machine, x *exchange) (v T, err error) {
	if err = x.decode(&v); err != nil {
		err = m.answerError("cannot be read: "+err.Error(), err)
	}
	return v, err
}

func list[T any](ctx context.Context, m *Machine, q *wire.Request) ([]T, error) {
	found, err := data[[]T](ctx, m, q)
	if err != nil {
		return nil, err
	}
	return *found, nil
}

// withoutNil leaves out what no runner of ours says.
func withoutNil[T any](list []*T) []*T {
	out := list[:0]
	for _, v := range list {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

func resultOf(end *wire.End) *machine.Result {
	if end == nil {
		return nil
	}
	return end.Result
}

// send sends a job.
func (m *Machine) send(l *line, j *machine.Job) error {
	registry := j.Registry
	if registry == nil {
		registry = m.Registry
	}
	return bundle.Of(j).Send(l.conn, l.hello.Have, registry)
}
