package fleet

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/machine"
)

// Settle does what an execution whose controller is gone has left due: it waits for what of it goes
// on still, hooks and batches, and then runs each after_each that is due. Nothing is begun twice,
// and nothing of the execution begins any more behind it. The error says what is due still.
func Settle(ctx context.Context, x *Execution, o Options) error {
	if o.Forks == 0 {
		o.Forks = defaultForks
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	o.Execution = x
	d := &drive{options: o, fresh: ctx, evaluate: make(chan struct{}, goruntime.GOMAXPROCS(0)), hooks: slices.Clone(x.record.Hooks)}
	if o.Cancelled != nil {
		fresh, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		d.fresh = fresh
		fault.Go(func() {
			select {
			case <-o.Cancelled:
				stop(errCancelled)
			case <-fresh.Done():
			}
		})
	}
	s := &settlement{drive: d, of: x.ID(), hosts: slices.Clone(x.record.Hosts)}
	for i := range d.hooks { // what runs before is to end before what runs behind begins
		if d.hooks[i].Kind == BeforeEach && d.hooks[i].Status == HookRunning {
			if err := s.await(ctx, i); err != nil {
				return err
			}
		}
	}
	var wrong error
	for i := range d.hooks {
		if d.hooks[i].IsDue() {
			wrong = errors.Join(wrong, s.settle(ctx, i))
		}
	}
	return wrong
}

// settlement is what is done about one execution.
type settlement struct {
	*drive
	of    string // its ID
	hosts []RecordHost
}

// settle runs a hook that is due, unless its run goes on, or has ended well.
func (s *settlement) settle(ctx context.Context, i int) error {
	h := &s.hooks[i]
	if h.Status == HookRunning {
		if err := s.await(ctx, i); err != nil || h.Status == HookDone {
			return err
		}
	}
	failed, err := s.failed(ctx, h.Batch)
	if err != nil {
		return err
	}
	h.Failed = failed
	return s.runHook(ctx, i)
}

// await waits for the run of a hook that another controller has begun, or was about to. Where it is
// not on all machines, it is as one that failed: it is run anew.
func (s *settlement) await(ctx context.Context, i int) error {
	h := &s.hooks[i]
	members, _ := s.membersOf(h.Hosts) // on what is no longer declared nothing is awaited
	outcomes := s.aside(followTask(h.Execution), Silence{}).all(ctx, s.fresh, members)
	h.Status = HookDone
	for _, o := range outcomes {
		switch {
		case o.Status == Done:
		case hasEnded(&o):
			h.Status = HookFailed
		default:
			h.Status = HookRunning
			return fmt.Errorf("nobody knows how %s ended: %s: %s", h.Name(), o.Machine, reason(&o))
		}
	}
	if len(members) < len(h.Hosts) {
		h.Status = HookFailed
	}
	return s.commitHooks()
}

// failed gives the machines of a batch that are not well, or of which nobody knows: what the record
// does not know, the machines are asked.
func (s *settlement) failed(ctx context.Context, batch []string) (names []string, err error) {
	var unknown []*Member
	wrong := map[string]bool{}
	for _, name := range batch {
		i := slices.IndexFunc(s.hosts, func(h RecordHost) bool { return h.Name == name })
		switch m := s.options.Hooks.Members[name]; {
		case i >= 0 && !s.hosts[i].open():
			wrong[name] = s.isWrong(name, s.hosts[i].Status, s.hosts[i].Run)
		case m == nil:
			wrong[name] = true
		default:
			unknown = append(unknown, m)
		}
	}
	for _, o := range s.aside(followTask(s.of), Silence{}).all(ctx, s.fresh, unknown) {
		if s.fresh.Err() != nil {
			return nil, context.Cause(s.fresh)
		}
		status, run := o.Status, s.of
		if notFound(o.Err) { // nothing was begun there
			status, run = Skipped, ""
		}
		wrong[o.Machine] = s.isWrong(o.Machine, status, run)
	}
	for _, name := range batch {
		if wrong[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

func (s *settlement) isWrong(name string, status Status, run string) bool {
	return status != Done && (!status.isUntouched(run) || s.options.Hooks.Failed[name])
}

// followTask waits for what an execution has begun on machines. What it has not is not begun any
// more: a message on its way is refused.
func followTask(execution string) Task {
	ask := func(ctx context.Context, c *Call) (*machine.Result, error) {
		if c.Run.ID != "" {
			return follow(ctx, c)
		}
		of := machine.RunRef{ID: execution, Host: c.Name}
		result, err := c.Follow(ctx, of, c.Observer)
		if !notFound(err) {
			return result, err
		}
		if err := c.Cancel(ctx, of); err != nil {
			return nil, err
		}
		return c.Follow(ctx, of, c.Observer)
	}
	return Task{Name: "follow", Repeatable: true, Ask: ask, Continue: ask}
}

func notFound(err error) bool {
	e, ok := errors.AsType[*machine.Error](err)
	return ok && e.Code == machine.CodeNotFound
}

// hasEnded reports whether a run that was followed does not go on: it has ended, or there is none.
func hasEnded(o *Outcome) bool {
	return o.Result != nil && !o.Result.Rebooting || notFound(o.Err) || o.Status == Interrupted && o.Refused()
}

func reason(o *Outcome) string {
	if o.Err != nil {
		return o.Err.Error()
	}
	return string(o.Status)
}
