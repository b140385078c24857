package otlp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/internal/telemetry/collectortest"
	"github.com/tenetcm/tenet/states"
)

// at is a moment of the run of the tests.
func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

// sample is a run in which everything happens.
func sample(run string) []states.Event {
	part := func(seq int64, end int, took time.Duration, invocation, name string, o states.Outcome, a states.Action, f *states.Failure) states.Event {
		return states.Event{Seq: seq, Time: at(end), Type: states.EventPart, Invocation: invocation, Address: invocation + "." + name, Part: name, Outcome: o, Action: a, Duration: took, Error: f,
			Key: "/etc/secret-key", Reason: "secret-reason", Output: "secret-output", Changes: []states.Change{{Attribute: "content", To: "secret-value"}}}
	}
	retried := part(4, 4, 2*time.Second, "state.b", "command", states.Changed, states.Execute, nil)
	retried.Attempt = 3
	return []states.Event{
		{Seq: 1, Time: at(0), Type: states.EventRun, Run: run, Mode: "apply", Site: "shop", Host: "self", Revision: "sha256:1"},
		part(2, 1, time.Second, "state.a", "file", states.Unchanged, "", nil),
		part(3, 2, time.Second, "state.b", "file", states.Changed, states.Create, nil),
		retried,
		{Seq: 5, Time: at(4), Type: states.EventInvocation, Address: "state.b", Outcome: states.Changed},
		{Seq: 6, Time: at(4), Type: states.EventStart, Address: "state.h"},
		part(7, 6, time.Second, "state.h", "service", states.Failed, states.Update, &states.Failure{Code: "timeout", Message: "secret-message", Hint: "secret-hint"}),
		{Seq: 8, Time: at(6), Type: states.EventInvocation, Address: "state.h", Outcome: states.Failed},
		part(9, 6, 0, "state.c", "file", states.Blocked, "", nil),
		part(10, 6, 0, "state.d", "file", states.Unknown, states.Update, nil),
		part(11, 6, 0, "state.idle", "file", states.Idle, "", nil),
		{Seq: 12, Time: at(6), Type: states.EventInvocation, Address: "block.x", Outcome: states.Failed},
		{Seq: 13, Time: at(7), Type: states.EventSummary, Counts: &states.Counts{Changed: 2, Unchanged: 1, Failed: 1, Unknown: 1, Blocked: 1, Idle: 1}},
	}
}

func play(r *Run, events []states.Event) {
	for _, ev := range events {
		r.Event(ev)
	}
}

func byAddress(spans []collectortest.Span) map[string]collectortest.Span {
	list := map[string]collectortest.Span{}
	for _, s := range spans {
		list[s.Name+" "+collectortest.Value(s.Attributes, "tenet.address")] = s
	}
	return list
}

// A run is a trace: parts in invocations in the run, in the execution; what has failed says so, and nothing else.
func TestTrace(t *testing.T) {
	c := collectortest.New(t)
	s := New(Options{URL: c.URL, Service: "tenet", Version: "1.2.3", Host: "here", Headers: "X-Key=k", Warn: func(err error) { t.Error(err) }})
	place := telemetry.TraceOf("x1")
	about := About{Site: "shop", Host: "web1", Execution: "x1", Parent: place}
	r := s.Run(about)
	play(r, sample("r1"))
	r.End(false)
	r.Event(states.Event{Type: states.EventPart})
	r.End(true)
	s.Execution(place, telemetry.Trace{}, about, at(-1), 1, true)
	s.Close()
	spans := c.Spans()
	spans[len(spans)-1].EndTimeUnixNano = uint64(at(100).UnixNano())
	if err := collectortest.Whole(spans); err != nil {
		t.Error(err)
	}
	got := byAddress(spans)
	var names []string
	for name, s := range got {
		status := ""
		if s.Status.Code != 0 {
			status = fmt.Sprintf(" %d %s", s.Status.Code, s.Status.Message)
		}
		names = append(names, fmt.Sprintf("%s: %s %ds%s", name, collectortest.Value(s.Attributes, "tenet.outcome"), (s.EndTimeUnixNano-s.StartTimeUnixNano)/1e9, status))
	}
	for _, want := range []string{
		"execution : failed 101s 2 failed", "run : failed 7s 2 failed", "invocation state.a: unchanged 1s", "part state.a.file: unchanged 1s", "invocation state.b: changed 3s", "part state.b.command: changed 2s",
		"part state.b.file: changed 1s", "invocation state.h: failed 2s 2 failed", "part state.h.service: failed 1s 2 timeout", "invocation state.c: blocked 0s", "part state.c.file: blocked 0s",
		"invocation state.d: unknown 0s 2 unknown", "part state.d.file: unknown 0s 2 _OTHER",
	} {
		i := 0
		for i < len(names) && names[i] != want {
			i++
		}
		if i == len(names) {
			t.Errorf("there is no span %q", want)
			continue
		}
		names = append(names[:i], names[i+1:]...)
	}
	if len(names) > 0 {
		t.Errorf("unexpected: %s", strings.Join(names, "\n"))
	}
	if got["part state.h.service"].ParentSpanID != got["invocation state.h"].SpanID || got["invocation state.h"].ParentSpanID != got["run "].SpanID ||
		got["run "].ParentSpanID != got["execution "].SpanID || got["execution "].ParentSpanID != "" {
		t.Error("spans are in other spans than their own")
	}
	if strings.Contains(c.Bodies(), "secret-") {
		t.Errorf("something that may be sensitive is sent: %s", c.Bodies())
	}
	if c.Header().Get("X-Key") != "k" || collectortest.Value(c.Resource(), "service.name") != "tenet" || collectortest.Value(c.Resource(), "service.version") != "1.2.3" || collectortest.Value(c.Resource(), "host.name") != "here" {
		t.Errorf("%v %v", c.Header(), c.Resource())
	}
}

