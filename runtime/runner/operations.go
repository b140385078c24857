package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// operation does what a request asks for, and adds to how it ended.
type operation func(ctx context.Context, q *wire.Request, end *wire.End) error

func (s *session) operations() map[wire.Op]operation {
	return map[wire.Op]operation{
		wire.OpPlan: s.plan, wire.OpApply: s.apply, wire.OpResume: s.resume, wire.OpAttach: s.attach,
		wire.OpPing:  func(context.Context, *wire.Request, *wire.End) error { return nil },
		wire.OpFacts: s.facts, wire.OpExec: s.exec, wire.OpLogs: s.logs,
		wire.OpStatus: func(_ context.Context, q *wire.Request, _ *wire.End) error { return give(s, q.ID, s.Status) },
		wire.OpManaged: func(context.Context, *wire.Request, *wire.End) error {
			return give(s, "", func(string) ([]ManagedSite, error) { return s.Managed() })
		},
		wire.OpHistory: func(context.Context, *wire.Request, *wire.End) error {
			return give(s, "", func(string) ([]Past, error) { return s.History() })
		},
		wire.OpClean: s.clean, wire.OpHold: s.hold, wire.OpForget: s.forget,
		wire.OpRelease: func(context.Context, *wire.Request, *wire.End) error {
			return give(s, "", func(string) (*journal.Hold, error) { return s.Release() })
		},
	}
}

// give sends what is asked for by an ID.
func give[T any](s *session, id string, get func(string) (T, error)) error {
	v, err := get(id)
	if err != nil {
		return err
	}
	return s.data(v)
}

// plan plans what comes in a bundle.
func (s *session) plan(ctx context.Context, _ *wire.Request, end *wire.End) error {
	j, err := s.receive()
	if err != nil {
		return err
	}
	s.listen()
	obstacles, err := s.Obstacles()
	if err != nil {
		return err
	}
	for _, text := range obstacles {
		s.note(NoteObstacle, text)
	}
	j.Observe = true
	result, err := s.Plan(ctx, j, s.event)
	end.Result = resultOf(result)
	return err
}

// apply applies what comes in a bundle. From Started on it goes on by itself.
func (s *session) apply(ctx context.Context, _ *wire.Request, end *wire.End) error {
	detached := func() {}
	if s.Detach != nil {
		detached = s.Detach()
	}
	j, err := s.receive()
	if err != nil {
		return err
	}
	s.listen()
	result, err := s.Apply(ctx, j, func(run string) {
		detached()
		s.begins(wire.Started{Run: run})
	}, s.event)
	end.Result = resultOf(result)
	if result == nil {
		err = s.unbegun(ctx, err, j.Execution, j.Run.Host)
	}
	if begun, ok := errors.AsType[*journal.BegunError](err); ok {
		return s.begun(ctx, begun, end)
	}
	if result == nil { // it was not begun
		err = journal.Join(err, s.forgetBundle(j.Execution))
	}
	return err
}

// begins says that a run has begun, or goes on: from here on by itself.
func (s *session) begins(what wire.Started) {
	s.mu.Lock()
	s.started = true
	s.mu.Unlock()
	s.out.letGo()
	_ = s.say(wire.KindStarted, what) // whose error stays in the queue
}

// resume goes on with a run where it ended. Where there is nothing to go on with, that is
// said, and no failure.
func (s *session) resume(ctx context.Context, q *wire.Request, end *wire.End) error {
	detached := func() {}
	if s.Detach != nil {
		detached = s.Detach()
	}
	was, err := s.FindBegun(q.ID, q.Host)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == wire.CodeNotFound && q.ID == "" {
		s.note(NoteRecords, "nothing to go on with: nothing has been applied yet")
		end.Result = &wire.Result{}
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.Arrived(was.Run); err != nil { // the next start of the machine needs not do it
		return err
	}
	if filepath.Clean("/"+was.Root) != filepath.Clean("/"+s.Root) {
		return &Error{Err: fmt.Errorf("run %s acts on the tree %s", was.Run, was.Root), Hint: "go on with it on the machine itself: tenet apply --resume " + was.Run}
	}
	result, err := s.Resume(ctx, Resuming{Run: was.Run, Execution: q.Execution, Parallel: q.Parallel, LockTimeout: q.LockTimeout},
		func(run string, after int64, _ *Job) {
			detached()
			s.begins(wire.Started{Run: run, After: after})
		}, s.event)
	end.Result = resultOf(result)
	if result == nil {
		err = s.unbegun(ctx, err, q.Execution, was.Host)
	}
	if begun, ok := errors.AsType[*journal.BegunError](err); ok {
		return s.begun(ctx, begun, end)
	}
	if not, ok := errors.AsType[*journal.NotResumableError](err); ok && not.Done {
		s.note(NoteRecords, "nothing to go on with: run "+not.Run+" has ended, and nothing failed")
		end.Result = &wire.Result{Run: not.Run}
		return nil
	}
	return err
}

// begun tells of a run that was begun before, for the controller that asks for it once more:
// it has not heard of that.
func (s *session) begun(ctx context.Context, was *journal.BegunError, end *wire.End) error {
	if err := s.attach(ctx, &wire.Request{ID: was.Run, After: was.After}, end); err != nil {
		return err
	}
	now, err := s.Find(was.Run)
	if err == nil && now.State == journal.Done { // what came this time is for nobody
		err = s.forgetBundle(now.Execution)
	}
	return err
}

// receive makes a job of a bundle.
func (s *session) receive() (*Job, error) {
	b, err := (&bundle.Store{Dir: s.StateDir}).Receive(s.conn)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errLost // should anybody listen still
	}
	if err != nil {
		return nil, err
	}
	j := &Job{
		Run: b.Run, Files: b.Files, Origin: b.Origin, Execution: b.Execution, Places: PlacesOf(b.Places),
		Recorded: func() map[string]journal.Source { return b.Places },
		Rows:     b.Rows, Parallel: b.Parallel, LockTimeout: b.LockTimeout,
	}
	if len(b.Modules) == 0 {
		return j, nil
	}
	if j.Modules, err = Digests(b.Files, b.Modules); err == nil {
		j.Registry, err = Modules(s.Registry, b.Files, b.Modules)
	}
	return j, err
}

