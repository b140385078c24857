// Package collectortest is a collector of OpenTelemetry for tests. Its types are written by the description of OTLP, and not by what is sent:
// opentelemetry/proto/trace/v1/trace.proto and metrics/v1/metrics.proto, in their JSON. What these do not have is an error.
package collectortest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Attribute is a KeyValue.
type Attribute struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *int64 `json:",string"`
	}
}

// Span is a Span.
type Span struct {
	TraceID, SpanID, ParentSpanID      string
	Name                               string
	Kind                               int
	StartTimeUnixNano, EndTimeUnixNano uint64 `json:",string"`
	Attributes                         []Attribute
	Status                             struct {
		Code    int
		Message string
	}
	Links []struct{ TraceID, SpanID string }
}

// Point is a NumberDataPoint or a HistogramDataPoint.
type Point struct {
	Attributes        []Attribute
	StartTimeUnixNano uint64 `json:",string"`
	TimeUnixNano      uint64 `json:",string"`
	AsDouble          float64
	Count             uint64 `json:",string"`
	Sum               float64
	BucketCounts      []json.Number
	ExplicitBounds    []float64
}

// Metric is a Metric.
type Metric struct {
	Name, Description, Unit string
	Gauge                   *struct{ DataPoints []Point }
	Sum                     *struct {
		DataPoints             []Point
		AggregationTemporality int
		IsMonotonic            bool
	}
	Histogram *struct {
		DataPoints             []Point
		AggregationTemporality int
	}
}

// Points gives the points of a metric, of whatever kind.
func (m *Metric) Points() []Point {
	switch {
	case m.Gauge != nil:
		return m.Gauge.DataPoints
	case m.Sum != nil:
		return m.Sum.DataPoints
	case m.Histogram != nil:
		return m.Histogram.DataPoints
	}
	return nil
}

// Kind names the kind of a metric.
func (m *Metric) Kind() string {
	switch {
	case m.Gauge != nil:
		return "gauge"
	case m.Sum != nil && m.Sum.IsMonotonic:
		return "counter"
	case m.Histogram != nil:
		return "histogram"
	}
	return ""
}

// Value gives the value of an attribute as text; empty: it is not there.
func Value(list []Attribute, key string) string {
	for _, a := range list {
		switch {
		case a.Key != key:
		case a.Value.StringValue != nil:
			return *a.Value.StringValue
		case a.Value.IntValue != nil:
			return fmt.Sprint(*a.Value.IntValue)
		}
	}
	return ""
}

// Keys gives the names of attributes.
func Keys(list []Attribute) (keys []string) {
	for _, a := range list {
		keys = append(keys, a.Key)
	}
	return keys
}

type resource struct{ Attributes []Attribute }

type scope struct{ Name string }

type traces struct {
	ResourceSpans []struct {
		Resource   resource
		ScopeSpans []struct {
			Scope scope
			Spans []Span
		}
	}
}

type metrics struct {
	ResourceMetrics []struct {
		Resource     resource
		ScopeMetrics []struct {
			Scope   scope
			Metrics []Metric
		}
	}
}

// Collector has what it was sent.
type Collector struct {
	URL    string
	server *httptest.Server
	wrong  func(format string, args ...any)

	mu       sync.Mutex
	spans    []Span
	metrics  []Metric
	resource []Attribute
	bodies   []byte
	header   http.Header
	answer   int
}

// New begins a collector, which ends with the test.
func New(t testing.TB) *Collector {
	c := Start(t.Errorf)
	t.Cleanup(c.Close)
	return c
}

// Start begins a collector, which tells what is wrong with what it is sent.
func Start(wrong func(format string, args ...any)) *Collector {
	c := &Collector{wrong: wrong}
	c.server = httptest.NewServer(c)
	c.URL = c.server.URL
	return c
}

// Close ends it.
func (c *Collector) Close() { c.server.Close() }

// Answer has it refuse everything with a status; 0: it takes everything.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = status
}

// Spans gives the spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Metrics gives the metrics so far.
func (c *Collector) Metrics() []Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Metric(nil), c.metrics...)
}

// Resource gives the attributes of who has sent last.
func (c *Collector) Resource() []Attribute {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Bodies is everything that was sent.
func (c *Collector) Bodies() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.bodies)
}

// Header is that of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}

// ServeHTTP takes a message.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who sends has gone away
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = r.Header
	if c.answer != 0 {
		w.WriteHeader(c.answer)
		return
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		c.wrong("%s %s", r.Method, r.Header.Get("Content-Type"))
	}
	c.bodies = append(c.bodies, body...)
	switch r.URL.Path {
	case "/v1/traces":
		var m traces
		c.decode(body, &m)
		for _, of := range m.ResourceSpans {
			c.resource = of.Resource.Attributes
			for _, of := range of.ScopeSpans {
				c.spans = append(c.spans, of.Spans...)
			}
		}
	case "/v1/metrics":
		var m metrics
		c.decode(body, &m)
		for _, of := range m.ResourceMetrics {
			c.resource = of.Resource.Attributes
			for _, of := range of.ScopeMetrics {
				c.metrics = append(c.metrics, of.Metrics...)
			}
		}
	default:
		c.wrong("a message to %s", r.URL.Path)
	}
	_, _ = io.WriteString(w, "{}")
}

func (c *Collector) decode(body []byte, into any) {
	if err := strict(body, into); err != nil {
		c.wrong("%v: %s", err, body)
	}
}

// Whole says what is wrong with spans as one trace: ids are none or doubled, a parent is missing, or a span is not within its parent. roots are the
// ids of parents that are elsewhere.
func Whole(spans []Span, roots ...string) error {
	known := map[string]*Span{}
	for i := range spans {
		s := &spans[i]
		for id, size := range map[string]int{s.TraceID: 16, s.SpanID: 8} {
			if raw, err := hex.DecodeString(id); err != nil || len(raw) != size {
				return fmt.Errorf("%s: %q is no id", s.Name, id)
			}
		}
		if known[s.SpanID] != nil {
			return fmt.Errorf("%s and %s have the same id", s.Name, known[s.SpanID].Name)
		}
		known[s.SpanID] = s
	}
	for i := range spans {
		s := &spans[i]
		parent := known[s.ParentSpanID]
		switch {
		case s.ParentSpanID == "" || parent == nil && slices.Contains(roots, s.ParentSpanID):
		case parent == nil:
			return fmt.Errorf("%s has a parent that is not there", s.Name)
		case parent.TraceID != s.TraceID:
			return fmt.Errorf("%s is in another trace than its parent", s.Name)
		case s.StartTimeUnixNano < parent.StartTimeUnixNano || s.EndTimeUnixNano > parent.EndTimeUnixNano:
			return fmt.Errorf("%s is not within its parent", s.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			return fmt.Errorf("%s ends before it begins", s.Name)
		}
	}
	return nil
}

// strict reads JSON in which nothing is unknown.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
