package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Trace is where something stands in a trace: the trace, and the span that is the parent of what follows. The zero value is no place.
type Trace struct {
	ID   [16]byte
	Span [8]byte
}

// IsZero tells whether it is no place.
func (t Trace) IsZero() bool { return t.ID == [16]byte{} }

// TraceOf derives a place from what identifies something, so that whoever knows that gives spans of the same trace without being told.
func TraceOf(parts ...string) (t Trace) {
	copy(t.ID[:], digest("trace", parts))
	t.Span = SpanOf(parts...)
	return t
}

// SpanOf derives the id of a span from what identifies it.
func SpanOf(parts ...string) (id [8]byte) {
	copy(id[:], digest("span", parts))
	return id
}

func digest(kind string, parts []string) []byte {
	sum := sha256.Sum256([]byte("tenet/1 " + kind + "\x00" + strings.Join(parts, "\x00")))
	return sum[:]
}

// ParseTraceparent reads what a caller gives as its place in a trace: https://www.w3.org/TR/trace-context/#traceparent-header. What is not in
// that form is no place.
func ParseTraceparent(text string) (t Trace, ok bool) {
	fields := strings.Split(strings.TrimSpace(text), "-")
	if len(fields) < 4 || len(fields[0]) != 2 || fields[0] == "ff" || fields[0] == "00" && len(fields) != 4 || strings.ToLower(text) != text {
		return Trace{}, false
	}
	version, err := hex.DecodeString(fields[0])
	if err != nil || len(version) != 1 || len(fields[1]) != 2*len(t.ID) || len(fields[2]) != 2*len(t.Span) {
		return Trace{}, false
	}
	if _, err := hex.Decode(t.ID[:], []byte(fields[1])); err != nil {
		return Trace{}, false
	}
	if _, err := hex.Decode(t.Span[:], []byte(fields[2])); err != nil || t.IsZero() || t.Span == [8]byte{} {
		return Trace{}, false
	}
	return t, true
}

// Traceparent writes the place as ParseTraceparent reads it.
func (t Trace) Traceparent() string {
	return "00-" + hex.EncodeToString(t.ID[:]) + "-" + hex.EncodeToString(t.Span[:]) + "-01"
}

// Span is something that took its time.
type Span struct {
	Trace      Trace   // the trace, and the parent in it; without one it is a root
	ID         [8]byte // within the trace
	Name       string
	Start, End time.Time
	Labels     []Label
	Numbers    []Number
	// IsError says that it has failed, and Message in a word how.
	IsError bool
	Message string
	// Link is a place in another trace that has led to this; zero: none.
	Link Trace
}

// Number is a name with a whole number.
type Number struct {
	Name  string
	Value int64
}

const (
	tracesPath  = "/v1/traces"
	internal    = 1 // SPAN_KIND_INTERNAL
	statusError = 2 // STATUS_CODE_ERROR
)

// ExportSpans sends spans once.
func (e *Exporter) ExportSpans(ctx context.Context, spans []Span) error {
	list := make([]object, 0, len(spans))
	for i := range spans {
		list = append(list, spans[i].message())
	}
	return e.post(ctx, tracesPath, object{"resourceSpans": []object{{
		"resource":   object{"attributes": attributes(e.Resource)},
		"scopeSpans": []object{{"scope": object{"name": scope}, "spans": list}},
	}}})
}

func (s *Span) message() object {
	values := attributes(s.Labels)
	for _, n := range s.Numbers {
		values = append(values, object{"key": n.Name, "value": object{"intValue": integer(n.Value)}})
	}
	m := object{"traceId": hex.EncodeToString(s.Trace.ID[:]), "spanId": hex.EncodeToString(s.ID[:]), "name": s.Name, "kind": internal,
		"startTimeUnixNano": nanoseconds(s.Start), "endTimeUnixNano": nanoseconds(s.End), "attributes": values}
	if s.Trace.Span != [8]byte{} {
		m["parentSpanId"] = hex.EncodeToString(s.Trace.Span[:])
	}
	if s.IsError {
		m["status"] = object{"code": statusError, "message": s.Message}
	}
	if !s.Link.IsZero() {
		m["links"] = []object{{"traceId": hex.EncodeToString(s.Link.ID[:]), "spanId": hex.EncodeToString(s.Link.Span[:])}}
	}
	return m
}
