package fleet

import (
	"context"

	"github.com/tenetcm/tenet/runtime/machine"
)

// Task is what is done on each machine.
type Task struct {
	Name string // a verb, for errors: "apply"
	// Ask asks a machine for it, and is asked once more for one whose connection broke before
	// anything was begun. Nil without an error is a machine of which nothing is wanted.
	Ask func(ctx context.Context, c *Call) (*machine.Result, error)
	// Continue asks for the rest of what may have begun; nil: that cannot be asked for.
	Continue func(ctx context.Context, c *Call) (*machine.Result, error)
	// Repeatable says that asking once more does no harm, whatever has come of it.
	Repeatable bool

	begins bool // a run, which is not begun twice
}

// Call is one attempt to have a machine do something.
type Call struct {
	*Member
	Observer machine.Observer // to be handed on to the machine
	// Run is what Continue is about, and where it goes on. Without a name it is not known
	// whether the machine has begun anything.
	Run machine.RunRef

	m *member
}

// About says by what the run is asked for that is about to be begun.
func (c *Call) About(execution, host string) {
	c.m.position.ID, c.m.position.Host = execution, host
}

// Evaluate calls f, which makes what the machine is to do, for not more machines at a time
// than there are processors. The error of f says that the site is wrong for it.
func (c *Call) Evaluate(ctx context.Context, f func() error) error {
	if err := enter(ctx, c.m.evaluate); err != nil {
		return err
	}
	defer func() { <-c.m.evaluate }()
	c.m.state(c.Name, Evaluating)
	if err := f(); err != nil {
		return &wrongError{err}
	}
	c.m.state(c.Name, Sending)
	return nil
}

// Prepare makes, of what a machine knows of itself, what it is to do; nil: nothing. It may
// be called for several machines at a time, and once more for one whose connection broke
// before anything was begun. An error is the machine's outcome: the site is wrong for it, or, if the error has a
// method IsRefusal that says so, it failed.
type Prepare func(ctx context.Context, m *Member, facts *machine.Facts) (*machine.Job, error)

// Plan is the task to show what each machine would do. Facts are those that prepare wants.
func Plan(facts []string, prepare Prepare) Task {
	return Task{Name: "plan", Repeatable: true, Ask: func(ctx context.Context, c *Call) (*machine.Result, error) {
		j, err := c.prepare(ctx, facts, prepare)
		if err != nil || j == nil {
			return nil, err
		}
		return c.Plan(ctx, j, c.Observer)
	}}
}

// Apply is the task to bring each machine into its state.
func Apply(facts []string, prepare Prepare) Task {
	return Task{Name: "apply", begins: true, Continue: follow, Ask: func(ctx context.Context, c *Call) (*machine.Result, error) {
		j, err := c.prepare(ctx, facts, prepare)
		if err != nil || j == nil {
			return nil, err
		}
		c.About(j.Execution, j.Run.Host)
		return c.Apply(ctx, j, c.Observer)
	}}
}

// Resume is the task to go on with a run where it ended.
func Resume(how func(m *Member) machine.Resumption) Task {
	resume := func(ctx context.Context, c *Call) (*machine.Result, error) {
		return c.Resume(ctx, how(c.Member), c.Observer)
	}
	return Task{Name: "resume", Ask: resume, Continue: func(ctx context.Context, c *Call) (*machine.Result, error) {
		if c.Run.ID == "" { // whoever went on with it in this execution tells of that
			return resume(ctx, c)
		}
		return follow(ctx, c)
	}}
}

func follow(ctx context.Context, c *Call) (*machine.Result, error) {
	return c.Follow(ctx, c.Run, c.Observer)
}

func (c *Call) prepare(ctx context.Context, facts []string, prepare Prepare) (j *machine.Job, err error) {
	known, err := c.Facts(ctx, facts)
	if err != nil {
		return nil, err
	}
	err = c.Evaluate(ctx, func() error {
		j, err = prepare(ctx, c.Member, known)
		return err
	})
	return j, err
}

// Answer is what a machine has answered.
type Answer[T any] struct {
	Outcome
	Value T // where it is done, and what an answer with a failure gives nevertheless
}

// Question is what machines are asked.
type Question[T any] struct {
	Task string // a verb, for errors: "clean"
	// Ask asks a machine. Run is what it has told of, and the last event that was told, where the
	// rest is asked for.
	Ask func(ctx context.Context, m *Member, o machine.Observer, run machine.RunRef) (T, error)
	// Repeatable says that asking once more does no harm, and Resumable that what is asked
	// goes on behind an event.
	Repeatable, Resumable bool
	// Answered is told each answer as it comes, one at a time; nil: nobody is.
	Answered func(Answer[T])
}

// Ask asks machines, and gives their answers in the order of the machines. The error is
// for what cannot be begun at all.
func Ask[T any](ctx context.Context, members []*Member, q Question[T], o Options) ([]Answer[T], error) {
	answers := make(map[string]*Answer[T], len(members))
	for _, m := range members {
		answers[m.Name] = &Answer[T]{}
	}
	ask := func(ctx context.Context, c *Call) (_ *machine.Result, err error) {
		answers[c.Name].Value, err = q.Ask(ctx, c.Member, c.Observer, c.Run)
		return nil, err
	}
	task := Task{Name: q.Task, Ask: ask, Repeatable: q.Repeatable}
	if q.Resumable {
		task.Continue = ask
	}
	if q.Answered != nil {
		o.Listener = &answerListener{orSilent(o.Listener), func(m string, out Outcome) {
			answers[m].Outcome = out
			q.Answered(*answers[m])
		}}
	}
	outcomes, err := Run(ctx, members, task, o)
	list := make([]Answer[T], len(outcomes))
	for i := range outcomes {
		list[i] = Answer[T]{outcomes[i], answers[outcomes[i].Machine].Value}
	}
	return list, err
}

// answerListener tells of ends, too.
type answerListener struct {
	Listener
	ended func(machine string, o Outcome)
}

func (a *answerListener) Ended(machine string, o Outcome) {
	a.Listener.Ended(machine, o)
	a.ended(machine, o)
}