// Plans, and what was never begun, are told to nobody; a run whose end is not known is.
func TestNoRun(t *testing.T) {
	c := collectortest.New(t)
	s := New(Options{URL: c.URL, Warn: func(err error) { t.Error(err) }})
	plan := sample("r1")
	plan[0].Mode = "plan"
	for _, events := range [][]states.Event{plan, nil} {
		r := s.Run(About{})
		play(r, events)
		r.End(true)
	}
	var nobody *Sender
	r := nobody.Run(About{})
	play(r, sample("r2"))
	r.End(false)
	nobody.Close()
	r = s.Run(About{Link: telemetry.TraceOf("shop", "5")})
	play(r, sample("r3")[:3])
	r.End(true)
	s.Close()
	spans := c.Spans()
	if err := collectortest.Whole(spans); err != nil || len(spans) != 5 {
		t.Fatalf("%d spans, %v", len(spans), err)
	}
	run := byAddress(spans)["run "]
	if collectortest.Value(run.Attributes, "tenet.outcome") != "interrupted" || run.Status.Code != 0 || run.ParentSpanID != "" || len(run.Links) != 1 {
		t.Errorf("%+v", run)
	}
}

// What was counted comes as it was, in the way that the process says.
func TestNumbers(t *testing.T) {
	for _, isShort := range []bool{true, false} {
		c := collectortest.New(t)
		s := New(Options{URL: c.URL, IsShort: isShort, Warn: func(err error) { t.Error(err) }})
		for _, id := range []string{"r1", "r2"} {
			r := s.Run(About{Host: "web1"})
			play(r, sample(id))
			r.End(false)
		}
		s.Loop(Loop{Site: "shop", Host: "web1", Phase: "waiting", Phases: []string{"waiting", "help"}, Drift: 3})
		s.Close()
		s.Close()
		var got []string
		for _, m := range c.Metrics() {
			temporality := 0
			if m.Sum != nil {
				temporality = m.Sum.AggregationTemporality
			}
			if m.Histogram != nil {
				temporality = m.Histogram.AggregationTemporality
			}
			if want := map[bool]int{true: 1, false: 2}[isShort]; m.Gauge == nil && temporality != want {
				t.Errorf("%s has the temporality %d", m.Name, temporality)
			}
			for _, p := range m.Points() {
				line := m.Name
				for _, key := range collectortest.Keys(p.Attributes)[1:] {
					line += " " + collectortest.Value(p.Attributes, key)
				}
				got = append(got, fmt.Sprintf("%s = %v %d %v", line, p.AsDouble+p.Sum, p.Count, p.BucketCounts))
			}
		}
		const want = `tenet.runs web1 failed = 2 0 []
tenet.run.duration web1 failed = 14 2 [0 0 0 0 2 0 0 0 0 0 0]
tenet.changes web1 command execute = 2 0 []
tenet.changes web1 file create = 2 0 []
tenet.failures web1 file _OTHER = 2 0 []
tenet.failures web1 service timeout = 2 0 []
tenet.drift web1 = 3 0 []
tenet.phase web1 waiting = 1 0 []
tenet.phase web1 help = 0 0 []`
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s", text)
		}
	}
}

