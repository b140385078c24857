package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// step is one part on its way: guards → Read → diff → Write or Remove → Read. What it
// comes to know stands in values, each of one stage and of use to those after it.
type step struct {
	engine     *engine
	invocation *invocation // nil for a part that does not run
	node       *node

	declaration
	access
	observation
	intent
	certainty
	progress
	ownership
	ending
}

// declaration is what is wanted of the part.
type declaration struct {
	part   *states.Part
	module *states.Module // nil: it is not known, or there is none
}

// access is how the part gets at the machine.
type access struct {
	actor *actor
	host  host.Host  // as the actor sees it
	trace host.Trace // of a plan: what it looks at
	// Of a plan, what has happened to the part on the shadow.
	refusal string // why the acting user may not do it
	writes  int    // how often it was written to
}

// observation is what was found of the part's resource.
type observation struct {
	readRequest any // the wanted resource as Read is asked for it, before Fill
	have        any // the module's resource; nil: nothing is there
	isHaveKnown bool
}

// intent is what is to be done.
type intent struct {
	action            states.Action
	want              any // the module's resource; nil for absent
	changes           []states.Change
	unknownUntilApply []string // of a plan: attributes that only an apply will know
}

// certainty is how far a plan can know that. The zero value is certain.
type certainty struct {
	doubt           string // why the row is not certain
	isDoubtGeneral  bool   // since an act that may touch anything may come before it, and for no other reason
	isUnforeseeable bool   // nobody knows what the act does
}

// progress is how far the part has got.
type progress struct {
	started     time.Time
	attempts    int  // that were made
	isAnnounced bool // an act was announced, and may have had effects
}

// ownership is what the site will own by the part.
type ownership struct {
	creation        map[string]any // how what is made is found again; see recorder.creationOf
	manifest        string         // the list of what it will have made of many things; see writeManifest
	isFirstManifest bool           // the site had none of these things before
}

// ending is how the part ended.
type ending struct {
	outcome          states.Outcome // empty: it has not ended
	reason           string
	err              error
	hasPartialChange bool // something changed, whatever came of it then
	actOutput        any  // what an act observed
	resultSource     any  // what a result is read from, where that is not have
}

func (e *engine) newStep(i *invocation, p *states.Part) *step {
	return &step{engine: e, invocation: i, node: i.node, declaration: declaration{part: p}, ending: ending{reason: i.debtReason}, progress: progress{started: time.Now()}}
}

// actOnSteps carries out steps whose module takes several in one call, or one.
func (e *engine) actOnSteps(ctx context.Context, steps []*step) {
	defer e.runAlone(steps[0].part)()
	var acting []*step
	steps = slices.DeleteFunc(steps, e.takeOver)
	for _, s := range steps {
		if s.prepare(ctx) {
			acting = append(acting, s)
		} else if _, unread := errors.AsType[*readError](s.err); unread {
			s.retryFailed(ctx)
		}
	}
	if len(acting) > 1 {
		e.actTogether(ctx, acting)
	} else {
		for _, s := range acting {
			s.actWithRetries(ctx)
		}
	}
	for _, s := range steps {
		if s.outcome == "" || s.isCutShort(ctx) {
			continue // pending: the next apply does it
		}
		s.settleCertainty()
		s.readResult(ctx)
		e.recorder.recordPart(s)
		s.invocation.addPart(s)
		s.invocation.noteFresh(s.part.Address)
	}
}

// isCutShort reports whether the part failed only because the run was stopped,
// and has changed nothing.
func (e ending) isCutShort(ctx context.Context) bool {
	return e.outcome == states.Failed && !e.hasPartialChange && ctx.Err() != nil &&
		(errors.Is(e.err, context.Canceled) || errors.Is(e.err, context.Cause(ctx)))
}

// prepare decides the guards and looks at the resource. It returns whether the
// part has to act; if not, it has ended.
func (s *step) prepare(ctx context.Context) (acts bool) {
	defer s.catchPanic()
	s.doubt = s.invocation.doubt
	s.actor = s.engine.actorOf(ctx, s.part.Options.Become)
	switch {
	case s.actor.err != nil:
		return s.fail(s.actor.err)
	case s.actor.isMissing && s.doubt == "":
		s.doubt = "it acts as " + s.part.Options.Become + ", an account that this run makes"
	}
	s.noteRefusals() // of who came before
	s.refusal, s.writes = "", 0
	s.host = s.engine.hostOf(ctx, s.node, s.part, s.actor, &s.trace)
	begun := s.engine.earlierBegin(s.part)
	d := decision{} // one that let it through before
	if begun == nil {
		d = s.engine.decide(ctx, s.node, s.part.Address, s.part.Options.Become, s.part.Guards)
	}
	switch {
	case d.err != nil:
		s.doubt = cmp.Or(s.doubt, d.doubt)
		return s.fail(d.err)
	case d.skip:
		s.outcome, s.reason, s.module = states.Skipped, d.reason, s.engine.moduleOf(s.part)
		s.doubt = d.doubt // what is certain is that it is skipped, or that it may not be
		return false
	case d.uncertain() && s.doubt == "":
		s.doubt = d.doubt
	}
	if s.module = s.engine.moduleOf(s.part); s.module == nil {
		return s.fail(&diag.HintError{Code: "unknown_type", Message: fmt.Sprintf("there is no module %q", s.part.Type)})
	}
	if err := s.compute(); err != nil {
		return s.fail(err)
	}
	if err := s.decode(); err != nil {
		return s.fail(err)
	}
	switch {
	case len(s.unknownUntilApply) > 0:
		return s.planUnknown(ctx)
	case s.module.IsAct():
		return true
	}
	todo := s.compare(ctx)
	if s.outcome == states.Unchanged {
		s.recheck(ctx)
	}
	if begun != nil {
		s.settleInterrupted(begun)
	}
	return todo
}

