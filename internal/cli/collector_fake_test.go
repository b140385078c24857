package cli_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenetcm/tenet/internal/telemetry/collectortest"
)

// fakeCollector is the collector of a script.
type fakeCollector struct {
	*collectortest.Collector
	mu             sync.Mutex
	wrong          []string
	spans, metrics int // that were written down already
}

// collectors are those of the scripts, which run at the same time.
type collectors struct{ byScript sync.Map }

// collect begins a collector, whose address is $COLLECTOR from then on. With a file it writes down what has come since the last time, spans below their
// parents, without their times.
func (f *collectors) collect(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: collector [FILE]")
	}
	if len(args) == 0 {
		c := &fakeCollector{}
		c.Collector = collectortest.Start(func(format string, args ...any) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
		})
		ts.Defer(c.Close)
		f.byScript.Store(ts.Name(), c)
		ts.Setenv("COLLECTOR", c.URL)
		return
	}
	known, ok := f.byScript.Load(ts.Name())
	if !ok {
		ts.Fatalf("there is no collector")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(known.(*fakeCollector).text()), 0o600))
}

func (c *fakeCollector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans, metrics := c.Spans()[c.spans:], c.Metrics()[c.metrics:]
	c.spans, c.metrics = c.spans+len(spans), c.metrics+len(metrics)
	lines := slices.Clone(c.wrong)
	known := map[string]bool{}
	traces := map[string]bool{}
	for _, s := range spans {
		known[s.SpanID], traces[s.TraceID] = true, true
	}
	var elsewhere []string
	for _, s := range spans {
		if !known[s.ParentSpanID] {
			elsewhere = append(elsewhere, s.ParentSpanID)
		}
	}
	if err := collectortest.Whole(spans, elsewhere...); err != nil {
		lines = append(lines, err.Error())
	}
	for _, parent := range slices.Compact(slices.Sorted(slices.Values(elsewhere))) {
		if parent != "" {
			lines = append(lines, "below "+parent)
		}
		lines = append(lines, below(spans, parent, "  ")...)
	}
	lines = append(lines, fmt.Sprintf("traces: %d", len(traces)))
	for i := range metrics {
		for _, p := range metrics[i].Points() {
			value := p.AsDouble
			if metrics[i].Kind() == "histogram" {
				value = float64(p.Count)
			}
			lines = append(lines, fmt.Sprintf("%s %v%s", metrics[i].Name, value, attributeText(p.Attributes)))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// below lists the spans below one.
func below(spans []collectortest.Span, parent, indent string) (lines []string) {
	sorted := map[string][]string{}
	for _, s := range spans {
		if s.ParentSpanID != parent {
			continue
		}
		text := indent + s.Name + attributeText(s.Attributes)
		if s.Status.Code != 0 {
			text += fmt.Sprintf(" [%d %s]", s.Status.Code, s.Status.Message)
		}
		sorted[text+s.SpanID] = append([]string{text}, below(spans, s.SpanID, indent+"  ")...)
	}
	for _, key := range slices.Sorted(maps.Keys(sorted)) {
		lines = append(lines, sorted[key]...)
	}
	return lines
}

// attributeText has attributes but for those that differ each time.
func attributeText(list []collectortest.Attribute) (text string) {
	for _, key := range collectortest.Keys(list) {
		if value := collectortest.Value(list, key); key != "tenet.run" && key != "tenet.execution" && key != "tenet.revision" && value != "" {
			text += " " + strings.TrimPrefix(key, "tenet.") + "=" + value
		}
	}
	return text
}
