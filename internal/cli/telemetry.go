package cli

import (
	"os"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/otlp"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/states"
)

// collectors are those to whom this process tells what runs do, by their addresses.
type collectors struct {
	mu       sync.Mutex
	list     map[string]*otlp.Sender
	warned   sync.Mutex
	warnings []error // that are not told yet: something may be drawn on the terminal
}

// collector gives whom a run tells what it does; nil: nobody.
func (s *client) collector(run *states.StateRun) *otlp.Sender {
	if run == nil || run.Telemetry == nil || run.Telemetry.OTLP == "" {
		return nil
	}
	c := &s.collectors
	here, err := os.Hostname()
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.list[run.Telemetry.OTLP]; known != nil {
		return known
	}
	warn := func(err error) {
		c.warned.Lock()
		defer c.warned.Unlock()
		c.warnings = append(c.warnings, err)
	}
	if err != nil {
		warn(err)
	}
	sender := otlp.New(otlp.Options{URL: run.Telemetry.OTLP, Headers: s.getenv("OTEL_EXPORTER_OTLP_HEADERS"), Service: "tenet", Version: version(), Host: here, IsShort: true, Warn: warn})
	if c.list == nil {
		c.list = map[string]*otlp.Sender{}
	}
	c.list[run.Telemetry.OTLP] = sender
	return sender
}

// closeCollectors sends what is left: at the same time, so that it takes no longer than with one.
func (s *client) closeCollectors() {
	var all fault.Group
	for _, sender := range s.collectors.list {
		all.Go(sender.Close)
	}
	all.Wait()
	s.tellCollectorWarnings()
}

// tellCollectorWarnings tells what could not be told to collectors: nothing else depends on it.
func (s *client) tellCollectorWarnings() {
	c := &s.collectors
	c.warned.Lock()
	list := c.warnings
	c.warnings = nil
	c.warned.Unlock()
	for _, err := range list {
		s.note(machine.Note{Text: "warning: " + err.Error()})
	}
}

// tracing is the runs of an apply, as they are told to a collector.
type tracing struct {
	mu     sync.Mutex
	runs   map[string]*otlp.Run // by machine
	sender *otlp.Sender         // nil: nobody is told so far
	about  otlp.About           // of the execution
	place  telemetry.Trace      // of the execution; zero: each run has a place of its own
	parent telemetry.Trace      // that the caller gives; zero: there is none
	begin  time.Time
}

// trace begins to tell of what a machine is to do.
func (v *fleetRun) trace(name string, j *machine.Job) {
	sender := v.collector(j.Run)
	if v.isPlan || sender == nil {
		return
	}
	about := otlp.About{Site: j.Run.Site, Execution: v.execution}
	if v.hasNames {
		about.Host = name
	}
	t := &v.tracing
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs = map[string]*otlp.Run{}
	}
	t.parent, _ = telemetry.ParseTraceparent(v.getenv("TRACEPARENT"))
	if about.Parent = t.parent; v.execution != "" {
		t.place = telemetry.TraceOf(v.execution)
		if !t.parent.IsZero() {
			t.place.ID = t.parent.ID
		}
		about.Parent = t.place
	}
	t.sender, t.about = sender, about
	t.runs[name] = sender.Run(about)
}

// traceEvent tells of an event of a machine.
func (v *fleetRun) traceEvent(name string, ev states.Event) { v.tracedRun(name).Event(ev) }

// traceEnd tells that a machine has ended.
func (v *fleetRun) traceEnd(name string, o *fleet.Outcome) {
	v.tracedRun(name).End(o.Err != nil || o.Status == fleet.Failed)
}

func (v *fleetRun) tracedRun(name string) *otlp.Run {
	v.tracing.mu.Lock()
	defer v.tracing.mu.Unlock()
	return v.tracing.runs[name]
}

// traceExecution tells of an execution that has ended.
func (v *fleetRun) traceExecution(outcomes []fleet.Outcome) {
	t := &v.tracing
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.place.IsZero() {
		return
	}
	isFailed := false
	for i := range outcomes {
		isFailed = isFailed || outcomes[i].Status != fleet.Done
	}
	t.sender.Execution(t.place, t.parent, t.about, t.begin, len(t.runs), isFailed)
}

// looked notes how much a plan has found to differ.
func (w *watcher) looked(differing int) { w.differing, w.hasLooked = differing, true }

// measure tells where the loop stands, once it is known to whom.
func (w *watcher) measure(phase reconcile.Phase) {
	if w.turn == nil || w.turn.run == nil || w.turn.run.shownJob == nil {
		return
	}
	run := w.turn.run.shownJob.Run
	l := otlp.Loop{Site: run.Site, Host: run.Host, Phase: string(phase), Drift: w.differing}
	if !w.hasLooked {
		l.Drift = -1
	}
	for _, phase := range reconcile.Phases() {
		l.Phases = append(l.Phases, string(phase))
	}
	w.collector(run).Loop(l)
}
