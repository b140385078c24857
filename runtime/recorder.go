package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// recorder numbers the events, hands them to the journal and to the caller, and
// keeps the sums.
type recorder struct {
	engine *engine
	stop   context.CancelCauseFunc
	mask   *masker

	mu             sync.Mutex
	seq            int64
	counts         states.Counts
	reports        map[string]*partState // by address
	needsSync      bool                  // since the host was last synced
	hasChanged     bool                  // anything, or what is wanted of it: then the end of the run is durable
	hasNewResource bool                  // a resource, since the journal was last synced
	err            error                 // of the journal; nothing new is begun after it
	shownNotes     map[[2]string]bool    // that were told, by address and text
}

func newRecorder(e *engine, stop context.CancelCauseFunc) *recorder {
	parts := 0
	for i := range e.run.Invocations {
		parts += len(e.run.Invocations[i].Parts)
	}
	return &recorder{
		engine: e, stop: stop, mask: newMasker(e.run, e.options.Registry),
		reports: make(map[string]*partState, parts),
	}
}

// start is the first event.
func (r *recorder) start() {
	mode := "apply"
	if r.engine.planning() {
		mode = "plan"
	}
	run := r.engine.run
	ev := states.Event{
		Type: states.EventRun, Format: states.EventFormat, Mode: mode,
		Host: run.Host, Site: run.Site, Revision: run.Revision,
	}
	if r.engine.resumption != nil {
		ev = r.resumeEvent()
	}
	if ev.Run = r.runID(); ev.Run != "" {
		ev.Boot, ev.Origin = journal.BootID(), r.engine.options.Origin
	}
	r.emit(ev)
}

// emit completes and hands on an event.
func (r *recorder) emit(ev states.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitLocked(ev)
}

// emitLocked gives the event its number and time, and passes it on; it returns
// the time.
func (r *recorder) emitLocked(ev states.Event) time.Time {
	r.seq++
	ev.Seq, ev.Time = r.seq, time.Now().UTC()
	boundTexts(&ev)
	if j := r.engine.options.Journal; j != nil && r.err == nil {
		if err := j.Append(ev); err != nil {
			r.stopRun(err)
		}
	}
	if l := r.engine.debts.ledger; l != nil {
		l.Add(&ev)
	}
	if r.engine.options.Events != nil {
		r.engine.options.Events(ev)
	}
	return ev.Time
}

// stopRun stops the run: what cannot be recorded must not be done.
func (r *recorder) stopRun(err error) {
	r.err = err
	r.stop(err)
}

// begin records that parts are about to act, in one go. The records outlive this
// process on return, and a loss of power where a handler may be owed, or no Read
// can tell what came of it; so does then everything done before.
func (r *recorder) begin(steps ...*step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	durable := false
	for _, s := range steps {
		durable = r.openConfirmations(s.node) || durable
		ev := r.event(states.EventBegin, s)
		ev.Action, ev.Handlers = s.action, s.node.possibleDebts(s.part.Address)
		if made := r.creationOf(s); made != nil {
			r.hasNewResource = true
			s.creation = made
			ev.Resource, ev.Requires = made, requirements(s)
			r.wantLate(s)
		}
		if ev.Manifest = s.manifest; ev.Resource == nil && s.isFirstManifest { // which nobody can name without a secret
			ev.Manifest = ""
		}
		r.emitLocked(ev)
		durable = durable || s.module.IsAct() || s.node.inv.Node != nil || !subset(ev.Handlers, s.node.durable)
	}
	if j := r.engine.options.Journal; j != nil && r.err == nil {
		err := error(nil)
		if durable {
			err = r.durable()
		} else {
			err = j.Flush()
		}
		if err != nil {
			r.stopRun(err)
		}
	}
	for _, s := range steps {
		if durable && r.err == nil {
			s.node.durable = s.node.possibleDebts(s.part.Address)
		}
	}
	r.needsSync, r.hasChanged = true, true
	return r.err
}

