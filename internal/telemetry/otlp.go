package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Exporter sends metrics and spans to a collector of OpenTelemetry by OTLP over HTTP, as JSON:
// https://opentelemetry.io/docs/specs/otlp/#otlphttp
type Exporter struct {
	// URL is the collector's, such as http://localhost:4318, or the whole address that ends with /v1/metrics.
	URL string
	// Header is sent with each request, as what a collector demands for authorization. It may be a secret.
	Header map[string]string
	// Resource says whose numbers these are, such as service.name.
	Resource []Label
	Start    time.Time     // of the process: since when counters count
	IsDelta  bool          // counters count since Start alone, which is after what was sent before
	Every    time.Duration // 0: a minute
	Client   *http.Client  // nil: one that waits ten seconds, and follows nobody elsewhere
}

const (
	defaultEvery    = time.Minute
	exportPatience  = 10 * time.Second
	metricsPath     = "/v1/metrics"
	maxAnswer       = 64 << 10
	delta           = 1 // AGGREGATION_TEMPORALITY_DELTA
	cumulative      = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE
	scope           = "tenet"
	contentTypeJSON = "application/json"
)

// ParseURL gives the address to which metrics are sent, of what a person writes: the collector's, or the whole.
func ParseURL(text string) (string, error) { return addressOf(text, metricsPath) }

// addressOf gives the address of a signal.
func addressOf(text, path string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("it is no address such as https://collector.example.com:4318")
	}
	if !strings.HasSuffix(u.Path, path) {
		u.Path = strings.TrimSuffix(u.Path, "/") + path
	}
	return u.String(), nil
}

// ParseHeaders reads headers as OTEL_EXPORTER_OTLP_HEADERS has them: NAME=VALUE with commas between them, percent-encoded. Errors do not repeat values.
func ParseHeaders(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list := map[string]string{}
	for i, one := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(one, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsAny(value, "\r\n\x00") || strings.ContainsAny(name, " \r\n\x00:") {
			return nil, fmt.Errorf("header %d is none", i+1)
		}
		list[name] = value
	}
	return list, nil
}

// Run sends what a function gives now and then, and once more when the context ends. What fails is told once, until it goes well again.
func (e *Exporter) Run(ctx context.Context, gather func() []Metric, failed func(error)) {
	every := e.Every
	if every <= 0 {
		every = defaultEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	isFailing := false
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-ticker.C:
		}
		send, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportPatience)
		err := e.Export(send, gather())
		cancel()
		if err != nil && !isFailing {
			failed(fmt.Errorf("metrics cannot be sent to the collector: %w", err))
		}
		isFailing = err != nil
	}
}

// Export sends metrics once.
func (e *Exporter) Export(ctx context.Context, metrics []Metric) error {
	return e.post(ctx, metricsPath, e.message(metrics, time.Now()))
}

// StatusError is that a collector has refused what it was sent.
type StatusError struct {
	Code   int
	Status string
}

// Error tells it.
func (e *StatusError) Error() string { return "it answers " + e.Status }

// RejectedError is that a collector has taken a message, but for a part of it.
type RejectedError struct{ message string }

// Error tells it.
func (e *RejectedError) Error() string { return e.message }

// IsFinal tells of an error that the collector has answered, and will take no more when it is sent the same again:
// https://opentelemetry.io/docs/specs/otlp/#failures-1
func IsFinal(err error) bool {
	if answer, ok := errors.AsType[*StatusError](err); ok {
		switch answer.Code {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return false
		}
		return true
	}
	_, rejected := errors.AsType[*RejectedError](err)
	return rejected
}

// post sends a message about a signal.
func (e *Exporter) post(ctx context.Context, path string, message object) error {
	address, err := addressOf(e.URL, path)
	if err != nil {
		return err
	}
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range e.Header {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", contentTypeJSON)
	client := e.Client
	if client == nil {
		// Headers may be secrets, which nobody else than the collector gets.
		client = &http.Client{Timeout: exportPatience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 != 2 {
		return &StatusError{response.StatusCode, response.Status}
	}
	if err != nil {
		return err
	}
	var partial struct {
		PartialSuccess struct {
			Numbers json.Number `json:"rejectedDataPoints"`
			Spans   json.Number `json:"rejectedSpans"`
			Message string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &partial) != nil {
		return nil // an answer in another format than JSON says nothing that is of use here
	}
	for what, n := range map[string]json.Number{"numbers": partial.PartialSuccess.Numbers, "spans": partial.PartialSuccess.Spans} {
		if n.String() > "0" {
			return &RejectedError{fmt.Sprintf("it has rejected %s %s: %.200q", n, what, partial.PartialSuccess.Message)}
		}
	}
	return nil
}

// object is a JSON object of OTLP, whose names are those of its protobuf in lowerCamelCase.
type object = map[string]any

// message is an ExportMetricsServiceRequest.
func (e *Exporter) message(metrics []Metric, now time.Time) object {
	temporality := cumulative
	if e.IsDelta {
		temporality = delta
	}
	list := make([]object, 0, len(metrics))
	for _, m := range metrics {
		points := make([]object, 0, len(m.Points))
		for _, p := range m.Points {
			point := object{"timeUnixNano": nanoseconds(now), "attributes": attributes(p.Labels)}
			if m.Kind != Gauge {
				point["startTimeUnixNano"] = nanoseconds(e.Start)
			}
			if m.Kind == Histogram {
				point["sum"], point["explicitBounds"], point["bucketCounts"], point["count"] = p.Value, m.Bounds, integers(p.Buckets), integer(p.count())
			} else {
				point["asDouble"] = p.Value
			}
			points = append(points, point)
		}
		one := object{"name": m.Name, "description": m.Help}
		if m.Unit != "" {
			one["unit"] = m.Unit
		}
		switch m.Kind {
		case Counter:
			one["sum"] = object{"dataPoints": points, "isMonotonic": true, "aggregationTemporality": temporality}
		case Histogram:
			one["histogram"] = object{"dataPoints": points, "aggregationTemporality": temporality}
		default:
			one["gauge"] = object{"dataPoints": points}
		}
		list = append(list, one)
	}
	return object{"resourceMetrics": []object{{
		"resource":     object{"attributes": attributes(e.Resource)},
		"scopeMetrics": []object{{"scope": object{"name": scope}, "metrics": list}},
	}}}
}

// nanoseconds are a text, as all 64-bit numbers in JSON of protobuf.
func nanoseconds(t time.Time) string { return integer(t.UnixNano()) }

func integer[N int64 | uint64](n N) string { return fmt.Sprint(n) }

func integers(list []uint64) []string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = integer(n)
	}
	return texts
}

func attributes(labels []Label) []object {
	list := make([]object, 0, len(labels))
	for _, l := range labels {
		list = append(list, object{"key": l.Name, "value": object{"stringValue": l.Value}})
	}
	return list
}
