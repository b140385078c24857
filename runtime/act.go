package runtime

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// attempt acts once, within the part's timeout.
func (s *step) attempt(parent context.Context) {
	release := s.engine.locks.acquire(s.moduleLocks())
	defer release()
	ctx := s.engine.inPart(parent, s)
	if d := s.part.Options.Timeout; d > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeoutCause(ctx, d, timeoutError(d))
		defer done()
	}
	if s.module.IsAct() {
		s.act(ctx)
		return
	}
	err := s.writeManifest(ctx)
	if err == nil {
		err = s.engine.announce(s)
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.conclude(ctx, s.write(ctx))
}

// announce records that parts are about to act; what a handler may be owed, and
// what no Read can tell, is durable before.
func (e *engine) announce(steps ...*step) error {
	if e.planning() {
		return nil
	}
	for _, s := range steps {
		s.isAnnounced = true
	}
	return e.recorder.begin(steps...)
}

// write makes the resource what is wanted, or foresees it.
func (s *step) write(ctx context.Context) (err error) {
	defer fault.Catch(&err) // what was done by then is read back
	if s.engine.planning() {
		delete(s.engine.predicted, s.identity())
		defer s.noteRefusals()
		if s.module.Foresee != nil {
			return s.module.Foresee(ctx, s.host, s.have, s.want)
		}
	}
	if s.want == nil {
		return s.module.Remove(ctx, s.host, s.have)
	}
	return s.module.Write(ctx, s.host, s.have, s.want)
}

// conclude reads a resource back after its act has ended with err.
func (s *step) conclude(ctx context.Context, err error) {
	defer s.catchPanic()
	if s.engine.planning() && errors.Is(err, host.ErrUnforeseeable) {
		s.engine.predicted[s.identity()] = s.want
		s.endUnforeseen(err)
		return
	}
	// The truth is worth a look even if time is up or Ctrl-C was pressed.
	reference := s.want
	if reference == nil { // it shall be gone
		reference = s.have
	}
	have, readErr := s.module.Read(context.WithoutCancel(ctx), s.host, reference)
	if err == nil {
		if err = readErr; err == nil {
			err = s.checkReadBack(s.observation, s.want, have)
		}
	}
	if err == nil {
		s.outcome = states.Changed
		s.have = have
		return
	}
	if diag.CodeOf(context.Cause(ctx)) == codeTimeout {
		s.hasPartialChange = true
		err = causeOf(ctx, err)
	}
	s.fail(err)
	switch {
	case readErr != nil:
		s.hasPartialChange = true // nobody can tell
	case s.have == nil || have == nil:
		s.hasPartialChange = s.hasPartialChange || (s.have == nil) != (have == nil)
	default:
		s.hasPartialChange = s.hasPartialChange || len(s.module.Diff(s.have, have)) > 0
	}
	s.have, s.isHaveKnown = have, readErr == nil
}