func resultOf(r *runtime.Result) *wire.Result {
	if r == nil {
		return nil
	}
	return &wire.Result{
		Run: r.Report.Run, Counts: r.Counts, Failed: r.Failed, Interrupted: r.Interrupted, Rebooting: r.Rebooting, Report: &r.Report,
	}
}

// facts tells further facts.
func (s *session) facts(_ context.Context, q *wire.Request, _ *wire.End) error {
	facts := host.NewFacts(s.Host, nil)
	names := q.Names
	if len(names) == 0 {
		names = facts.Names()
	}
	told, errs := tell(facts, names)
	for _, text := range errs {
		s.note(NoteRecords, text)
	}
	return s.data(told)
}

// exec runs a program, and passes on what it prints as it comes.
func (s *session) exec(ctx context.Context, q *wire.Request, end *wire.End) error {
	if q.Exec == nil || len(q.Exec.Argv) == 0 {
		return errors.New("there is no command to run")
	}
	kinds := map[string]wire.Kind{"stdout": wire.KindStdout, "stderr": wire.KindStderr}
	result, err := s.Host.Run(ctx, host.Command{
		Argv: q.Exec.Argv, User: q.Exec.User, Dir: q.Exec.Dir, Stdin: q.Exec.Stdin, MaxOutput: 1,
		Watch: func(stream string, data []byte) { s.out.write(kinds[stream], append([]byte{}, data...)) },
	})
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	end.ExitCode = result.ExitCode
	return err
}

// logs tells the events of a run, and what its programs have printed.
func (s *session) logs(ctx context.Context, q *wire.Request, end *wire.End) error {
	run, err := s.Find(q.ID)
	if err != nil {
		return err
	}
	for ev, err := range s.Events(ctx, run.Run, q.After, q.Follow) {
		if err != nil {
			return err
		}
		s.event(ev)
	}
	return give(s, run.Run, s.outputs)
}

// maxOutputs is how much of what programs have printed is sent: however it is escaped, it
// fits into a frame.
const maxOutputs = wire.MaxFrame / 8

// outputs gives what a run's programs have printed, cut where it is too much.
func (s *session) outputs(run string) ([]Output, error) {
	list, err := s.Outputs(run)
	left := maxOutputs
	for i := range list {
		if text := list[i].Text; len(text) > left {
			list[i].Text = strings.ToValidUTF8(text[:left], "") + "\n(the rest is in the state folder of the host)"
		}
		left = max(0, left-len(list[i].Text))
	}
	return list, err
}

// clean removes records, and runners that nobody has used for long.
func (s *session) clean(_ context.Context, q *wire.Request, _ *wire.End) error {
	var out *Cleaned
	var err error
	switch {
	case q.ID != "":
		out, err = s.Clean(q.ID)
	case q.Clean != nil:
		out, err = s.CleanOld(*q.Clean)
	default:
		return errors.New("it is not said what is to go")
	}
	if out != nil && q.Clean != nil && q.Clean.Runners > 0 {
		var gone error
		out.Runners, gone = cleanRunners(cached(), q.Clean.Runners)
		err = journal.Join(err, gone)
	}
	if out != nil {
		err = journal.Join(err, s.data(out))
	}
	return err
}

// hold keeps applies from starting.
func (s *session) hold(_ context.Context, q *wire.Request, _ *wire.End) error {
	if q.Hold == nil {
		return errors.New("a hold needs a reason")
	}
	h, applying, err := s.Hold(*q.Hold)
	if err != nil {
		return err
	}
	if applying != nil {
		s.note(NoteWaiting, applying.Error()+", and goes on")
	}
	return s.data(h)
}

// forget lets go of what is named.
func (s *session) forget(ctx context.Context, q *wire.Request, _ *wire.End) error {
	list := []states.Event{}
	err := s.Forget(ctx, Forgetting{Addresses: q.Names, Site: q.Site, LockTimeout: q.LockTimeout}, func(ev states.Event) error {
		list = append(list, ev)
		return nil
	})
	if err != nil {
		return err
	}
	return s.data(list)
}

// own gives the path of this program.
func own() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
