package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/states"
)

// Hooks says how to run what a rollout has around its batches.
type Hooks struct {
	// Plan finds out what a machine of a batch has to do.
	Plan Task
	// Task brings about on a machine what a hook is for. The job must be known by the execution
	// of the run, so that it is not begun twice.
	Task func(h HookRun) Task
	// Members are the machines that hooks name, and those of batches that are due.
	Members map[string]*Member
	// Failed are machines that the last after_each of an earlier execution was told had failed:
	// they are not used again before an after_each was told of them that they have not.
	Failed map[string]bool
}

// HookRun is one turn of a hook.
type HookRun struct {
	Execution string // its own, on its machines
	State     string
	Params    map[string]any
	Batch     []string
	Failed    []string // of the batch; of after_each
}

// HookListener is what a Listener may be that is told of hooks, too; others are told by notes.
type HookListener interface {
	Hook(h RecordHook, failures []string)
}

// hookedBatch is a batch with what runs around it.
type hookedBatch struct {
	*drive
	batch Batch
	of    func(string) (*Member, *Outcome)
}

// run plans on all machines of the batch. Where none has anything to do, they are left alone; else the
// hooks run around it.
func (h *hookedBatch) run(ctx context.Context) (t turn) {
	looked := h.look(ctx)
	switch {
	case h.fresh.Err() != nil:
		h.drive.batch(ctx, h.batch, errCancelled, h.of)
		return t
	case !h.hasWork(looked):
		for i, name := range h.batch.Machines {
			m, out := h.of(name)
			*out = looked[i]
			h.end(m, out)
			if out.Status != Done {
				t.failed++
			}
		}
		return t
	}
	first := len(h.hooks)
	behind := first + len(h.batch.Before)
	h.hooks = append(h.hooks, h.batch.RecordHooks(HookDue)...)
	if err := h.commitHooks(); err != nil { // from now on they are due
		err = fmt.Errorf("not begun: what is to run around the batch cannot be recorded: %w", err)
		h.drive.batch(ctx, h.batch, err, h.of)
		return turn{failed: len(h.batch.Machines), stop: err}
	}
	var skip error
	for i := first; i < behind; i++ {
		if err := h.runHook(ctx, i); err != nil {
			skip = fmt.Errorf("not begun: %w", err)
			break
		}
	}
	outcomes := h.drive.batch(ctx, h.batch, skip, h.of)
	failed := h.failed(outcomes)
	for _, o := range outcomes {
		if o.Status != Done && (o.Status != Skipped || skip != nil) {
			t.failed++
		}
	}
	for i := behind; i < len(h.hooks); i++ {
		h.hooks[i].Failed = failed
		if err := h.runHook(ctx, i); err != nil && t.stop == nil {
			t.stop = fmt.Errorf("not begun: %w", err)
		}
	}
	return t
}

// look plans on the machines of the batch, and tells nobody what they would do.
func (h *hookedBatch) look(ctx context.Context) []Outcome {
	var members []*Member
	for _, name := range h.batch.Machines {
		m, _ := h.of(name)
		members = append(members, m)
	}
	return h.aside(h.options.Hooks.Plan, &stateListener{to: h.drive}).all(ctx, h.fresh, members)
}

// hasWork reports whether there is something to do in the batch: by a plan, be it that it fails, or
// since one of its machines was told to have failed.
func (h *hookedBatch) hasWork(looked []Outcome) bool {
	return slices.ContainsFunc(looked, func(o Outcome) bool {
		return o.Result != nil && (o.Result.Counts.Changed > 0 || o.Result.Failed) || o.Status == Done && h.options.Hooks.Failed[o.Machine]
	})
}

// failed gives the machines of the batch that are not well, or of which nobody knows whether they
// are. One on which nothing was begun is as it was before.
func (h *hookedBatch) failed(outcomes []*Outcome) (names []string) {
	known := h.options.Hooks.Failed
	for _, o := range outcomes {
		if o.Status.isUntouched(o.Run) && !known[o.Machine] || o.Status == Done {
			continue
		}
		names = append(names, o.Machine)
	}
	return names
}

// isUntouched reports whether nothing was begun on a machine, since its turn did not come.
func (s Status) isUntouched(run string) bool {
	return run == "" && (s == Skipped || s == Interrupted)
}

// commitHooks records the hooks as they are now.
func (d *drive) commitHooks() error {
	hooks := slices.Clone(d.hooks)
	return d.options.Execution.commit(func(r *Record) { r.Hooks = hooks })
}

