package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// operation does what a request asks for, and adds to how it ended.
type operation func(ctx context.Context, q *wire.Request, end *wire.End) error

func (s *session) operations() map[wire.Op]operation {
	return map[wire.Op]operation{
		wire.OpPlan: s.servePlan, wire.OpApply: s.serveApply, wire.OpResume: s.serveResume, wire.OpAttach: s.serveFollow,
		wire.OpCancel: func(ctx context.Context, q *wire.Request, _ *wire.End) error {
			if q.ID == "" {
				return errors.New("no run is named")
			}
			return s.Cancel(ctx, machine.RunRef{ID: q.ID, Host: q.Host})
		},
		wire.OpPing: func(context.Context, *wire.Request, *wire.End) error { return nil },
		wire.OpExec: s.serveExec, wire.OpLogs: s.serveLogs, wire.OpImport: s.serveImport,
		wire.OpStatus: func(ctx context.Context, q *wire.Request, _ *wire.End) error {
			return give[*machine.Status](s)(s.Status(ctx, q.ID))
		},
		wire.OpManaged: func(ctx context.Context, _ *wire.Request, _ *wire.End) error {
			return give[[]machine.ManagedSite](s)(s.Managed(ctx))
		},
		wire.OpHistory: func(ctx context.Context, _ *wire.Request, _ *wire.End) error {
			return give[[]machine.PastRun](s)(s.History(ctx))
		},
		wire.OpClean: s.serveClean,
		wire.OpHold: func(_ context.Context, q *wire.Request, _ *wire.End) error {
			if q.Hold == nil {
				return errors.New("a hold needs a reason")
			}
			return give[*machine.HoldResult](s)(s.hold(*q.Hold, s.caller))
		},
		wire.OpRelease: func(ctx context.Context, _ *wire.Request, _ *wire.End) error {
			return give[*journal.Hold](s)(s.Unhold(ctx))
		},
		wire.OpMember: func(_ context.Context, q *wire.Request, _ *wire.End) error {
			if q.Member == nil {
				return errors.New("which cluster is meant is not said")
			}
			return give[*journal.Membership](s)(s.member(*q.Member, s.caller))
		},
		wire.OpRetry: func(ctx context.Context, q *wire.Request, _ *wire.End) error {
			return give[[]reconcile.State](s)(s.Retry(ctx, q.Site))
		},
		wire.OpForget: func(ctx context.Context, q *wire.Request, _ *wire.End) error {
			return give[[]states.Event](s)(s.forget(ctx, &forgetRequest{machine.ForgetRequest{Addresses: q.Names, Site: q.Site, LockTimeout: q.LockTimeout}}))
		},
	}
}

// give gives what sends an answer, or hands its error on.
func give[T any](s *session) func(answer T, err error) error {
	return func(answer T, err error) error {
		if err != nil {
			return err
		}
		return s.data(answer)
	}
}

// servePlan plans what comes in a bundle.
func (s *session) servePlan(ctx context.Context, q *wire.Request, end *wire.End) error {
	receive := s.receive
	if q.Sealed != nil {
		receive = func(q *wire.Request) (*machine.Job, error) { return s.unseal(ctx, q) }
	}
	j, err := receive(q)
	if err != nil {
		return err
	}
	s.listen()
	j.Observe = true
	end.Result, err = s.plan(ctx, j)
	return err
}

// serveApply applies what comes in a bundle. From Started on it goes on by itself.
func (s *session) serveApply(ctx context.Context, q *wire.Request, end *wire.End) error {
	s.detaches()
	j, err := s.receive(q)
	if err != nil {
		return err
	}
	s.listen()
	end.Result, err = s.apply(ctx, j)
	if end.Result == nil {
		err = s.notBegun(ctx, err, j.Execution, j.Run.Host)
	}
	if begun, ok := errors.AsType[*journal.BegunError](err); ok {
		return s.followBegun(ctx, begun, end)
	}
	if end.Result == nil { // it was not begun
		err = journal.Join(err, s.forgetBundle(j.Execution))
	}
	return err
}

// detaches makes what is told to have started go on by itself from there on.
func (s *session) detaches() {
	detached := func() {}
	if s.Detach != nil {
		detached = s.Detach()
	}
	s.observer.Started = func(what machine.Started) {
		detached()
		s.mu.Lock()
		s.started = true
		s.mu.Unlock()
		s.out.letGo()
		s.sayStarted(what)
	}
}

// sayStarted says that a run has begun, or goes on.
func (s *session) sayStarted(what machine.Started) {
	_ = s.say(wire.KindStarted, wire.Started{Run: what.Run, After: what.After}) // whose error stays in the queue
}

// serveResume goes on with a run where it ended.
func (s *session) serveResume(ctx context.Context, q *wire.Request, end *wire.End) (err error) {
	s.detaches()
	how := machine.Resumption{
		Run: machine.RunRef{ID: q.ID, Host: q.Host}, Execution: q.Execution, Parallel: q.Parallel, LockTimeout: q.LockTimeout, Become: s.become,
	}
	end.Result, err = s.resume(ctx, how)
	if end.Result == nil && err != nil {
		err = s.notResumed(ctx, err, how)
	}
	if begun, ok := errors.AsType[*journal.BegunError](err); ok {
		return s.followBegun(ctx, begun, end)
	}
	return err
}

