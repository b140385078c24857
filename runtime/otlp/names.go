// Package otlp tells a collector of OpenTelemetry what runs do: of their events it makes spans and numbers, and sends them beside the run, which
// never waits for it. Nothing that may be sensitive is among what is sent: no keys, values, reasons or texts of errors, but addresses, types,
// actions, outcomes and codes.
package otlp

// Names of spans.
const (
	spanExecution  = "execution"  // of a command on its hosts
	spanRun        = "run"        // of a host
	spanInvocation = "invocation" // of a state
	spanPart       = "part"
)

// Names of attributes. Those of resources that are not here are OpenTelemetry's own.
const (
	attrSite      = "tenet.site"
	attrHost      = "tenet.host"
	attrRun       = "tenet.run"
	attrExecution = "tenet.execution"
	attrRevision  = "tenet.revision"
	attrAddress   = "tenet.address"
	attrType      = "tenet.type"
	attrAction    = "tenet.action"
	attrOutcome   = "tenet.outcome"
	attrAttempts  = "tenet.attempts"
	attrPhase     = "tenet.phase"
	attrHosts     = "tenet.hosts"
	attrChanged   = "tenet.changed"
	attrUnchanged = "tenet.unchanged"
	attrFailed    = "tenet.failed"
	attrLeftOut   = "tenet.spans_left_out"
	attrError     = "error.type" // OpenTelemetry's own
)

// Names of metrics.
const (
	metricRuns     = "tenet.runs"
	metricDuration = "tenet.run.duration"
	metricChanges  = "tenet.changes"
	metricFailures = "tenet.failures"
	metricDrift    = "tenet.drift"
	metricPhase    = "tenet.phase"
	metricCheck    = "tenet.check"
)

// Outcomes of runs and executions.
const (
	outcomeDone        = "done"
	outcomeFailed      = "failed"
	outcomeInterrupted = "interrupted" // it has not ended, as far as is known
)

// noCode is what OpenTelemetry calls an error that has no name.
const noCode = "_OTHER"
