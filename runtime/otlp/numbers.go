package otlp

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/tenetcm/tenet/internal/telemetry"
)

// durations are the bounds of the buckets of tenet.run.duration, in seconds.
func durations() []float64 { return []float64{0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600} }

// numbers are what was counted since they were last taken, or since the beginning.
type numbers struct {
	mu      sync.Mutex
	isDelta bool
	runs    map[of]float64
	took    map[of]*telemetry.Point
	changes map[of]float64
	fails   map[of]float64
	loops   map[[2]string]Loop // by site and host
	checks  map[of]float64     // by site, host and address: of the latest run
}

// of is what a number is of.
type of struct{ site, host, a, b string }

// Loop is where the loop of a site stands on a host.
type Loop struct {
	Site, Host string
	Phase      string
	Phases     []string // that there are
	// Drift is how much the last look has found to differ; negative: nothing has looked yet.
	Drift int
}

func (n *numbers) reset() {
	n.runs, n.took, n.changes, n.fails = map[of]float64{}, map[of]*telemetry.Point{}, map[of]float64{}, map[of]float64{}
}

// run counts the end of a run.
func (n *numbers) run(r *Run, outcome string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := of{r.about.Site, r.about.Host, outcome, ""}
	n.runs[key]++
	p := n.took[key]
	if p == nil {
		p = &telemetry.Point{Buckets: make([]uint64, len(durations())+1)}
		n.took[key] = p
	}
	seconds := r.last.Sub(r.begin).Seconds()
	i, _ := slices.BinarySearch(durations(), seconds)
	p.Buckets[i]++
	p.Value += seconds
	maps.DeleteFunc(n.checks, func(key of, _ float64) bool { return key.site == r.about.Site && key.host == r.about.Host })
	for address, is := range r.checks {
		if n.checks == nil {
			n.checks = map[of]float64{}
		}
		n.checks[of{r.about.Site, r.about.Host, address, ""}] = telemetry.Bool(is)
	}
	for what, count := range r.changes {
		n.changes[of{r.about.Site, r.about.Host, what[0], what[1]}] += count
	}
	for what, count := range r.fails {
		n.fails[of{r.about.Site, r.about.Host, what[0], what[1]}] += count
	}
}

func (n *numbers) loop(l Loop) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.loops == nil {
		n.loops = map[[2]string]Loop{}
	}
	n.loops[[2]string{l.Site, l.Host}] = l
}

// take gives the numbers, in a fixed order.
func (n *numbers) take() (list []telemetry.Metric) {
	n.mu.Lock()
	defer n.mu.Unlock()
	add := func(m telemetry.Metric) {
		if len(m.Points) > 0 {
			list = append(list, m)
		}
	}
	counter := func(name, unit, help string, values map[of]float64, labels ...string) {
		m := telemetry.Metric{Name: name, Unit: unit, Help: help, Kind: telemetry.Counter}
		for _, key := range sorted(values) {
			m.Points = append(m.Points, telemetry.Point{Labels: key.labels(labels), Value: values[key]})
		}
		add(m)
	}
	counter(metricRuns, "{run}", "Runs that have ended.", n.runs, attrOutcome)
	took := telemetry.Metric{Name: metricDuration, Unit: "s", Help: "How long runs took.", Kind: telemetry.Histogram, Bounds: durations()}
	for _, key := range sorted(n.took) {
		p := *n.took[key]
		p.Labels, p.Buckets = key.labels([]string{attrOutcome}), slices.Clone(p.Buckets)
		took.Points = append(took.Points, p)
	}
	add(took)
	counter(metricChanges, "{change}", "Parts that runs have changed.", n.changes, attrType, attrAction)
	counter(metricFailures, "{failure}", "Parts that have failed, or of which nobody knows.", n.fails, attrType, attrError)
	drift := telemetry.Metric{Name: metricDrift, Unit: "{part}", Help: "Parts that the last look has found to differ.", Kind: telemetry.Gauge}
	phase := telemetry.Metric{Name: metricPhase, Unit: "1", Help: "Whether the loop of a site is in a phase: 1 or 0.", Kind: telemetry.Gauge}
	for _, key := range slices.SortedFunc(maps.Keys(n.loops), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		l := n.loops[key]
		if l.Drift >= 0 {
			drift.Points = append(drift.Points, telemetry.Point{Labels: of{site: l.Site, host: l.Host}.labels(nil), Value: float64(l.Drift)})
		}
		for _, name := range l.Phases {
			phase.Points = append(phase.Points, telemetry.Point{Labels: of{l.Site, l.Host, name, ""}.labels([]string{attrPhase}), Value: telemetry.Bool(name == l.Phase)})
		}
	}
	check := telemetry.Metric{Name: metricCheck, Unit: "1", Help: "Whether a check of the latest run was passed: 1 or 0.", Kind: telemetry.Gauge}
	for _, key := range sorted(n.checks) {
		check.Points = append(check.Points, telemetry.Point{Labels: key.labels([]string{attrAddress}), Value: n.checks[key]})
	}
	add(check)
	add(drift)
	add(phase)
	if n.isDelta {
		n.reset()
	}
	return list
}

func sorted[V any](values map[of]V) []of {
	return slices.SortedFunc(maps.Keys(values), func(x, y of) int {
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(x.host, y.host), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
}

func (o of) labels(names []string) []telemetry.Label {
	list := []telemetry.Label{{Name: attrSite, Value: o.site}, {Name: attrHost, Value: o.host}}
	for i, value := range []string{o.a, o.b} {
		if i < len(names) {
			list = append(list, telemetry.Label{Name: names[i], Value: value})
		}
	}
	return list
}
