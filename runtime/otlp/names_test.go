package otlp

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/telemetry"
	"github.com/tenetcm/tenet/internal/telemetry/collectortest"
	"github.com/tenetcm/tenet/states"
)

// rows gives the cells of the table of a page that has this head.
func rows(t *testing.T, page, head string) (list [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n| "+head+" |")
	if !found {
		t.Fatalf("there is no table of %s", head)
	}
	for i, line := range strings.Split(rest, "\n")[1:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 0 {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		list = append(list, cells)
	}
	return list
}

// words gives what is in backticks.
func words(cell string) (list []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			list = append(list, part)
		}
	}
	return list
}

// What is sent has the names, attributes, kinds and units that docs/telemetry.md says, and no others.
func TestNames(t *testing.T) {
	data, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	c := collectortest.New(t)
	s := New(Options{URL: c.URL, Service: "tenet", Warn: func(err error) { t.Error(err) }})
	place := telemetry.TraceOf("x1")
	about := About{Site: "shop", Host: "web1", Execution: "x1", Parent: place}
	s.Execution(place, telemetry.Trace{}, about, at(0), 1, false)
	r := s.Run(about)
	play(r, sample("r1"))
	r.Event(states.Event{Seq: 14, Time: at(7), Type: states.EventPart, Invocation: "wait_for.w", Address: "wait_for.w", Part: "wait_for", Outcome: states.Unchanged})
	r.leftOut = 1
	r.End(false)
	s.Loop(Loop{Site: "shop", Host: "web1", Phase: "waiting", Phases: []string{"waiting"}})
	s.Close()

	sent := map[string]bool{}
	spans := map[string]bool{}
	for _, span := range c.Spans() {
		spans[span.Name] = true
		for _, key := range collectortest.Keys(span.Attributes) {
			sent[span.Name+" "+key] = true
		}
	}
	told := map[string]bool{}
	for _, row := range rows(t, page, "span") {
		if name := words(row[0])[0]; !spans[name] {
			t.Errorf("the page has a span %s", name)
		}
		delete(spans, words(row[0])[0])
	}
	for _, row := range rows(t, page, "attribute") {
		for _, on := range words(row[1]) {
			for _, key := range words(row[0]) {
				told[on+" "+key] = true
			}
		}
	}
	if len(spans) > 0 {
		t.Errorf("the page lacks spans %v", spans)
	}
	if want, got := slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(sent)); !slices.Equal(got, want) {
		t.Errorf("sent: %v\nthe page: %v", got, want)
	}

	var metrics, documented []string
	for _, m := range c.Metrics() {
		metrics = append(metrics, fmt.Sprint(m.Name, " ", m.Kind(), " ", m.Unit, " ", collectortest.Keys(m.Points()[0].Attributes)))
	}
	for _, row := range rows(t, page, "metric") {
		documented = append(documented, fmt.Sprint(words(row[0])[0], " ", row[1], " ", words(row[2])[0], " ", words(row[3])))
	}
	if !slices.Equal(metrics, documented) {
		t.Errorf("sent: %q\nthe page: %q", metrics, documented)
	}
	var outcomes []string
	for _, row := range rows(t, page, "attribute") {
		if row[0] == "`tenet.outcome`" {
			outcomes = words(row[2])
		}
	}
	if want := []string{outcomeDone, outcomeFailed, outcomeInterrupted, string(states.Unchanged), string(states.Changed), string(states.Failed), string(states.Unknown), string(states.Skipped), string(states.Blocked)}; !slices.Equal(outcomes, want) {
		t.Errorf("the page has the outcomes %v", outcomes)
	}
}
