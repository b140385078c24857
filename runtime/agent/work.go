package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/otlp"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// executionPrefix begins the names of what agents carry out by themselves.
const executionPrefix = "agent-"

// targetOf is an assignment as the loop knows it. Its name begins the names of executions: by these a later process finds what they are of.
func targetOf(a *control.Assigned) reconcile.Target {
	return reconcile.Target{Digest: a.Identity.String(), Revision: a.Revision, Absent: a.Absent, Name: executionPrefix + trust.DigestOf(a.Signed.Content).String()[:16]}
}

// assigned finds what a target stands for; nil: it is not at hand.
func (s *siteLoop) assigned(t reconcile.Target) *control.Assigned {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	for _, one := range []*control.Assigned{s.want, s.known, s.converged} {
		if one != nil && targetOf(one).Name == t.Name {
			return one
		}
	}
	return nil
}

// job opens what a target stands for.
func (s *siteLoop) job(ctx context.Context, t reconcile.Target) (*machine.Job, error) {
	want := s.assigned(t)
	if want == nil && t == s.loop.State().Converged {
		// It was brought to something else meanwhile, which the loop was not told before the process ended.
		s.keeper.mu.Lock()
		want = s.converged
		s.keeper.mu.Unlock()
	}
	if want == nil {
		return nil, errors.New("what is wanted is not at hand")
	}
	j, err := s.keeper.agent.job(ctx, want)
	if err == nil {
		j.Keeper = true
	}
	return j, err
}

// failure says why a machine has done nothing. A hold or another run says nothing of what is wanted.
func failure(err error, otherwise reconcile.Cause) reconcile.Failure {
	if diag.CodeOf(err) == machine.CodeLocked {
		otherwise = reconcile.Obstacle
	}
	return reconcile.Failure{Cause: otherwise, Reason: diag.Clean(err.Error(), "\n", '�')}
}

// Plan is reconcile.Work's.
func (s *siteLoop) Plan(ctx context.Context, t reconcile.Target) reconcile.Found {
	if isNew, err := s.renew(t); err != nil || isNew { // the loop goes on with that
		return reconcile.Found{Failure: unavailable(err)}
	}
	job, err := s.job(ctx, t)
	if err != nil { // a server or a disk that is away says nothing of what is wanted
		return reconcile.Found{Failure: failure(err, reconcile.Unavailable)}
	}
	if o := job.Run.Reconcile; o != nil {
		s.options = o.Or(s.usual())
	} else {
		s.options = s.usual()
	}
	s.loop.Configure(s.options)
	var events []states.Event
	result, err := s.keeper.agent.Machine.Plan(ctx, job, machine.Observer{Event: func(ev states.Event) { events = append(events, ev) }})
	if err != nil {
		return reconcile.Found{Failure: failure(err, reconcile.Unplannable)}
	}
	if err := s.give(result); err != nil {
		return reconcile.Found{Failure: failure(err, reconcile.Unplannable)}
	}
	status, err := s.keeper.agent.Machine.Status(ctx, "")
	if err != nil {
		return reconcile.Found{Failure: failure(err, reconcile.Unavailable)}
	}
	s.collector, s.drift = s.keeper.collector(job.Run), reconcile.Differing(events)
	f := reconcile.FoundIn(events)
	here := journal.Identity(job.Run.Site, job.Origin)
	for _, d := range status.Owed {
		f.Something = f.Something || d.Site == here
	}
	// What is wanted is applied once, whatever a plan finds: its run is what is reported of the host.
	f.Maybe = f.Maybe || s.loop.State().Applied != t.Digest
	return f
}

// renew tells the loop what has come to be wanted since its turn began, and whether that is something else.
func (s *siteLoop) renew(t reconcile.Target) (isNew bool, err error) {
	if err := s.take(); err != nil {
		return false, err
	}
	state := s.loop.State()
	return state.Goal == reconcile.Keep && (state.Wanted.Digest != t.Digest || state.Wanted.Absent != t.Absent), nil
}

func unavailable(err error) reconcile.Failure {
	if err == nil {
		return reconcile.Failure{}
	}
	return failure(err, reconcile.Unavailable)
}

