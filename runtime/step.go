package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// access is how the part gets at the machine.
type access struct {
	actor *actor
	host  host.Host  // as the actor sees it
	trace host.Trace // of a plan: what it looks at
	// Of a plan, what has happened to the part on the shadow.
	refusal string // why the acting user may not do it
	writes  int    // how often it was written to
}

// intent is what is to be done.
type intent struct {
	action            states.Action
	want              any // the module's resource; nil for absent
	changes           []states.Change
	unknownUntilApply []string // of a plan: attributes that only an apply will know
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
	s.certainty = certainty{doubt: s.invocation.doubt, cause: s.invocation.cause}
	s.actor = s.engine.actors.of(ctx, s.part.Options.Become)
	switch {
	case s.actor.err != nil:
		return s.fail(s.actor.err)
	case s.actor.isMissing && s.doubt == "":
		s.doubt = "it acts as " + s.part.Options.Become + ", an account that this run makes"
	}
	s.noteRefusals() // of who came before
	s.refusal, s.writes = "", 0
	s.module = s.engine.moduleOf(s.part)
	s.host = s.engine.hostOf(ctx, s)
	if !s.invocation.isFor(s.part) {
		s.outcome = states.Unchanged
		return false
	}
	begun := s.engine.resumption.earlierBegin(s.part)
	if begun == nil && !s.passGuards(ctx) { // else they let it through before
		return false
	}
	if s.module == nil {
		return s.fail(&diag.HintError{Code: "unknown_type", Message: fmt.Sprintf("there is no module %q", s.part.Type)})
	}
	var err error
	if s.part, s.unknownUntilApply, err = s.engine.expressions.compute(s.declaration); err != nil {
		return s.fail(err)
	}
	if err := s.decode(); err != nil {
		return s.fail(err)
	}
	switch {
	case len(s.unknownUntilApply) > 0 && s.part.Type == states.OutputType:
		return s.planOutput()
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

// passGuards asks the part's guards, and reports whether they let it through; if not, it has ended.
func (s *step) passGuards(ctx context.Context) bool {
	d := s.engine.decide(ctx, s.node, s.part.Address, s.part.Options.Become, s.part.Guards)
	switch {
	case d.err != nil:
		s.doubt, s.cause = cmp.Or(s.doubt, d.doubt), cmp.Or(s.cause, d.cause)
		return s.fail(d.err)
	case d.skip:
		s.outcome, s.reason = states.Skipped, d.reason
		s.doubt, s.cause = d.doubt, d.cause // what is certain is that it is skipped, or that it may not be
		return false
	case d.uncertain() && s.doubt == "":
		s.doubt, s.cause = d.doubt, d.cause
	}
	return true
}

// settleInterrupted makes of a resource that is as it should be one that was changed: by
// the process before, which did not see it end.
func (s *step) settleInterrupted(begun *states.Event) {
	s.hasPartialChange = true
	if s.outcome == states.Unchanged {
		s.outcome, s.action = states.Changed, begun.Action
	}
}

// fail ends the step.
func (s *step) fail(err error) bool {
	s.outcome, s.err = states.Failed, err
	return false
}

// catchPanic, which is deferred, makes a panic the failure of the step: what it had begun may have
// changed anything.
func (s *step) catchPanic() {
	if e := fault.Of(recover()); e != nil {
		s.hasPartialChange = s.hasPartialChange || s.isAnnounced
		s.fail(e)
	}
}
