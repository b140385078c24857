package api

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/telemetry"
)

// metrics counts requests. Labels are patterns and statuses only, so that nobody who asks for
// paths that are made up makes the numbers grow.
type metrics struct {
	mu       sync.Mutex
	requests map[requestKey]*requestSum
	faults   int64
}

type requestKey struct {
	operation string // method and path
	status    int
}

type requestSum struct {
	count   int64
	seconds float64
}

func newMetrics() *metrics { return &metrics{requests: map[requestKey]*requestSum{}} }

func (m *metrics) request(operation string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := requestKey{operation, status}
	if m.requests[key] == nil {
		m.requests[key] = &requestSum{}
	}
	m.requests[key].count++
	m.requests[key].seconds += took.Seconds()
}

func (m *metrics) fault() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults++
}

// Metrics are all numbers of the server.
func (a *API) Metrics() []telemetry.Metric {
	list := a.metrics.list()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	list = append(list,
		telemetry.One("tenet_api_event_readers", telemetry.Gauge, "Who reads events now.", float64(a.o.Feed.readers())),
		telemetry.One("tenet_goroutines", telemetry.Gauge, "Goroutines of the process.", float64(runtime.NumGoroutine())),
		telemetry.One("tenet_heap_bytes", telemetry.Gauge, "Memory of the process that is in use.", float64(memory.HeapAlloc)))
	if a.o.Metrics != nil {
		list = append(list, a.o.Metrics()...)
	}
	return list
}

// list gives what was counted.
func (m *metrics) list() []telemetry.Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(m.requests), func(x, y requestKey) int {
		return cmp.Or(cmp.Compare(x.operation, y.operation), cmp.Compare(x.status, y.status))
	})
	requests := telemetry.Metric{Name: "tenet_api_requests_total", Kind: telemetry.Counter, Help: "Requests by operation and status."}
	seconds := telemetry.Metric{Name: "tenet_api_request_seconds_total", Kind: telemetry.Counter, Help: "How long requests took, in sum."}
	for _, k := range keys {
		labels := []telemetry.Label{{Name: "operation", Value: k.operation}, {Name: "status", Value: strconv.Itoa(k.status)}}
		requests.Points = append(requests.Points, telemetry.Point{Labels: labels, Value: float64(m.requests[k].count)})
		seconds.Points = append(seconds.Points, telemetry.Point{Labels: labels, Value: m.requests[k].seconds})
	}
	return []telemetry.Metric{requests, seconds, telemetry.One("tenet_api_faults_total", telemetry.Counter, "What went wrong inside.", float64(m.faults))}
}
