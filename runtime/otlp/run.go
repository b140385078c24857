package otlp

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/states"
)

// About says what a run is of.
type About struct {
	Site, Host string
	// Execution is what the run is a part of; empty: it is for itself.
	Execution string
	// Parent is where it belongs in a trace; zero: it is the beginning of one of its own.
	Parent telemetry.Trace
	// Link is a place in another trace that has led to it; zero: none.
	Link telemetry.Trace
}

// maxSpans bounds the spans of one run: what is more is counted.
const maxSpans = 20_000

// Run makes spans and numbers of one run on one host. A nil Run makes none.
type Run struct {
	sender *Sender
	about  About

	mu      sync.Mutex
	id      string
	first   int64 // the number of the event with which it began, here
	begin   time.Time
	last    time.Time
	plan    bool
	rev     string
	counts  *states.Counts
	parts   []telemetry.Span
	order   []string // of invocations, by their first event
	open    map[string]*invocation
	leftOut int
	changes map[[2]string]float64 // by type and action
	fails   map[[2]string]float64 // by type and code
	checks  map[string]bool       // by address
	ended   bool
}

// invocation is what is known of an invocation.
type invocation struct {
	start, end time.Time
	outcome    states.Outcome // that its own event has told; empty: of its parts
	worst      states.Outcome // of its parts
}

// Run begins to listen to a run. Without a sender it gives nil.
func (s *Sender) Run(about About) *Run {
	if s == nil {
		return nil
	}
	return &Run{sender: s, about: about, open: map[string]*invocation{}, changes: map[[2]string]float64{}, fails: map[[2]string]float64{}, checks: map[string]bool{}}
}

// Event takes note of an event.
func (r *Run) Event(ev states.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Time.After(r.last) { // clocks are set while something runs
		r.last = ev.Time
	}
	if r.begin.IsZero() {
		r.begin, r.first = ev.Time, ev.Seq
	}
	switch ev.Type {
	case states.EventRun, states.EventResume:
		r.id, r.plan = cmp.Or(ev.Run, r.id), ev.Mode == "plan"
		r.rev = cmp.Or(ev.Revision, r.rev)
		r.about.Host, r.about.Site = cmp.Or(r.about.Host, ev.Host), cmp.Or(r.about.Site, ev.Site)
	case states.EventStart:
		r.invocation(ev.Address).start = ev.Time
	case states.EventPart:
		r.part(&ev)
	case states.EventInvocation:
		if i := r.open[ev.Address]; i != nil { // else it is a block, or one of which nothing ran
			i.end, i.outcome = ev.Time, ev.Outcome
		}
	case states.EventSummary:
		r.counts = ev.Counts
	}
}

func (r *Run) invocation(address string) *invocation {
	i := r.open[address]
	if i == nil {
		i = &invocation{}
		r.open[address] = i
		r.order = append(r.order, address)
	}
	return i
}

// part takes note of the end of a part. One that nobody called has no span.
func (r *Run) part(ev *states.Event) {
	if ev.Outcome == states.Idle {
		return
	}
	start := ev.Time.Add(-ev.Duration)
	i := r.invocation(ev.Invocation)
	if i.start.IsZero() || start.Before(i.start) {
		i.start = start
	}
	if ev.Time.After(i.end) {
		i.end = ev.Time
	}
	if rank(ev.Outcome) > rank(i.worst) {
		i.worst = ev.Outcome
	}
	failed := isFailure(ev.Outcome)
	r.check(ev, failed)
	switch {
	case ev.Outcome == states.Changed:
		r.changes[[2]string{ev.Part, string(ev.Action)}]++
	case failed:
		r.fails[[2]string{ev.Part, codeOf(ev)}]++
	}
	if len(r.parts) >= maxSpans && !failed || len(r.parts) >= 2*maxSpans {
		r.leftOut++
		return
	}
	s := telemetry.Span{Name: spanPart, Start: start, End: ev.Time, IsError: failed,
		Labels: []telemetry.Label{{Name: attrAddress, Value: ev.Address}, {Name: attrType, Value: ev.Part}, {Name: attrOutcome, Value: string(ev.Outcome)}}}
	if ev.Action != "" {
		s.Labels = append(s.Labels, telemetry.Label{Name: attrAction, Value: string(ev.Action)})
	}
	if ev.Attempt > 1 {
		s.Numbers = append(s.Numbers, telemetry.Number{Name: attrAttempts, Value: int64(ev.Attempt)})
	}
	if failed {
		s.Message = codeOf(ev)
		s.Labels = append(s.Labels, telemetry.Label{Name: attrError, Value: s.Message})
	}
	s.ID = telemetry.SpanOf(ev.Invocation, ev.Address, fmt.Sprint(ev.Seq)) // of the run as well, once that is over
	s.Trace.Span = telemetry.SpanOf(ev.Invocation)
	r.parts = append(r.parts, s)
}

