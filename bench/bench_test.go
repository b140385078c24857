package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/bench"
	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

const files = 1000

// sites are those of many files, by what they are called here.
func sites() map[string]func(string, int) string {
	return map[string]func(string, int) string{
		"loop": bench.LoopSite, "blocks": bench.BlockSite, "script": bench.ScriptSite, "inline": bench.InlineSite,
	}
}

// The sites are written for benchmarks; this holds that they say what they
// should, and that a second apply finds nothing to do.
func TestGeneratedSites(t *testing.T) {
	for name, site := range sites() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run := compile(t, site(dir, 100))
			for _, want := range []int{100, 0} {
				if counts := apply(t, run); counts.Changed != want || counts.Failed != 0 {
					t.Fatalf("want %d changes: %+v", want, counts)
				}
			}
			for _, i := range []int{0, 42, 99} {
				got, err := os.ReadFile(filepath.Join(dir, bench.Name(i)))
				if err != nil || string(got) != bench.Content(bench.Name(i)) || len(got) != bench.FileSize {
					t.Errorf("file %d: %q, %v", i, got, err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, site := range sites() {
		text := site("/srv/files", files)
		b.Run(fmt.Sprintf("%s-%d", name, files), func(b *testing.B) {
			for b.Loop() {
				compile(b, text)
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	run := compile(b, bench.LoopSite(b.TempDir(), files))
	for b.Loop() {
		if _, err := runtime.Plan(b.Context(), run, options(b)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyConverged(b *testing.B) {
	run := compile(b, bench.LoopSite(b.TempDir(), files))
	apply(b, run)
	for b.Loop() {
		apply(b, run)
	}
}

func BenchmarkApplyCold(b *testing.B) {
	// A new directory each time, and none removed meanwhile: ext4 without a
	// journal is slow to create files for a while after many were removed.
	for dirs := 0; b.Loop(); dirs++ {
		b.StopTimer()
		dir := filepath.Join(b.TempDir(), fmt.Sprint(dirs))
		run := compile(b, bench.LoopSite(dir, files))
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		apply(b, run)
	}
}

func compile(tb testing.TB, text string) *states.StateRun {
	tb.Helper()
	file := "site.hcl"
	if strings.Contains(text, "def all():") {
		file = "site.star"
	}
	fsys := fstest.MapFS{file: {Data: []byte(text)}}
	site, list := lang.Load(fsys, lang.Options{Registry: modules.Standard()})
	if list.HasErrors() {
		tb.Fatal(list)
	}
	declarations, list := site.Evaluate(tb.Context(), lang.Target{Host: "bench"})
	if list.HasErrors() {
		tb.Fatal(list)
	}
	result, list := graph.Compile(declarations, graph.Options{Registry: modules.Standard()})
	if list.HasErrors() {
		tb.Fatal(list)
	}
	return result.Run
}

func apply(tb testing.TB, run *states.StateRun) states.Counts {
	tb.Helper()
	result, err := runtime.Apply(tb.Context(), run, options(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return result.Counts
}

func options(tb testing.TB) runtime.Options {
	tb.Helper()
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return runtime.Options{Host: local, Registry: modules.Standard()}
}