// serveFollow tells the events of a run until it ends.
func (s *session) serveFollow(ctx context.Context, q *wire.Request, end *wire.End) (err error) {
	w := newWish()
	ctx = s.passes(ctx, func() { w.make(s.call) })
	s.observer.Started = s.sayStarted
	end.Result, err = s.follow(ctx, machine.RunRef{ID: q.ID, Host: q.Host, After: q.After}, w)
	return err
}

// passes has a wish to cancel handed on from here on, also one that was made before. It
// gives the context of what is done now, which such a wish does not end.
func (s *session) passes(ctx context.Context, pass func()) context.Context {
	s.mu.Lock()
	s.pass = pass
	was := context.Cause(ctx) == errCancelled
	if was {
		ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	if was {
		pass()
	}
	return ctx
}

// followBegun tells of a run that was begun before, for the controller that asks for it once
// more: it has not heard of that.
func (s *session) followBegun(ctx context.Context, was *journal.BegunError, end *wire.End) error {
	if err := s.serveFollow(ctx, &wire.Request{ID: was.Run, After: was.After}, end); err != nil {
		return err
	}
	now, err := s.Find(was.Run)
	if err == nil && now.State == journal.Done { // what came this time is for nobody
		err = s.forgetBundle(now.Execution)
	}
	return err
}

// receive makes a job of a bundle.
func (s *session) receive(q *wire.Request) (*machine.Job, error) {
	b, err := (&bundle.Store{Dir: s.StateDir}).Receive(s.conn)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errLost // should anybody listen still
	}
	if err != nil {
		return nil, err
	}
	return s.complete(b.Job())
}

// unseal makes a job of what lies sealed elsewhere.
func (s *session) unseal(ctx context.Context, q *wire.Request) (*machine.Job, error) {
	if s.Unseal == nil {
		return nil, &diag.HintError{Code: machine.CodeUnsupported, Err: errors.New("nothing is sealed to this machine: it has no agent")}
	}
	j, err := s.Unseal(ctx, q.Sealed)
	if err != nil {
		return nil, err
	}
	return s.complete(j)
}

// complete adds to a job what is not part of it.
func (s *session) complete(j *machine.Job) (_ *machine.Job, err error) {
	j.Become = s.become
	if len(j.Modules) > 0 {
		j.Registry, err = Modules(s.Registry, j.Files, j.Modules)
	}
	return j, err
}

// Exec runs a program, and passes on what it prints as it comes.
func (r *Runner) Exec(ctx context.Context, e machine.Exec, o machine.Observer) (int, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	status, err := c.exec(ctx, e)
	return status, asError(err)
}

func (c *call) exec(ctx context.Context, e machine.Exec) (int, error) {
	if len(e.Argv) == 0 {
		return 0, errors.New("there is no command to run")
	}
	var mu sync.Mutex // both streams are read at a time
	result, err := c.Host.Run(ctx, host.Command{
		Argv: e.Argv, User: e.User, Dir: e.Dir, Stdin: e.Stdin, MaxOutput: 1,
		Watch: func(stream string, data []byte) {
			mu.Lock()
			defer mu.Unlock()
			c.observer.TellOutput(stream, data)
		},
	})
	if ctx.Err() != nil {
		return 0, interruption(ctx)
	}
	return result.ExitCode, err
}

func (s *session) serveExec(ctx context.Context, q *wire.Request, end *wire.End) (err error) {
	if q.Exec == nil {
		return errors.New("there is no command to run")
	}
	end.ExitCode, err = s.exec(ctx, *q.Exec)
	return err
}

// serveLogs tells the events of a run, and what its programs have printed.
func (s *session) serveLogs(ctx context.Context, q *wire.Request, _ *wire.End) error {
	list, err := s.Logs(ctx, machine.LogRequest{Run: machine.RunRef{ID: q.ID, After: q.After}, Follow: q.Follow}, s.observer)
	if err != nil {
		return err
	}
	return s.data(boundOutputs(list))
}

// maxOutputs is how much of what programs have printed is sent: however it is escaped, it
// fits into a frame.
const maxOutputs = wire.MaxFrame / 8

// boundOutputs cuts what programs have printed where it is too much.
func boundOutputs(list []machine.Output) []machine.Output {
	left := maxOutputs
	for i := range list {
		if text := list[i].Text; len(text) > left {
			list[i].Text = strings.ToValidUTF8(text[:left], "") + "\n(the rest is in the state folder of the host)"
		}
		left = max(0, left-len(list[i].Text))
	}
	return list
}

// serveClean removes records, and runners that nobody has used for long.
func (s *session) serveClean(ctx context.Context, q *wire.Request, _ *wire.End) error {
	which := machine.CleanRequest{ID: q.ID}
	switch {
	case q.Clean != nil:
		which = *q.Clean
		which.ID = q.ID
	case q.ID == "":
		return errors.New("it is not said what is to go")
	}
	done, err := s.Clean(ctx, which)
	if done != nil { // with an error, too: some records may be gone before one cannot be removed
		err = journal.Join(err, s.data(done))
	}
	return err
}

// ownPath gives the path of this program.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