// settleInterrupted makes of a resource that is as it should be one that was changed: by
// the process before, which did not see it end.
func (s *step) settleInterrupted(begun *states.Event) {
	s.hasPartialChange = true
	if s.outcome == states.Unchanged {
		s.outcome, s.action = states.Changed, begun.Action
	}
}

// decode makes the module's resource of the part's values.
func (s *step) decode() error {
	want, err := s.module.Decode(s.part.Values, s.engine.options.Site)
	if err == nil && len(s.unknownUntilApply) == 0 {
		err = s.refusals(s.module.Check(want))
	}
	if err == nil && s.part.Ensure == states.Absent && (s.module.IsAct() || s.module.Remove == nil) {
		err = fmt.Errorf("a part of type %s cannot be absent: %s", s.part.Type, s.module.NoAbsent)
	}
	s.want = want
	return err
}

// compare reads the resource and compares. It returns whether there is something
// to do; if not, the part has ended.
func (s *step) compare(ctx context.Context) bool {
	if err := s.observe(ctx); err != nil {
		if s.engine.planning() && (errors.Is(err, host.ErrUnforeseeable) || errors.Is(err, fs.ErrPermission)) {
			return s.assumeWanted(err)
		}
		return s.fail(&readError{err})
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
	s.readRequest = s.want
	if predicted, ok := s.engine.predicted[s.identity()]; ok {
		if predicted == (unknownContent{}) {
			return fmt.Errorf("%w: an earlier step makes it what only an apply will know", host.ErrUnforeseeable)
		}
		s.have, s.isHaveKnown = predicted, true
		return nil
	}
	s.have, err = s.module.Read(ctx, s.host, s.want)
	s.isHaveKnown = err == nil
	return err
}

// assumeWanted is a row of a plan on something that cannot be looked at now. It
// takes the wanted state for granted.
func (s *step) assumeWanted(err error) bool {
	s.action = states.Update
	if s.part.Ensure == states.Absent {
		s.action, s.want = states.Remove, nil
	}
	s.outcome, s.isUnforeseeable = states.Changed, true
	s.takeReason(err)
	switch {
	case s.doubt != "":
	case errors.Is(err, fs.ErrPermission):
		s.doubt = unreadable
	case s.node.uncertainty == nil:
		s.doubt = dependsOnEarlier
	}
	if errors.Is(err, fs.ErrPermission) {
		return false // nobody knows how it ends; who looks at it next is refused, too, or is root
	}
	s.engine.predicted[s.identity()] = s.want
	if s.want != nil { // what it does not say nobody knows
		s.engine.predicted[s.identity()] = unknownContent{}
	}
	return false
}

// takeReason takes over the reason that a module gives why a plan's row is not certain.
func (s *step) takeReason(err error) {
	if u, ok := errors.AsType[*states.UncertainError](err); ok && s.doubt == "" && s.node.uncertainty == nil {
		s.doubt = u.Reason
	}
}

const (
	dependsOnEarlier = "it depends on what this run changes before"
	unreadable       = "it cannot be read by this user; run as root to know"
)

// identity names the resource among all of the run.
func (d declaration) identity() string { return d.part.Type + "\x00" + d.part.Key }

// fail ends the step.
func (s *step) fail(err error) bool {
	s.outcome, s.err = states.Failed, err
	return false
}

// catch, which is deferred, makes a panic the failure of the step: what it had begun may have
// changed anything.
func (s *step) catchPanic() {
	if e := fault.Of(recover()); e != nil {
		s.hasPartialChange = s.hasPartialChange || s.isAnnounced
		s.fail(e)
	}
}

// settleCertainty gives the rows of a plan the reason why they are not certain, and
// makes what follows what cannot be foreseen uncertain.
func (s *step) settleCertainty() {
	acts := s.outcome == states.Changed || s.outcome == states.Failed
	if s.outcome == states.Skipped && s.doubt != "" {
		s.addEffects()
		return
	}
	if !s.engine.planning() || !acts && s.outcome != states.Unchanged {
		s.doubt = ""
		return
	}
	q := question{node: s.node, part: s.part.Address, identity: s.identity(), trace: &s.trace}
	cause := s.engine.nearestEffect(q)
	defer s.addEffects()
	if !acts {
		s.doubt, s.isDoubtGeneral = asThingsAre("unchanged", s.engine.effectReason(cause, &q)), cause != nil && cause.anything
		return
	}
	if s.doubt == "" && s.node.uncertainty != nil {
		s.doubt = s.node.uncertainty.reason()
	}
	if s.doubt == "" {
		s.doubt = s.rightsDoubt()
	}
	if s.outcome == states.Failed && s.doubt != "" && fault.In(s.err) == nil {
		// It may go well by then; what it wants is taken for granted.
		s.doubt += s.describeFailure(s.err)
		s.err, s.outcome, s.isUnforeseeable = nil, states.Changed, true
		if s.action == "" {
			s.action = states.Update
			if s.module != nil && s.module.IsAct() {
				s.action = states.Execute
			}
		}
	}
	if s.doubt == "" && cause != nil {
		s.doubt, s.isDoubtGeneral = s.engine.effectReason(cause, &q), cause.anything
	}
}

// describeFailure says so of a part that is not certain.
func (d declaration) describeFailure(err error) string {
	if d.part.Options.Sensitive {
		return "; as things are it would fail: " + hiddenMessage
	}
	return "; as things are it would fail: " + err.Error()
}

// hiddenMessage is the message of a sensitive part that fails.
const hiddenMessage = "what it said is sensitive, and hidden"