// event is what all events of a part have.
func (r *recorder) event(typ string, s *step) states.Event {
	return states.Event{
		Type: typ, Address: s.part.Address, ID: s.part.ID, Invocation: s.node.address,
		Part: s.part.Type, Key: r.key(s.part), Ensure: s.part.Ensure,
	}
}

// key is the part's key as it is shown. One that was computed here may hold a
// secret that a program has printed; no other can.
func (r *recorder) key(p *states.Part) string {
	if len(p.Results) == 0 {
		return p.Key
	}
	return r.mask.text(p.Key)
}

// recordRetry records a failed attempt that is made again.
func (r *recorder) recordRetry(s *step) {
	ev := r.event(states.EventRetry, s)
	ev.Attempt, ev.Error = s.attempts, r.failureOf(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Retried++
	r.emitLocked(ev)
}

// runID names the run in the records; empty: there are none.
func (r *recorder) runID() string {
	if j := r.engine.options.Journal; j != nil {
		return j.ID()
	}
	return ""
}

func (r *recorder) failureOf(s *step) *states.Failure {
	if s.err == nil {
		return nil
	}
	f := failure(s.err, r.source(s.part.Address, s.node.address))
	s.explainPlace(f)
	s.lackRights(f)
	if s.part.Options.Sensitive {
		f.Message = hiddenMessage
	}
	f.Message, f.Hint = r.mask.part(s, f.Message), r.mask.part(s, f.Hint)
	return f
}

// source is the place of the nearest declaration, "file:line:column".
func (r *recorder) source(addresses ...string) string {
	for _, a := range addresses {
		for _, name := range []string{a, states.WithoutWave(a)} {
			if place, ok := r.engine.options.Sources[name]; ok {
				return place.String()
			}
		}
	}
	return ""
}

// recordPart records how a part ended.
func (r *recorder) recordPart(s *step) {
	r.engine.keepResult(s)
	ev := r.event(states.EventPart, s)
	ev.Error, ev.Reason = r.failureOf(s), s.reason
	if s.outcome != states.Blocked { // whose reason is an address
		ev.Reason = r.mask.part(s, s.reason)
	}
	planned := r.engine.planning() && s.outcome != states.Skipped && s.outcome != states.Blocked && s.outcome != states.Idle
	switch {
	case planned:
		r.foretell(s, &ev)
		ev.Wave = waveReason(s.node.inv)
	default:
		if ev.Outcome = s.outcome; s.doubt != "" && s.outcome == states.Skipped {
			ev.Certain, ev.Reason = new(false), r.mask.part(s, "skipped as things are, "+s.reason+"; "+s.doubt)
			ev.Cause = s.rootCause()
		}
		if s.doubt != "" && s.outcome == states.Blocked {
			ev.Certain, ev.Cause = new(false), s.rootCause()
		}
		if s.outcome == states.Changed || s.outcome == states.Failed || s.outcome == states.Unknown {
			ev.Action = s.action
		}
	}
	if s.outcome == states.Changed || s.outcome == states.Failed {
		ev.Changes = r.mask.changes(s)
	}
	if !s.started.IsZero() {
		ev.Duration = time.Since(s.started)
	}
	ev.Output = r.outputOf(s)
	if s.attempts > 1 {
		ev.Attempt = s.attempts
	}
	if s.outcome == states.Failed && (s.have != nil || !s.isHaveKnown) {
		ev.Resource = s.creation // it failed, and is there all the same
	}
	if !r.engine.planning() {
		ev.Owes = s.node.debtsOf(s.part.Address, s.notification(s.doubt))
		if isFailure(s.outcome) && s.outcome != states.Blocked && !s.part.Options.IgnoreFailure && !s.node.inv.Options.IgnoreFailure {
			ev.Owes = unite(ev.Owes, s.node.debtsOfBlocks())
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if s.isAnnounced { // another part's begin may have synced while this one acted
		r.needsSync = true
	}
	if s.isAnnounced && !subset(s.node.durable, ev.Owes) {
		s.node.durable = nil // what was written down ahead has proved not to be owed
	}
	if s.outcome == states.Unchanged || s.outcome == states.Changed {
		r.wantLate(s)
	}
	r.count(&ev)
	ev.Time = r.emitLocked(ev)
	r.updateReport(s, &ev)
}

// count adds a part to the sums.
func (r *recorder) count(ev *states.Event) {
	c := &r.counts
	did := ev.Action
	if ev.Outcome != "" && ev.Outcome != states.Changed {
		did = ""
	}
	switch did {
	case states.Create:
		c.Create++
	case states.Update:
		c.Update++
	case states.Remove:
		c.Remove++
	case states.Execute:
		c.Execute++
	}
	switch {
	case ev.Certain == nil || *ev.Certain:
	case ev.Action == states.NoChange, ev.Outcome == states.Skipped:
		c.AsThingsAre++
	default:
		c.Maybe++
	}
	switch outcome := ev.Outcome; {
	case outcome == states.Changed, outcome == "" && ev.Action != states.NoChange:
		c.Changed++
	case outcome == states.Unchanged, outcome == "":
		c.Unchanged++
	case outcome == states.Failed:
		c.Failed++
	case outcome == states.Blocked:
		c.Blocked++
	case outcome == states.Skipped:
		c.Skipped++
	case outcome == states.Idle:
		c.Idle++
	case outcome == states.Unknown:
		c.Unknown++
	}
}

// recordInvocation records the end of a block, or of an invocation of several parts:
// that of one part is told by the part's own event.
func (r *recorder) recordInvocation(n *node, reason string) {
	if n.isRecorded || n.inv != nil && len(n.inv.Parts) == 1 && !n.isStartRecorded {
		return
	}
	ev := states.Event{Type: states.EventInvocation, Address: n.address, Outcome: n.outcome, Reason: reason}
	if n.outcome != states.Blocked { // whose reason is an address
		ev.Reason = r.mask.text(reason)
	}
	if n.blockedBy != "" && n.blockedBy != n.address && reason == "" {
		ev.Reason = "by " + n.blockedBy
	}
	if n.block != nil && !r.engine.planning() {
		ev.Owes = n.debtsAsBlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.isStartRecorded { // what it did is to outlast a loss of power if the record that it has paid does
		if err := r.syncHost(); err != nil {
			r.stopRun(err)
			return
		}
	}
	r.emitLocked(ev)
}

// outputOf keeps what an act printed, and gives what it says to the user.
func (r *recorder) outputOf(s *step) string {
	if s.actOutput == nil || s.part.Options.Sensitive {
		return ""
	}
	values := s.module.Encode(s.actOutput)
	for _, stream := range []string{"stdout", "stderr"} {
		text, _ := values[stream].(string)
		if j := r.engine.options.Journal; j != nil && text != "" {
			if err := j.Output(s.part.Address, stream, []byte(r.mask.text(text))); err != nil {
				r.fail(err)
			}
		}
	}
	message, _ := values["message"].(string)
	if message != "" && s.hides("message") { // known by its mark, however short it is
		return journal.Masked
	}
	return r.mask.text(message)
}

// finish records the end, and gives the sums and the report.
func (r *recorder) finish(interrupted bool) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := &Result{Counts: r.counts, Interrupted: interrupted, Failed: r.runFailed()}
	result.Report = r.report()
	counts := r.counts
	switch j := r.engine.options.Journal; {
	case j == nil || !r.hasChanged:
	case r.err == nil:
		if err := r.durable(); err != nil {
			r.stopRun(err)
		}
	case r.needsSync: // the records of what was done become durable as the run is closed, whatever has stopped it
		r.err = journal.Join(r.err, r.syncHostNow())
	}
	r.emitLocked(states.Event{Type: states.EventSummary, Counts: &counts})
	return result
}