// Check is reconcile.Work's: what a host was brought to is kept, so that it can be gone back to.
func (s *siteLoop) Check(ctx context.Context, t reconcile.Target) reconcile.Checked {
	k := s.keeper
	k.tellOutputs(s.site, s.values)
	want := s.assigned(t)
	if want == nil {
		return reconcile.Checked{}
	}
	if err := s.keep(ctx, want); err != nil {
		k.agent.Log(fmt.Errorf("what the host was brought to cannot be kept, so that it is not gone back to: %w", err))
		return reconcile.Checked{}
	}
	return reconcile.Checked{Kept: true}
}

// keep keeps an assignment that the host was brought to, with its contents, until it is brought to another one.
func (s *siteLoop) keep(ctx context.Context, want *control.Assigned) error {
	k := s.keeper
	if err := k.agent.keepContents(ctx, want); err != nil {
		return err
	}
	k.mu.Lock()
	former := s.converged
	k.mu.Unlock()
	if former != nil && targetOf(former) == targetOf(want) {
		return nil
	}
	if err := k.agent.converged.keep(want); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s.converged = want
	return nil
}

// Apply is reconcile.Work's.
func (s *siteLoop) Apply(ctx context.Context, act reconcile.Action) (reconcile.Ended, bool) {
	if act.Again {
		if end, isKnown, ok := s.goOn(ctx, act); ok {
			return end, isKnown
		}
	}
	job, err := s.removal(), error(nil)
	if act.Phase != reconcile.Removing {
		job, err = s.job(ctx, act.Target)
	}
	if err != nil {
		return reconcile.Ended{Failure: failure(err, reconcile.Unavailable)}, true
	}
	job.Execution = act.Execution
	r := s.begin(act.Target)
	r.trace = s.trace(job, act.Target)
	result, err := s.keeper.agent.Machine.Apply(ctx, job, r.observer())
	end, isKnown := r.end(result, err)
	if _, err := s.renew(act.Target); err != nil { // it is told at the next turn
		s.keeper.agent.Log(err)
	}
	return end, isKnown
}

// removal removes what the site has created: a signed absence says so.
func (s *siteLoop) removal() *machine.Job {
	return &machine.Job{Run: &states.StateRun{Format: states.Format, Site: s.site, Host: s.keeper.agent.Identity.Name(), Prune: true}, Files: noFiles{}, Keeper: true}
}

// goOn goes on with an apply that a former process may have begun, or the host before it has started anew; ok: it had.
func (s *siteLoop) goOn(ctx context.Context, act reconcile.Action) (end reconcile.Ended, isKnown, ok bool) {
	a := s.keeper.agent
	status, err := a.Machine.Status(ctx, "")
	if err != nil {
		if _, nothing := errors.AsType[*machine.NothingError](err); nothing {
			return end, false, false
		}
		return reconcile.Ended{Failure: failure(err, reconcile.Unavailable)}, true, true
	}
	if status.Status == nil || status.Execution != act.Execution {
		return end, false, false
	}
	if status.State == journal.Done || status.State == journal.Failed {
		return ended(status.Counts, status.Report, status.Error), true, true
	}
	if status.State == journal.Rebooting && status.Paused.After(a.start) {
		return end, false, true // the host has not started anew yet
	}
	r := s.begin(act.Target)
	if job, err := s.job(ctx, act.Target); err == nil { // else it goes on all the same, and nobody is told
		job.Execution = act.Execution
		r.trace = s.trace(job, act.Target)
	}
	r.run.Run, r.run.Started = status.Run, status.Started
	// Each time by a name of its own: by the same one it would only be followed.
	name := fmt.Sprintf("%s-%d", act.Execution, act.Restarts)
	result, err := a.Machine.Resume(ctx, machine.Resumption{Run: machine.RunRef{ID: status.Run}, Execution: name, Keeper: true}, r.observer())
	if result != nil && result.Run == "" && err == nil {
		return end, false, false // there was nothing to go on with
	}
	end, isKnown = r.end(result, err)
	return end, isKnown, true
}

// noFiles holds no file.
type noFiles struct{}

