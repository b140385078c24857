package agent

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry/collectortest"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/otlp"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/states"
)

// The first apply of a revision is a part of its trace, and what keeps the host so later has a trace of its own, with a link to that. Where the loop stands is told, too.
func TestTelemetry(t *testing.T) {
	c := collectortest.New(t)
	w := newWorld(t)
	w.telemetry = &site.Telemetry{OTLP: c.URL}
	begun := time.Now()
	w.machine.events = []states.Event{
		{Seq: 1, Time: begun, Type: states.EventRun, Run: "00000001", Mode: "apply", Revision: "sha256:1"},
		{Seq: 2, Time: begun.Add(2 * time.Second), Type: states.EventPart, Invocation: "file.page", Address: "file.page", Part: "file", Outcome: states.Changed, Action: states.Update, Duration: time.Second},
		{Seq: 3, Time: begun.Add(2 * time.Second), Type: states.EventSummary, Counts: &states.Counts{Changed: 1}},
	}
	w.assignKept("shop", "7", &reconcile.Options{Poll: time.Second, Jitter: -1})
	w.mustStart()
	until := func(applies int) {
		t.Helper()
		for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			n, isAtRest := 0, false
			for _, item := range w.told() {
				if item.Run != nil && !item.Run.Ended.IsZero() {
					n++
					isAtRest = false
				}
				if item.Loop != nil {
					isAtRest = item.Loop.Phase == control.PhaseWaiting
				}
			}
			if n >= applies && isAtRest {
				return
			}
			if time.Since(begun) > 30*time.Second {
				t.Fatalf("%d applies: %v", n, w.logs)
			}
		}
	}
	until(1)
	w.machine.drift("shop")
	until(2)
	w.end()

	place := otlp.Revision("shop", "7")
	trace := hex.EncodeToString(place.ID[:])
	spans := c.Spans()
	var runs []collectortest.Span
	for _, s := range spans {
		if s.Name == "run" {
			runs = append(runs, s)
		}
	}
	if err := collectortest.Whole(spans[:len(spans)/2]); err != nil {
		t.Error(err)
	}
	if len(runs) != 2 {
		t.Fatalf("%+v", spans)
	}
	if runs[0].TraceID != trace || runs[0].ParentSpanID != "" || len(runs[0].Links) != 0 {
		t.Errorf("the first run is not of the revision: %+v", runs[0])
	}
	if runs[1].TraceID == trace || runs[1].ParentSpanID != "" || len(runs[1].Links) != 1 || runs[1].Links[0].TraceID != trace {
		t.Errorf("the second run is of the revision: %+v", runs[1])
	}
	if collectortest.Value(c.Resource(), "service.name") != "tenet-agent" || collectortest.Value(c.Resource(), "service.version") != "v1.0.0" {
		t.Errorf("%+v", c.Resource())
	}
	values := map[string]float64{}
	for _, m := range c.Metrics() {
		for _, p := range m.Points() {
			values[m.Name+" "+collectortest.Value(p.Attributes, "tenet.phase")] = p.AsDouble
		}
	}
	for name, want := range map[string]float64{"tenet.runs ": 2, "tenet.changes ": 2, "tenet.drift ": 0, "tenet.phase waiting": 1, "tenet.phase applying": 0} {
		if got, is := values[name]; !is || got != want {
			t.Errorf("%s is %v (%v), not %v", name, got, is, want)
		}
	}
}
