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
	"strconv"
	"strings"
	"time"
)

// Exporter sends metrics to a collector of OpenTelemetry by OTLP over HTTP, as JSON:
// https://opentelemetry.io/docs/specs/otlp/#otlphttp
type Exporter struct {
	// URL is the collector's, such as http://localhost:4318, or the whole address that ends with /v1/metrics.
	URL string
	// Header is sent with each request, as what a collector demands for authorization. It may be a secret.
	Header map[string]string
	// Resource says whose numbers these are, such as service.name.
	Resource []Label
	Start    time.Time     // of the process: since when counters count
	Every    time.Duration // 0: a minute
	Client   *http.Client  // nil: one that waits ten seconds, and follows nobody elsewhere
}

const (
	defaultEvery    = time.Minute
	exportPatience  = 10 * time.Second
	metricsPath     = "/v1/metrics"
	maxAnswer       = 64 << 10
	cumulative      = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE
	contentTypeJSON = "application/json"
)

// ParseURL gives the address to which metrics are sent, of what a person writes: the collector's, or the whole.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("it is no address such as https://collector.example.com:4318")
	}
	if !strings.HasSuffix(u.Path, metricsPath) {
		u.Path = strings.TrimSuffix(u.Path, "/") + metricsPath
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
	address, err := ParseURL(e.URL)
	if err != nil {
		return err
	}
	body, err := json.Marshal(e.message(metrics, time.Now()))
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
		return fmt.Errorf("it answers %s", response.Status)
	}
	if err != nil {
		return err
	}
	var partial struct {
		PartialSuccess struct {
			Rejected json.Number `json:"rejectedDataPoints"`
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &partial) == nil && partial.PartialSuccess.Rejected.String() > "0" {
		return fmt.Errorf("it has rejected %s numbers: %.200q", partial.PartialSuccess.Rejected, partial.PartialSuccess.Message)
	}
	return nil // an answer in another format than JSON says nothing that is of use here
}

// object is a JSON object of OTLP, whose names are those of its protobuf in lowerCamelCase.
type object = map[string]any

// message is an ExportMetricsServiceRequest.
func (e *Exporter) message(metrics []Metric, now time.Time) object {
	list := make([]object, 0, len(metrics))
	for _, m := range metrics {
		points := make([]object, 0, len(m.Points))
		for _, p := range m.Points {
			point := object{"timeUnixNano": nanoseconds(now), "asDouble": p.Value, "attributes": attributes(p.Labels)}
			if m.Kind == Counter {
				point["startTimeUnixNano"] = nanoseconds(e.Start)
			}
			points = append(points, point)
		}
		one := object{"name": m.Name, "description": m.Help}
		if m.Kind == Counter {
			one["sum"] = object{"dataPoints": points, "isMonotonic": true, "aggregationTemporality": cumulative}
		} else {
			one["gauge"] = object{"dataPoints": points}
		}
		list = append(list, one)
	}
	return object{"resourceMetrics": []object{{
		"resource":     object{"attributes": attributes(e.Resource)},
		"scopeMetrics": []object{{"scope": object{"name": "tenet"}, "metrics": list}},
	}}}
}

// nanoseconds are a text, as all 64-bit numbers in JSON of protobuf.
func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributes(labels []Label) []object {
	list := make([]object, 0, len(labels))
	for _, l := range labels {
		list = append(list, object{"key": l.Name, "value": object{"stringValue": l.Value}})
	}
	return list
}