// Open finds nothing.
func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// siteRun is a run while it goes on.
type siteRun struct {
	site  *siteLoop
	run   control.Run
	trace *otlp.Run // nil: nobody is told
}

// begin notes what a run is of.
func (s *siteLoop) begin(t reconcile.Target) *siteRun {
	r := &siteRun{site: s, run: control.Run{Site: s.site, Revision: t.Revision, Started: s.keeper.agent.Clock().UTC()}}
	if want := s.assigned(t); want != nil {
		r.run.Position = want.Position
	}
	return r
}

// observer tells of a run.
func (r *siteRun) observer() machine.Observer {
	teller := r.site.keeper.agent.teller
	return machine.Observer{
		Started: func(s machine.Started) {
			r.run.Run = s.Run
			begun := r.run
			teller.tell(control.Item{Run: &begun})
		},
		Event: func(ev states.Event) {
			if r.run.Run != "" { // else it is a plan's
				teller.event(r.site.site, r.run.Run, ev)
			}
			r.trace.Event(ev)
		},
	}
}

// end tells how a run has ended, and gives what that means for the loop; false: its end is not known yet.
func (r *siteRun) end(result *machine.Result, err error) (reconcile.Ended, bool) {
	r.trace.End(err != nil || result.Failed)
	told := r.run
	told.Ended, told.Failed = r.site.keeper.agent.Clock().UTC(), err != nil
	if result != nil {
		if told.Run == "" {
			told.Run = result.Run
		}
		told.Failed, told.Counts, told.Report = told.Failed || result.Failed, &result.Counts, result.Report
	}
	if err != nil {
		told.Error = err.Error()
	}
	if told.Run != "" {
		r.site.keeper.ended(&told)
	}
	if given := r.site.give(result); err == nil {
		err = given
	}
	switch {
	case err != nil:
		return reconcile.Ended{Failure: failure(err, reconcile.Unsuccess)}, true
	case result.Rebooting:
		return reconcile.Ended{}, false
	case result.Interrupted:
		return reconcile.Ended{Failure: reconcile.Failure{Cause: reconcile.Interrupted, Reason: "the run was interrupted"}}, true
	case result.Failed:
		return ended(&result.Counts, result.Report, "parts have failed"), true
	}
	return reconcile.Ended{}, true
}

// ended says what the end of a run means for the loop.
func ended(counts *states.Counts, report *states.Report, message string) reconcile.Ended {
	switch {
	case counts != nil && counts.Failed > 0:
		message = failedParts(report, counts.Failed)
	case message == "":
		return reconcile.Ended{}
	}
	return reconcile.Ended{Failure: reconcile.Failure{Cause: reconcile.Unsuccess, Reason: diag.Clean(message, "\n", '�')}}
}

// failedParts names the first part that has failed, and says how many others have.
func failedParts(r *states.Report, count int) string {
	for i := 0; r != nil && i < len(r.Parts); i++ {
		p := &r.Parts[i]
		if p.Error == nil {
			continue
		}
		message, _, _ := strings.Cut(p.Error.Message, "\n")
		if count > 1 {
			message += fmt.Sprintf(" (and %d more)", count-1)
		}
		return p.Address + ": " + message
	}
	return fmt.Sprintf("%d parts have failed", count)
}

// report is where the loop stands, as it is told.
func (s *siteLoop) report(state reconcile.State) control.Loop {
	// While the host is brought back to what it was it is what is wanted that has failed.
	about := state.Target
	if state.Goal == reconcile.Return {
		about = state.Wanted
	}
	l := control.Loop{Site: s.site, Revision: about.Revision, Phase: control.Phase(state.Phase), Condition: control.Condition(state.Condition), Cause: string(state.Cause), Reason: state.Reason,
		Attempt: state.Attempt()}
	if want := s.assigned(about); want != nil {
		l.Position, l.Revision = want.Position, want.Revision
	}
	if l.Attempt > 0 {
		l.Attempts = state.Limit
	}
	if !state.Next.IsZero() {
		l.Next = state.Next.UTC().Truncate(time.Second)
	}
	return l
}
