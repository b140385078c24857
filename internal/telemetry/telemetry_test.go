package telemetry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var sample = []Metric{
	One("tenet_writes_total", Counter, "Writes.", 7),
	{Name: "tenet_share", Kind: Gauge, Help: "A share.", Points: []Point{{Labels: []Label{{"a", "1"}, {"b", "x\"\\\n\t"}}, Value: 0.25}}},
	By("tenet_hosts", Gauge, "Hosts.", "state", map[string]float64{"pending": 2, "active": 1e7}),
}

func TestText(t *testing.T) {
	const want = `# HELP tenet_writes_total Writes.
# TYPE tenet_writes_total counter
tenet_writes_total 7
# HELP tenet_share A share.
# TYPE tenet_share gauge
tenet_share{a="1",b="x\"\\\n	"} 0.25
# HELP tenet_hosts Hosts.
# TYPE tenet_hosts gauge
tenet_hosts{state="active"} 10000000
tenet_hosts{state="pending"} 2
`
	if got := string(Text(sample)); got != want {
		t.Errorf("%s", got)
	}
}

// payload is what a collector reads of ExportMetricsServiceRequest, written anew by its description: opentelemetry/proto/metrics/v1/metrics.proto.
type payload struct {
	ResourceMetrics []struct {
		Resource     struct{ Attributes []attribute }
		ScopeMetrics []struct {
			Scope   struct{ Name string }
			Metrics []struct {
				Name, Description, Unit string
				Gauge                   *struct{ DataPoints []point }
				Sum                     *struct {
					DataPoints             []point
					AggregationTemporality int
					IsMonotonic            bool
				}
			}
		}
	}
}

type attribute struct {
	Key   string
	Value struct{ StringValue string }
}

type point struct {
	Attributes        []attribute
	StartTimeUnixNano uint64 `json:",string"`
	TimeUnixNano      uint64 `json:",string"`
	AsDouble          float64
}