// Checks have numbers of their own, as the latest run of a host has found them: what it does not have any more is gone.
func TestChecks(t *testing.T) {
	c := collectortest.New(t)
	s := New(Options{URL: c.URL, IsShort: true, Warn: func(err error) { t.Error(err) }})
	run := func(host string, outcomes ...states.Outcome) {
		r := s.Run(About{Host: host})
		r.Event(states.Event{Type: states.EventRun, Run: "r", Mode: "apply", Site: "lab", Time: at(0)})
		for i, o := range outcomes {
			address := fmt.Sprintf("wait_for.member[%d]", i)
			r.Event(states.Event{Type: states.EventPart, Part: "wait_for", Address: address, Invocation: address, Outcome: o, Time: at(1)})
			r.Event(states.Event{Type: states.EventPart, Part: "file", Address: "file.x", Invocation: "file.x", Outcome: o, Time: at(1)})
		}
		r.End(false)
	}
	run("edge1", states.Unchanged, states.Unchanged, states.Unchanged)
	run("edge2", states.Unchanged)
	run("edge1", states.Unchanged, states.Failed)
	run("edge3", states.Blocked, states.Skipped)
	s.Close()
	var got []string
	for _, m := range c.Metrics() {
		if m.Name == "tenet.check" {
			got = nil // as it came last
			for _, p := range m.Points() {
				got = append(got, fmt.Sprintf("%s %s = %v", collectortest.Value(p.Attributes, "tenet.host"), collectortest.Value(p.Attributes, "tenet.address"), p.AsDouble))
			}
		}
	}
	const want = `edge1 wait_for.member[0] = 1
edge1 wait_for.member[1] = 0
edge2 wait_for.member[0] = 1`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("%s", text)
	}
}

// warnings takes warnings.
type warnings struct {
	mu   sync.Mutex
	list []error
}

func (w *warnings) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, err)
}

// A collector that is away, or answers nothing, holds nobody up for longer than the patience, and is told once.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed := collectortest.New(t)
	closed.Answer(http.StatusServiceUnavailable)
	for _, address := range []string{"http://127.0.0.1:1", "http://" + silent.Addr().String(), closed.URL} {
		w := &warnings{}
		s := New(Options{URL: address, Patience: 200 * time.Millisecond, Every: time.Millisecond, Warn: w.warn})
		begun := time.Now()
		for i := range 50 {
			r := s.Run(About{})
			play(r, sample(fmt.Sprint("r", i)))
			r.End(false)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("runs have waited for %s: %v", address, took)
		}
		begun = time.Now()
		s.Close()
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("the end has waited for %s: %v", address, took)
		}
		if len(w.list) != 2 || !strings.Contains(w.list[0].Error(), "takes nothing") || !strings.Contains(w.list[1].Error(), "spans of traces were not sent") {
			t.Errorf("%s: %v", address, w.list)
		}
	}
}

// What a collector refuses for good is not sent again, and does not hold up what follows; what it cannot take now is sent again.
func TestRefused(t *testing.T) {
	c := collectortest.New(t)
	w := &warnings{}
	s := New(Options{URL: c.URL, Warn: w.warn})
	send := func(id string) {
		r := s.Run(About{})
		play(r, sample(id))
		r.End(false)
	}
	until := func(what string, is func() bool) {
		for begun := time.Now(); !is(); time.Sleep(time.Millisecond) {
			if time.Since(begun) > 20*time.Second {
				t.Fatal(what)
			}
		}
	}
	queued := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.queue)
	}
	c.Answer(http.StatusBadRequest)
	send("r1")
	until("what was refused stays", func() bool { return queued() == 0 })
	c.Answer(http.StatusServiceUnavailable)
	send("r2")
	until("nothing is told", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.list) > 0 })
	c.Answer(0)
	until("what was not taken is not sent again", func() bool { return len(c.Spans()) > 0 })
	s.Close()
	runs := map[string]int{}
	for _, span := range c.Spans() {
		if span.Name == "run" {
			runs[collectortest.Value(span.Attributes, "tenet.run")]++
		}
	}
	if len(runs) != 1 || runs["r2"] != 1 {
		t.Errorf("%v", runs)
	}
	if last := w.list[len(w.list)-1]; !strings.HasPrefix(last.Error(), "13 spans") && !strings.HasPrefix(last.Error(), "12 spans") {
		t.Error(errors.Join(w.list...))
	}
}

// A run of many parts is told as far as there is place, and what failed before all else.
func TestManyParts(t *testing.T) {
	s := New(Options{URL: "http://127.0.0.1:1", Patience: time.Millisecond})
	defer s.Close()
	r := s.Run(About{})
	r.Event(sample("r1")[0])
	for i := range maxSpans + 10 {
		r.Event(states.Event{Seq: int64(i + 2), Time: at(1), Type: states.EventPart, Invocation: "state.a", Address: fmt.Sprint("state.a.", i), Part: "file", Outcome: states.Changed})
	}
	r.Event(states.Event{Seq: maxSpans + 12, Time: at(1), Type: states.EventPart, Invocation: "state.a", Address: "state.a.last", Part: "file", Outcome: states.Failed})
	spans := r.spans(outcomeFailed)
	if last := spans[len(spans)-1]; len(spans) != maxSpans+3 || !last.IsError {
		t.Errorf("%d spans, %+v", len(spans), last)
	}
	if n := spans[0].Numbers; len(n) != 1 || n[0] != (telemetry.Number{Name: attrLeftOut, Value: 10}) {
		t.Errorf("%v", n)
	}
}