// act runs a module that acts. Before it does so on the host it does on a
// shadow, where nothing can happen: an act that proves needless there (its
// file exists, its condition is met) is neither recorded nor done.
func (s *step) act(ctx context.Context) {
	s.action = states.Execute
	mayBeDone := s.isAnnounced || s.engine.resumption.earlierBegin(s.part) != nil // by an attempt before
	stage := s.host
	if !s.engine.planning() {
		stage = host.NewShadow(s.host)
	}
	changed, out, err := s.module.Act(ctx, stage, s.want)
	if s.engine.planning() {
		s.noteRefusals()
	}
	switch {
	case errors.Is(err, host.ErrUnanswerable) && s.engine.planning():
		s.outcome, s.isUnanswered = states.Changed, true
		s.addDoubt(dependsOnEarlier)
		return
	case errors.Is(err, host.ErrUnforeseeable) && s.engine.planning():
		if s.part.Results[states.ChangedIf] != nil {
			s.addDoubt("if its changed_if holds")
		}
		s.endUnforeseen(err)
		return
	case errors.Is(err, fs.ErrPermission) && s.engine.planning() && s.doubt == "":
		s.doubt, s.mayFail = unreadable, true
		s.endUnforeseen(err)
		return
	case s.endNeedless(err):
		return
	case err != nil && !errors.Is(err, host.ErrUnforeseeable):
		s.fail(causeOf(ctx, err))
		return
	case err == nil && (s.engine.planning() || !changed):
		s.concludeAct(changed, out, mayBeDone)
		return
	}
	if err = mayReboot(s.module, &s.engine.options); err == nil {
		err = s.engine.announce(s)
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.actOnHost(ctx, mayBeDone)
}

// actOnHost carries out an act that was announced.
func (s *step) actOnHost(ctx context.Context, mayBeDone bool) {
	changed, out, err := s.actAnnounced(ctx)
	if err == nil {
		s.concludeAct(changed, out, mayBeDone)
		return
	}
	if errors.Is(err, states.ErrRebooting) {
		s.engine.recorder.stop(states.ErrRebooting) // it has no end yet
		return
	}
	s.actOutput = out
	switch cause := context.Cause(ctx); {
	case diag.CodeOf(cause) == codeTimeout:
		s.hasPartialChange = true
		s.fail(causeOf(ctx, err))
	case cause != nil:
		s.outcome, s.err = states.Unknown, causeOf(ctx, err)
	case errors.Is(err, states.ErrUnknown):
		s.outcome, s.err = states.Unknown, err
	default:
		// No later run will notify what is there by now, if this one does not.
		s.hasPartialChange = isNeedless(ctx, s.module, s.host, s.want)
		s.fail(err)
	}
}

// endNeedless ends the act of a handler that was notified of something which is not on
// the host: its notifier came before what it is for. A plan that cannot know whether that
// comes until then says so.
func (s *step) endNeedless(err error) bool {
	missing, ok := errors.AsType[*states.MissingError](err)
	if !ok || s.node.inv == nil || !s.node.inv.Handler || s.node.inv.Always {
		return false
	}
	why := "nothing to do: " + missing.Error()
	if s.doubt == "" && s.engine.planning() {
		q := s.question()
		q.failed = true
		by := s.engine.effects.nearestEffect(q)
		s.takeDoubt(s.engine.effects.effectReason(by, &q), by, &q)
	}
	if s.engine.planning() && s.doubt != "" {
		s.doubt += "; as things are there is " + why
		s.endUnforeseen(err)
		return true
	}
	s.outcome, s.reason = states.Unchanged, why
	s.engine.recorder.recordNote(s, why)
	return true
}

// isNeedless reports whether an act that has failed would not be done again, since
// what it is for is there, or whether nobody can tell.
func isNeedless(ctx context.Context, m *states.Module, h host.Host, want any) bool {
	_, _, err := m.Act(context.WithoutCancel(ctx), host.NewShadow(h), want)
	return !errors.Is(err, host.ErrUnforeseeable)
}

// concludeAct ends an act that went well. That it is needless now may be what an attempt
// before has done.
func (s *step) concludeAct(changed bool, out any, mayBeDone bool) {
	s.actOutput = out
	changed, ok := s.judge(changed, out)
	if !ok {
		return
	}
	if changed && !s.isAnnounced { // a command that only reads, by its changed_if
		if err := s.engine.announce(s); err != nil {
			s.fail(err)
			return
		}
	}
	s.outcome = states.Unchanged
	if changed || mayBeDone {
		s.outcome = states.Changed
	}
	if changed && s.module.Changes != nil {
		s.changes = s.module.Changes(out)
	}
}

// actTogether carries out several steps that were announced in one go: by one call
// of their module, or one after the other. Those that fail are tried again one by
// one, as their retry options say.
func (e *engine) actTogether(ctx context.Context, steps []*step) {
	var names []string
	for _, s := range steps {
		names = append(names, s.moduleLocks()...)
	}
	release := e.locks.acquire(names)
	switch acting := e.announceAll(ctx, steps); {
	case len(acting) == 0:
	case acting[0].module.Batch == nil:
		actInTurn(ctx, acting)
	default:
		e.actAtOnce(e.inPart(ctx, acting[0]), acting)
	}
	release()
	for _, s := range steps {
		if s.outcome != "" {
			s.retryFailed(ctx)
		}
	}
}

// announceAll announces several steps in one go, and gives those that may act.
func (e *engine) announceAll(ctx context.Context, steps []*step) []*step {
	var acting []*step
	for _, s := range steps {
		if err := s.writeManifest(ctx); err != nil {
			s.fail(err)
			continue
		}
		acting = append(acting, s)
	}
	if len(acting) == 0 {
		return nil
	}
	if err := e.announce(acting...); err != nil {
		acting[0].fail(err)
		return nil
	}
	return acting
}

// actInTurn writes resources that have nothing to do with one another.
func actInTurn(ctx context.Context, steps []*step) {
	for _, s := range steps {
		if ctx.Err() != nil {
			return // the rest is pending
		}
		s.started = time.Now()
		s.conclude(ctx, s.write(ctx))
	}
}

// actAtOnce is one call of the steps' module.
func (e *engine) actAtOnce(ctx context.Context, steps []*step) {
	m, items := steps[0].module, make([]states.Item, len(steps))
	for k, s := range steps {
		items[k] = states.Item{Have: s.have, Want: s.want}
		if e.planning() {
			delete(e.predicted, s.identity())
		}
	}
	var errs []error
	if e.planning() && m.Foresee != nil {
		for _, s := range steps {
			errs = append(errs, m.Foresee(ctx, s.host, s.have, s.want))
			s.noteRefusals()
		}
	} else {
		errs = batch(ctx, m, steps[0].host, items)
		if e.planning() {
			noteTogether(steps)
		}
	}
	for k, s := range steps {
		s.conclude(ctx, errs[k])
	}
}

// batch is one call of a module; a panic fails all of it.
func batch(ctx context.Context, m *states.Module, h host.Host, items []states.Item) (errs []error) {
	err := fault.Do(func() error {
		errs = m.Batch(ctx, h, items)
		return nil
	})
	if err != nil {
		return slices.Repeat([]error{err}, len(items))
	}
	return errs
}

// noteTogether is noteRefusals of several steps that were one call: what is refused of
// it is refused to all.
func noteTogether(steps []*step) {
	first := steps[0]
	first.noteRefusals()
	for _, s := range steps[1:] {
		s.refusal, s.writes = first.refusal, first.writes
	}
}