func TestExport(t *testing.T) {
	var got payload
	var path, kind, key string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, kind, key = r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Key")
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer collector.Close()
	start := time.Now().Add(-time.Hour)
	e := Exporter{URL: collector.URL, Header: map[string]string{"X-Key": "secret"}, Resource: []Label{{"service.name", "tenet-server"}}, Start: start}
	if err := e.Export(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	if path != "/v1/metrics" || kind != "application/json" || key != "secret" {
		t.Errorf("%s %s %s", path, kind, key)
	}
	if len(got.ResourceMetrics) != 1 || len(got.ResourceMetrics[0].ScopeMetrics) != 1 || got.ResourceMetrics[0].Resource.Attributes[0].Value.StringValue != "tenet-server" {
		t.Fatalf("%+v", got)
	}
	metrics := got.ResourceMetrics[0].ScopeMetrics[0].Metrics
	if len(metrics) != len(sample) {
		t.Fatalf("%+v", metrics)
	}
	sum := metrics[0].Sum
	if metrics[0].Name != "tenet_writes_total" || sum == nil || !sum.IsMonotonic || sum.AggregationTemporality != 2 || sum.DataPoints[0].AsDouble != 7 ||
		sum.DataPoints[0].StartTimeUnixNano != uint64(start.UnixNano()) || sum.DataPoints[0].TimeUnixNano < uint64(start.Add(time.Hour).UnixNano()) {
		t.Errorf("%+v", metrics[0])
	}
	gauge := metrics[2].Gauge
	if gauge == nil || len(gauge.DataPoints) != 2 || gauge.DataPoints[1].Attributes[0] != (attribute{"state", struct{ StringValue string }{"pending"}}) || gauge.DataPoints[1].AsDouble != 2 {
		t.Errorf("%+v", metrics[2])
	}
}

func TestExportFails(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer other.Close()
	for name, handle := range map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"rejected": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}`)
		},
		"closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		collector := httptest.NewServer(handle)
		e := Exporter{URL: collector.URL + "/v1/metrics", Header: map[string]string{"X-Key": "secret"}}
		err := e.Export(t.Context(), sample)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		collector.Close()
	}
	if followed.Load() {
		t.Error("what is meant for the collector came to another place")
	}
}

// What fails is told once until it goes well again, and the last numbers are sent at the end.
func TestRun(t *testing.T) {
	var asked atomic.Int64
	var isBroken atomic.Bool
	isBroken.Store(true)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if isBroken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer collector.Close()
	wait := func(n int64) {
		for from, deadline := asked.Load(), time.Now().Add(time.Minute); asked.Load() < from+n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nothing is sent")
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failures, ended := make(chan error, 1000), make(chan bool)
	e := Exporter{URL: collector.URL, Every: time.Millisecond}
	go func() {
		e.Run(ctx, func() []Metric { return sample }, func(err error) { failures <- err })
		close(ended)
	}()
	wait(3)
	if len(failures) != 1 {
		t.Errorf("%d failures are told", len(failures))
	}
	isBroken.Store(false)
	wait(3)
	isBroken.Store(true)
	wait(3)
	if len(failures) != 2 {
		t.Errorf("%d failures are told", len(failures))
	}
	cancel()
	<-ended
	late := Exporter{URL: collector.URL, Every: time.Hour}
	before := asked.Load()
	late.Run(ctx, func() []Metric { return sample }, func(error) {})
	if asked.Load() != before+1 {
		t.Error("nothing is sent at the end")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"http://c:4318": "http://c:4318/v1/metrics", "https://c/otlp/": "https://c/otlp/v1/metrics", "https://c/v1/metrics": "https://c/v1/metrics"} {
		if got, err := ParseURL(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"", "c:4318", "grpc://c:4317", "http://", "http://u:p@c", "http://c?x=1", "http://c\n"} {
		if _, err := ParseURL(wrong); err == nil {
			t.Errorf("%q is taken for an address", wrong)
		}
	}
	h, err := ParseHeaders("api-key=a%20b, x = y=z ")
	if err != nil || h["api-key"] != "a b" || h["x"] != "y=z" || len(h) != 2 {
		t.Error(h, err)
	}
	for _, wrong := range []string{"a", "=b", "a=%zz", "a=b%0d%0ac", "a b=c", "a=b,"} {
		if _, err := ParseHeaders(wrong); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q is taken for headers", wrong)
		}
	}
}

func TestTraceparent(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	place, ok := ParseTraceparent(good)
	if !ok || place.Traceparent() != good {
		t.Errorf("%v %s", ok, place.Traceparent())
	}
	if later, ok := ParseTraceparent("01" + good[2:] + "-more"); !ok || later != place {
		t.Error("a later version is not read")
	}
	for _, wrong := range []string{"", "00", strings.ToUpper(good), good + "-x", "ff" + good[2:], "0" + good, good[:35] + "-0000000000000000-01", "00-" + strings.Repeat("0", 32) + good[35:], strings.Replace(good, "0af", "0xx", 1), good[:50]} {
		if place, ok := ParseTraceparent(wrong); ok || !place.IsZero() {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// The ids are what docs/telemetry.md says: others derive them, too.
func TestTraceOf(t *testing.T) {
	sum := sha256.Sum256([]byte("tenet/1 trace\x00shop\x005"))
	if got := TraceOf("shop", "5"); !bytes.Equal(got.ID[:], sum[:16]) || got.Span != SpanOf("shop", "5") || got.Span == SpanOf("shop5") {
		t.Errorf("%x", got)
	}
}

func TestHistogramText(t *testing.T) {
	const want = `# HELP took How long.
# TYPE took histogram
took_bucket{a="1",le="0.5"} 2
took_bucket{a="1",le="1"} 2
took_bucket{a="1",le="+Inf"} 3
took_sum{a="1"} 4.5
took_count{a="1"} 3
`
	m := Metric{Name: "took", Kind: Histogram, Help: "How long.", Bounds: []float64{0.5, 1}, Points: []Point{{Labels: []Label{{"a", "1"}}, Value: 4.5, Buckets: []uint64{2, 0, 1}}}}
	if got := string(Text([]Metric{m})); got != want {
		t.Errorf("%s", got)
	}
}
