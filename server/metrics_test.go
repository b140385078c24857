package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
)

// value gives the number of a metric with a label of this value; an empty one: that without labels.
func value(metrics []telemetry.Metric, name, label string) (n float64, known bool) {
	for _, m := range metrics {
		for _, p := range m.Points {
			if m.Name == name && (label == "" && len(p.Labels) == 0 || len(p.Labels) > 0 && p.Labels[0].Value == label) {
				return p.Value, true
			}
		}
	}
	return 0, false
}

// What an operator watches a server by moves with what it is about, and a collector gets the same.
func TestMetrics(t *testing.T) {
	b := newTarget(t)
	b.host("web1")
	want := map[[2]string]float64{
		{"tenet_hosts", "active"}: 1, {"tenet_hosts", "locked"}: 0, {"tenet_agents", "connected"}: 1, {"tenet_agents", "silent"}: 0, {"tenet_agents", "lost"}: 0, {"tenet_broker_connected", ""}: 1,
		{"tenet_term", ""}: 1, {"tenet_recovering", ""}: 0, {"tenet_deployments", "rolling"}: 0, {"tenet_evaluations_total", ""}: 0, {"tenet_host_questions", ""}: 0,
	}
	grows := []string{"tenet_store_writes_total", "tenet_store_commits_total", "tenet_store_commit_seconds_total"}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		metrics, wrong := b.api.Metrics(), ""
		for key, n := range want {
			if got, known := value(metrics, key[0], key[1]); !known || got != n {
				wrong = key[0] + " " + key[1]
			}
		}
		if n, _ := value(metrics, "tenet_agent_messages_total", "received"); n == 0 {
			wrong = "messages"
		}
		for _, name := range grows {
			if n, _ := value(metrics, name, ""); n <= 0 {
				wrong = name
			}
		}
		if wrong == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not as it should be:\n%s", wrong, telemetry.Text(metrics))
		}
	}

	names := map[string]bool{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent struct {
			ResourceMetrics []struct {
				ScopeMetrics []struct{ Metrics []struct{ Name string } }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.Header.Get("api-key") != "secret" {
			t.Error(err, r.Header)
			return
		}
		for _, m := range sent.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			names[m.Name] = true
		}
	}))
	defer collector.Close()
	b.OTLP, b.OTLPHeader = collector.URL, map[string]string{"api-key": "secret"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b.export(ended) // once, at its end
	for _, m := range b.api.Metrics() {
		if !names[m.Name] {
			t.Errorf("%s is not sent", m.Name)
		}
	}
	text := string(telemetry.Text(b.api.Metrics()))
	if strings.Contains(text, "web1") || !strings.Contains(text, "\ntenet_hosts{state=\"active\"} 1\n") {
		t.Error(text)
	}
}

func TestCollectorIsAnAddress(t *testing.T) {
	c := config(t.TempDir())
	c.OTLP = "collector:4318"
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "it is no address") {
		t.Error(err)
	}
}
