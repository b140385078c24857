package agent

import (
	"cmp"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/otlp"
	"github.com/tenetcm/tenet/runtime/reconcile"
	"github.com/tenetcm/tenet/states"
)

// collectors are those to whom the host's sites have it told what runs do, by their addresses.
type collectors struct {
	mu   sync.Mutex
	list map[string]*otlp.Sender
}

// collector gives whom a run tells what it does; nil: nobody.
func (k *keeper) collector(run *states.StateRun) *otlp.Sender {
	if run == nil || run.Telemetry == nil || run.Telemetry.OTLP == "" {
		return nil
	}
	k.collectors.mu.Lock()
	defer k.collectors.mu.Unlock()
	if known := k.collectors.list[run.Telemetry.OTLP]; known != nil {
		return known
	}
	a := k.agent
	o := otlp.Options{URL: run.Telemetry.OTLP, Headers: a.OTLPHeaders, Service: "tenet-agent", Host: a.Identity.Name(), Warn: a.Log}
	if a.Program != nil {
		o.Version = a.Program.Version
	}
	sender := otlp.New(o)
	if k.collectors.list == nil {
		k.collectors.list = map[string]*otlp.Sender{}
	}
	k.collectors.list[run.Telemetry.OTLP] = sender
	return sender
}

// closeCollectors sends what is left.
func (k *keeper) closeCollectors() {
	k.collectors.mu.Lock()
	defer k.collectors.mu.Unlock()
	var wait fault.Group
	for _, sender := range k.collectors.list {
		wait.Go(sender.Close)
	}
	wait.Wait()
}

// trace begins to tell of a run. The first apply of a revision is a part of the trace of that, which all hosts derive from its name; what keeps the
// host so later has a trace of its own.
func (s *siteLoop) trace(job *machine.Job, t reconcile.Target) *otlp.Run {
	a := s.keeper.agent
	about := otlp.About{Site: s.site, Host: a.Identity.Name(), Execution: job.Execution}
	revision := otlp.Revision(s.site, t.Revision)
	if s.loop.State().Applied == t.Digest {
		about.Link = revision
	} else {
		about.Parent.ID = revision.ID // without a parent: hosts stand side by side
	}
	return s.keeper.collector(job.Run).Run(about)
}

// measure tells where the loop stands.
func (s *siteLoop) measure(state reconcile.State) {
	if s.collector == nil {
		return
	}
	l := otlp.Loop{Site: s.site, Host: s.keeper.agent.Identity.Name(), Phase: string(cmp.Or(state.Phase, reconcile.Waiting)), Drift: s.drift}
	for _, phase := range reconcile.Phases() {
		l.Phases = append(l.Phases, string(phase))
	}
	s.collector.Loop(l)
}
