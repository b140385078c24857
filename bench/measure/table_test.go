package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/bench/readme"
)

func TestMedian(t *testing.T) {
	for want, samples := range map[time.Duration][]time.Duration{
		2: {9, 1, 2},
		3: {4, 1, 2, 9},
		7: {7},
	} {
		if got := median(samples); got != want {
			t.Errorf("median of %v is %v, want %v", samples, got, want)
		}
	}
}

func TestTableSaysWhatIsNotMet(t *testing.T) {
	l := lab{}
	var rows []row
	for _, c := range l.cases() {
		rows = append(rows, row{c: c, peak: 130_000_000, times: map[string]time.Duration{
			"tenet": 400 * time.Millisecond, "limit": 100 * time.Millisecond, "cfengine": time.Second,
		}})
	}
	for line := range strings.SplitSeq(table(rows), "\n") {
		want := map[string]string{
			"| 10,000 files, nothing to do ": "≤ 5 × limit: met; cfengine ≥ 3 × tenet: **not met**; peak < 120 MB: **not met**",
			"| 1 file, nothing to do ":       "≤ 0.012 s: **not met**",
			"| a chain of 200 `/bin/true` ":  "≤ 1.8 × shell: not measured",
			"| compile 100,000 blocks ":      "≤ 12 × 10,000: met",
		}
		for begin, verdict := range want {
			if strings.HasPrefix(line, begin) && !strings.Contains(line, verdict) {
				t.Errorf("want %q in\n%s", verdict, line)
			}
		}
	}
	if got := table(rows); strings.Count(got, "tenet takes 4.0 ×") != len(rows) || !strings.Contains(got, "tenet is 2.5 × faster") {
		t.Errorf("ratios are wrong:\n%s", got)
	}
}

func TestTableReplacesOnlyItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(path, []byte("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readme.Write(path, "measured", table(nil)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	text := string(got)
	if err != nil || strings.Contains(text, "old") || !strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "after\n") ||
		!strings.Contains(text, "| case |") {
		t.Errorf("%v\n%s", err, text)
	}
}
