package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// step is one part on its way: guards → Read → diff → Write or Remove → Read.
type step struct {
	engine     *engine
	invocation *invocation // nil for a part that does not run
	node       *node
	part       *states.Part
	module     *states.Module
	actor      *actor
	host       host.Host  // as the actor sees it
	trace      host.Trace // of a plan: what it looks at

	late       []string // of a plan: attributes that only an apply will know
	asked      any      // the wanted resource as Read is asked for it, before Fill
	have, want any      // want is nil for absent; both are the module's resources
	left       any      // what a result is read from, where that is not have
	seen       bool
	unseen     bool // looking at it failed
	changes    []states.Change
	out        any // what an act observed
	action     states.Action

	over       bool           // an earlier process of the run has seen it end
	attempts   int            // that were made
	created    map[string]any // how what it makes is found again; see recorder.creates
	news       bool           // of many things it makes some, and the site had none of them before
	made       string         // the list of what it will have made of many things; see follow
	begun      bool           // the act was announced, and may have had effects
	tried      bool           // so was an attempt before
	touched    bool           // something changed, though the part failed
	unforeseen bool           // a plan cannot know what the act does
	maybe      string         // why a plan's row is not certain
	refusal    string         // why the acting user may not do what a plan has done on the shadow
	writes     int            // how often a plan has written to the shadow for it
	shaken     bool           // since an act that may touch anything may come before it, and for no other reason
	outcome    states.Outcome
	reason     string
	err        error
	started    time.Time
}

func (e *engine) newStep(i *invocation, p *states.Part) *step {
	return &step{engine: e, invocation: i, node: i.node, part: p, reason: i.owed, started: time.Now()}
}

// together carries out steps whose module takes several in one call, or one.
func (e *engine) together(ctx context.Context, steps []*step) {
	defer e.alone(steps[0].part)()
	var acting []*step
	steps = slices.DeleteFunc(steps, e.takeOver)
	for _, s := range steps {
		if s.prepare(ctx) {
			acting = append(acting, s)
		} else if s.unseen {
			s.tryAgain(ctx)
		}
	}
	if len(acting) > 1 {
		e.actTogether(ctx, acting)
	} else {
		for _, s := range acting {
			s.persist(ctx)
		}
	}
	for _, s := range steps {
		if s.outcome == "" || s.cutShort(ctx) {
			continue // pending: the next apply does it
		}
		s.settleCertainty()
		s.lookBack(ctx)
		e.recorder.part(s)
		s.invocation.partEnded(s)
	}
}

// cutShort reports whether the part failed only because the run was stopped,
// and has changed nothing.
func (s *step) cutShort(ctx context.Context) bool {
	return s.outcome == states.Failed && !s.touched && ctx.Err() != nil &&
		(errors.Is(s.err, context.Canceled) || errors.Is(s.err, context.Cause(ctx)))
}

// prepare decides the guards and looks at the resource. It returns whether the
// part has to act; if not, it has ended.
func (s *step) prepare(ctx context.Context) (acts bool) {
	defer s.catch()
	s.maybe = s.invocation.maybe
	s.actor = s.engine.acting(ctx, s.part.Options.Become)
	switch {
	case s.actor.err != nil:
		return s.fail(s.actor.err)
	case s.actor.absent && s.maybe == "":
		s.maybe = "it acts as " + s.part.Options.Become + ", an account that this run makes"
	}
	s.noteRefusals() // of who came before
	s.refusal, s.writes = "", 0
	s.host = s.engine.hostOf(ctx, s.node, s.part, s.actor, &s.trace)
	begun := s.engine.wasBegun(s.part)
	d := decision{} // one that let it through before
	if begun == nil {
		d = s.engine.decide(ctx, s.node, s.part.Address, s.part.Options.Become, s.part.Guards)
	}
	switch {
	case d.err != nil:
		s.maybe = cmp.Or(s.maybe, d.maybe)
		return s.fail(d.err)
	case d.skip:
		s.outcome, s.reason, s.module = states.Skipped, d.reason, s.engine.moduleOf(s.part)
		s.maybe = d.maybe // what is certain is that it is skipped, or that it may not be
		return false
	case d.uncertain() && s.maybe == "":
		s.maybe = d.maybe
	}
	if err := s.find(); err != nil {
		return s.fail(err)
	}
	if err := s.compute(); err != nil {
		return s.fail(err)
	}
	if err := s.decode(); err != nil {
		return s.fail(err)
	}
	switch {
	case len(s.late) > 0:
		return s.lookLate(ctx)
	case s.module.IsAct():
		s.tried = begun != nil
		return true
	}
	todo := s.look(ctx)
	if s.outcome == states.Unchanged {
		s.lookTwice(ctx)
	}
	if begun != nil {
		s.settleBegun(begun)
	}
	return todo
}

// settleBegun makes of a resource that is as it should be one that was changed: by
// the process before, which did not see it end.
func (s *step) settleBegun(begun *states.Event) {
	s.touched = true
	if s.outcome == states.Unchanged {
		s.outcome, s.action = states.Changed, begun.Action
	}
}

// find finds the part's module.
func (s *step) find() error {
	s.module = s.engine.moduleOf(s.part)
	if s.module == nil {
		return &codedError{code: "unknown_type", err: fmt.Errorf("there is no module %q", s.part.Type)}
	}
	return nil
}

// decode makes the module's resource of the part's values.
func (s *step) decode() error {
	want, err := s.module.Decode(s.part.Values, s.engine.options.Site)
	if err == nil && len(s.late) == 0 {
		err = s.refusals(s.module.Check(want))
	}
	if err == nil && s.part.Ensure == states.Absent && (s.module.IsAct() || s.module.Remove == nil) {
		err = fmt.Errorf("a part of type %s cannot be absent: %s", s.part.Type, s.module.NoAbsent)
	}
	s.want = want
	return err
}