// runHook runs a hook on its machines. An interrupt does not end it: another one leaves it
// alone, and then it is due.
func (d *drive) runHook(ctx context.Context, i int) error {
	h := &d.hooks[i]
	if ctx.Err() != nil {
		d.tellHook(*h, nil)
		return fmt.Errorf("%s: %w", h.Name(), context.Cause(ctx))
	}
	h.Status, h.Execution = HookRunning, newID(time.Now())
	if err := d.commitHooks(); err != nil {
		h.Status, h.Execution = HookDue, ""
		return fmt.Errorf("%s cannot be recorded: %w", h.Name(), err)
	}
	var outcomes []Outcome
	heard := &failureListener{}
	if len(h.Hosts) > 0 {
		d.tellHook(*h, nil)
		members, missing := d.membersOf(h.Hosts)
		outcomes = missing
		outcomes = append(outcomes, d.aside(d.options.Hooks.Task(HookRun{h.Execution, h.State, h.Params, h.Batch, h.Failed}), heard).all(ctx, ctx, members)...)
	}
	return d.endHook(i, outcomes, heard)
}

// endHook records how a hook ended.
func (d *drive) endHook(i int, outcomes []Outcome, heard *failureListener) error {
	h := &d.hooks[i]
	var failures []string
	h.Status = HookDone
	for _, o := range outcomes {
		switch {
		case o.Status == Done:
			continue
		case o.Status == Detached:
			h.Status = HookRunning
		case h.Status == HookDone:
			h.Status = HookFailed
		}
		why := strings.Join(heard.of(o.Machine), "; ")
		if o.Err != nil {
			why = o.Err.Error()
		}
		failures = append(failures, fmt.Sprintf("%s: %s: %s", o.Machine, o.Status, why))
	}
	if h.Kind == AfterEach && h.Status == HookDone {
		for _, name := range h.Batch {
			if d.options.Hooks.Failed == nil {
				d.options.Hooks.Failed = map[string]bool{}
			}
			d.options.Hooks.Failed[name] = slices.Contains(h.Failed, name)
		}
	}
	err := d.commitHooks()
	d.tellHook(*h, failures)
	switch {
	case err != nil:
		return fmt.Errorf("how %s ended cannot be recorded: %w", h.Name(), err)
	case h.Status == HookRunning:
		return fmt.Errorf("nobody knows how %s ended", h.Name())
	case h.Status == HookFailed:
		return fmt.Errorf("%s failed", h.Name())
	}
	return nil
}

// membersOf gives machines by their names, and the outcomes of those that are not known.
func (d *drive) membersOf(names []string) (members []*Member, missing []Outcome) {
	for _, name := range names {
		if m := d.options.Hooks.Members[name]; m != nil {
			members = append(members, m)
			continue
		}
		missing = append(missing, Outcome{Machine: name, Status: Unreachable, Err: errors.New("the site does not declare it any more")})
	}
	return members, missing
}

// tellHook tells of a hook that begins, or has ended.
func (d *drive) tellHook(h RecordHook, failures []string) {
	d.tell(func(l Listener) {
		if hooks, ok := l.(HookListener); ok {
			hooks.Hook(h, failures)
		}
	})
}

// aside is a drive for another task, of which another listener is told. Nothing of it is recorded.
func (d *drive) aside(t Task, l Listener) *drive {
	o := d.options
	o.Listener, o.Execution = l, nil
	return &drive{task: t, options: o, evaluate: d.evaluate}
}

// all does the task on all machines, at once as far as the forks go.
func (d *drive) all(ctx, fresh context.Context, members []*Member) []Outcome {
	d.fresh = fresh
	outcomes := make([]Outcome, len(members))
	index, names := map[string]int{}, make([]string, len(members))
	for i, m := range members {
		names[i], index[m.Name] = m.Name, i
	}
	d.batch(ctx, Batch{rollout.Batch{Machines: names}}, nil, func(name string) (*Member, *Outcome) {
		return members[index[name]], &outcomes[index[name]]
	})
	return outcomes
}

// stateListener hands on where machines stand that are looked at.
type stateListener struct {
	Silence
	to *drive
}

// State hands on where a machine stands; it is not over yet.
func (l *stateListener) State(m string, s State) {
	if s != Over {
		l.to.state(m, s)
	}
}

// Note hands on what people should know.
func (l *stateListener) Note(m string, n machine.Note) { l.to.hand(m, n) }

// failureListener keeps what failed on machines.
type failureListener struct {
	Silence
	failures map[string][]string
}

// Event keeps what failed.
func (l *failureListener) Event(m string, ev states.Event) {
	if ev.Type != states.EventPart || ev.Outcome != states.Failed || ev.Error == nil {
		return
	}
	if l.failures == nil {
		l.failures = map[string][]string{}
	}
	l.failures[m] = append(l.failures[m], ev.Address+" failed: "+ev.Error.Message)
}

func (l *failureListener) of(m string) []string { return l.failures[m] }