// maxChecks bounds the checks of one run that have numbers of their own.
const maxChecks = 1000

// check takes note of a part that changes nothing, but looks whether something is so.
func (r *Run) check(ev *states.Event, failed bool) {
	isCheck := ev.Part == "wait_for" || ev.Part == "assert"
	if !isCheck || !failed && ev.Outcome != states.Unchanged && ev.Outcome != states.Changed {
		return
	}
	if _, known := r.checks[ev.Address]; known || len(r.checks) < maxChecks {
		r.checks[ev.Address] = !failed
	}
}

func codeOf(ev *states.Event) string {
	if ev.Error == nil {
		return noCode
	}
	return cmp.Or(ev.Error.Code, noCode)
}

func isFailure(o states.Outcome) bool { return o == states.Failed || o == states.Unknown }

// rank orders outcomes: that of an invocation is the worst of its parts.
func rank(o states.Outcome) int {
	switch o {
	case states.Failed, states.Unknown:
		return 5
	case states.Blocked:
		return 4
	case states.Changed:
		return 3
	case states.Unchanged:
		return 2
	case states.Skipped:
		return 1
	}
	return 0
}

// End sends what has become of the run. isFailed: something went wrong that is no part's. Whatever is heard of it later is left out.
func (r *Run) End(isFailed bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.id == "" || r.plan { // nothing was begun
		r.ended = true
		return
	}
	r.ended = true
	outcome := outcomeDone
	switch {
	case r.counts == nil:
		outcome = outcomeInterrupted
	case isFailed || r.counts.Failed > 0:
		outcome = outcomeFailed
	}
	r.sender.spans(r.spans(outcome))
	r.sender.numbers.run(r, outcome)
}

// spans makes the whole of the trace: each span begins and ends within its parent.
func (r *Run) spans(outcome string) []telemetry.Span {
	of := []string{r.about.Host, r.id, fmt.Sprint(r.first)}
	parent := r.about.Parent
	if parent.IsZero() {
		parent.ID = telemetry.TraceOf(of...).ID
	}
	in := func(span [8]byte) telemetry.Trace { return telemetry.Trace{ID: parent.ID, Span: span} }
	root := telemetry.Span{Trace: parent, ID: telemetry.SpanOf(of...), Name: spanRun, Start: r.begin, End: r.last, IsError: outcome == outcomeFailed, Link: r.about.Link,
		Labels: []telemetry.Label{{Name: attrSite, Value: r.about.Site}, {Name: attrHost, Value: r.about.Host}, {Name: attrRun, Value: r.id}, {Name: attrRevision, Value: r.rev}, {Name: attrOutcome, Value: outcome}}}
	if root.IsError {
		root.Message = outcomeFailed
	}
	if r.about.Execution != "" {
		root.Labels = append(root.Labels, telemetry.Label{Name: attrExecution, Value: r.about.Execution})
	}
	if c := r.counts; c != nil {
		root.Numbers = append(root.Numbers, telemetry.Number{Name: attrChanged, Value: int64(c.Changed)}, telemetry.Number{Name: attrUnchanged, Value: int64(c.Unchanged)}, telemetry.Number{Name: attrFailed, Value: int64(c.Failed)})
	}
	if r.leftOut > 0 {
		root.Numbers = append(root.Numbers, telemetry.Number{Name: attrLeftOut, Value: int64(r.leftOut)})
	}
	list := make([]telemetry.Span, 0, 1+len(r.order)+len(r.parts))
	list = append(list, root)
	scoped := func(id [8]byte) [8]byte { return telemetry.SpanOf(append(of, string(id[:]))...) }
	for _, address := range r.order {
		i := r.open[address]
		if i.end.IsZero() { // it was under way
			i.end = r.last
		}
		o := cmp.Or(i.outcome, i.worst)
		s := telemetry.Span{Trace: in(root.ID), ID: scoped(telemetry.SpanOf(address)), Name: spanInvocation, Start: i.start, End: i.end, IsError: isFailure(o),
			Labels: []telemetry.Label{{Name: attrAddress, Value: address}, {Name: attrOutcome, Value: string(o)}}}
		if s.IsError {
			s.Message = string(o)
		}
		list = append(list, s)
	}
	for _, s := range r.parts {
		s.ID, s.Trace = scoped(s.ID), in(scoped(s.Trace.Span))
		list = append(list, s)
	}
	clip(list, list[0].Start, list[0].End)
	return list
}

// clip keeps spans within their run: clocks are set while something runs.
func clip(list []telemetry.Span, from, to time.Time) {
	for i := range list {
		s := &list[i]
		if s.Start.Before(from) {
			s.Start = from
		}
		if s.End.After(to) {
			s.End = to
		}
		if s.End.Before(s.Start) {
			s.End = s.Start
		}
	}
}