// look reads the resource and compares. It returns whether there is something
// to do; if not, the part has ended.
func (s *step) look(ctx context.Context) bool {
	if err := s.observe(ctx); err != nil {
		if s.engine.planning() && (errors.Is(err, host.ErrUnforeseeable) || errors.Is(err, fs.ErrPermission)) {
			return s.lookInVain(err)
		}
		s.unseen = true
		return s.fail(err)
	}
	if s.part.Ensure == states.Absent {
		s.want = nil
		if s.have == nil {
			s.outcome = states.Unchanged
			return false
		}
		s.action, s.changes = states.Remove, s.module.Diff(s.have, nil)
		return true
	}
	s.want = s.module.Fill(s.have, s.want)
	s.changes = s.module.Diff(s.have, s.want)
	switch {
	case s.have == nil:
		s.action = states.Create
	case len(s.changes) == 0:
		s.outcome = states.Unchanged
		return false
	default:
		s.action = states.Update
	}
	return true
}

// observe completes the wanted resource and reads the one that is there.
func (s *step) observe(ctx context.Context) (err error) {
	ctx = states.WithNote(ctx, func(text string) { s.engine.recorder.noteOnce(s, text) })
	if s.module.Complete != nil && s.part.Ensure != states.Absent {
		if s.want, err = s.module.Complete(ctx, s.host, s.want); err != nil {
			return err
		}
	}
	s.asked = s.want
	if predicted, ok := s.engine.predicted[s.identity()]; ok {
		if predicted == (obscured{}) {
			return fmt.Errorf("%w: an earlier step makes it what only an apply will know", host.ErrUnforeseeable)
		}
		s.have, s.seen = predicted, true
		return nil
	}
	s.have, err = s.module.Read(ctx, s.host, s.want)
	s.seen = err == nil
	return err
}

// lookInVain is a row of a plan on something that cannot be looked at now. It
// takes the wanted state for granted.
func (s *step) lookInVain(err error) bool {
	s.action = states.Update
	if s.part.Ensure == states.Absent {
		s.action, s.want = states.Remove, nil
	}
	s.outcome, s.unforeseen = states.Changed, true
	s.uncertain(err)
	switch {
	case s.maybe != "":
	case errors.Is(err, fs.ErrPermission):
		s.maybe = unreadable
	case s.node.taint == nil:
		s.maybe = dependsOnEarlier
	}
	if errors.Is(err, fs.ErrPermission) {
		return false // nobody knows how it ends; who looks at it next is refused, too, or is root
	}
	s.engine.predicted[s.identity()] = s.want
	if s.want != nil { // what it does not say nobody knows
		s.engine.predicted[s.identity()] = obscured{}
	}
	return false
}

// uncertain takes over the reason that a module gives why a plan's row is not certain.
func (s *step) uncertain(err error) {
	if u, ok := errors.AsType[*states.UncertainError](err); ok && s.maybe == "" && s.node.taint == nil {
		s.maybe = u.Reason
	}
}

const (
	dependsOnEarlier = "it depends on what this run changes before"
	unreadable       = "it cannot be read by this user; run as root to know"
)

// identity names the resource among all of the run.
func (s *step) identity() string { return s.part.Type + "\x00" + s.part.Key }

// fail ends the step.
func (s *step) fail(err error) bool {
	s.outcome, s.err = states.Failed, err
	return false
}

// catch, which is deferred, makes a panic the failure of the step: what it had begun may have
// changed anything.
func (s *step) catch() {
	if e := fault.Of(recover()); e != nil {
		s.touched = s.touched || s.begun
		s.fail(e)
	}
}

// settleCertainty gives the rows of a plan the reason why they are not certain, and
// lets what cannot be foreseen taint what follows.
func (s *step) settleCertainty() {
	acts := s.outcome == states.Changed || s.outcome == states.Failed
	if s.outcome == states.Skipped && s.maybe != "" {
		s.hasEffects()
		return
	}
	if !s.engine.planning() || !acts && s.outcome != states.Unchanged {
		s.maybe = ""
		return
	}
	q := question{node: s.node, part: s.part.Address, identity: s.identity(), trace: &s.trace}
	cause := s.engine.doubt(q)
	defer s.hasEffects()
	if !acts {
		s.maybe, s.shaken = asThingsAre("unchanged", s.engine.because(cause, &q)), cause != nil && cause.anything
		return
	}
	if s.maybe == "" && s.node.taint != nil {
		s.maybe = s.node.taint.reason()
	}
	if s.maybe == "" {
		s.maybe = s.forbidden()
	}
	if s.outcome == states.Failed && s.maybe != "" && fault.In(s.err) == nil {
		// It may go well by then; what it wants is taken for granted.
		s.maybe += s.wouldFail(s.err)
		s.err, s.outcome, s.unforeseen = nil, states.Changed, true
		if s.action == "" {
			s.action = states.Update
			if s.module != nil && s.module.IsAct() {
				s.action = states.Execute
			}
		}
	}
	if s.maybe == "" && cause != nil {
		s.maybe, s.shaken = s.engine.because(cause, &q), cause.anything
	}
}

// wouldFail says so of a part that is not certain.
func (s *step) wouldFail(err error) string {
	if s.part.Options.Sensitive {
		return "; as things are it would fail: " + saidHidden
	}
	return "; as things are it would fail: " + err.Error()
}

// saidHidden is the message of a sensitive part that fails.
const saidHidden = "what it said is sensitive, and hidden"
