// Package telemetry says numbers of a program to those who watch it: in the text format of Prometheus, which it is asked for, and by OTLP, which it sends
// by itself. Both have the same numbers. Spans of traces go by OTLP alone.
//
// OTLP is spoken as JSON over HTTP, which each collector takes: the SDK of OpenTelemetry would add nine megabytes to the program for what takes two files here.
package telemetry

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Kind is how a number moves.
type Kind string

// The kinds of metrics.
const (
	Counter Kind = "counter" // it grows, from 0 at the start of the process
	Gauge   Kind = "gauge"   // it is what it is
	// Histogram is how many of what was measured were how large.
	Histogram Kind = "histogram"
)

// Label is a name with a value.
type Label struct{ Name, Value string }

// Point is one number of a metric.
type Point struct {
	Labels []Label
	Value  float64 // of a histogram the sum
	// Buckets are, of a histogram, how many were up to each of the bounds and above the one before, and then those above the last one.
	Buckets []uint64
}

// count is how many were measured.
func (p *Point) count() (n uint64) {
	for _, of := range p.Buckets {
		n += of
	}
	return n
}

// Metric is numbers of one meaning, which differ by their labels.
type Metric struct {
	Name   string // as Prometheus writes it: with its unit, and "total" at the end of a counter
	Kind   Kind
	Help   string    // a sentence
	Unit   string    // by UCUM, where the name does not have it: only OTLP tells it
	Bounds []float64 // of the buckets of a histogram
	Points []Point
}

// One makes a metric of one number.
func One(name string, kind Kind, help string, value float64) Metric {
	return Metric{Name: name, Kind: kind, Help: help, Points: []Point{{Value: value}}}
}

// By makes a metric of numbers that differ by one label.
func By(name string, kind Kind, help, label string, values map[string]float64) Metric {
	m := Metric{Name: name, Kind: kind, Help: help}
	for value, n := range values {
		m.Points = append(m.Points, Point{Labels: []Label{{label, value}}, Value: n})
	}
	slices.SortFunc(m.Points, func(a, b Point) int { return strings.Compare(a.Labels[0].Value, b.Labels[0].Value) })
	return m
}

// Bool gives 1 or 0.
func Bool(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// MediaType is that of Text.
const MediaType = "text/plain; version=0.0.4; charset=utf-8"

// Text gives metrics in the text format of Prometheus, version 0.0.4.
func Text(metrics []Metric) []byte {
	var b bytes.Buffer
	for _, m := range metrics {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Kind)
		for _, p := range m.Points {
			if m.Kind != Histogram {
				line(&b, m.Name, p.Labels, number(p.Value))
				continue
			}
			upTo := uint64(0)
			for i, n := range p.Buckets {
				bound := "+Inf"
				if i < len(m.Bounds) {
					bound = number(m.Bounds[i])
				}
				upTo += n
				line(&b, m.Name+"_bucket", append(slices.Clone(p.Labels), Label{"le", bound}), fmt.Sprint(upTo))
			}
			line(&b, m.Name+"_sum", p.Labels, number(p.Value))
			line(&b, m.Name+"_count", p.Labels, fmt.Sprint(p.count()))
		}
	}
	return b.Bytes()
}

func line(b *bytes.Buffer, name string, labels []Label, value string) {
	b.WriteString(name)
	for i, l := range labels {
		b.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(b, "%s=\"%s\"", l.Name, escape(l.Value))
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	fmt.Fprintf(b, " %s\n", value)
}

// escape writes a value as the format has it, which knows fewer escapes than Go.
func escape(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}

func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprintf("%g", v)
}
