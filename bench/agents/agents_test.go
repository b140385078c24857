package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/bench/readme"
)

// TestMain is one of the parts where it is started as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == roleArgument {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestMeasure takes all figures of a few agents, for correctness: they connect, come back, answer, and get what is deployed.
func TestMeasure(t *testing.T) {
	dir, profiles := t.TempDir(), t.TempDir()
	o := &options{agents: 24, perProcess: 12, readers: 12, flapping: time.Second, dir: dir, records: t.TempDir(), profiles: profiles, log: t.Logf, skip: map[string]bool{}}
	f, err := measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if f.Connected == 0 || f.PerAgent == 0 || f.Back == 0 || f.PingAll == 0 || f.Deployed == 0 || f.Readers != 12 || f.Lists == 0 {
		t.Errorf("figures are missing: %+v", f)
	}
	for _, name := range []string{"connect", "restart", "ping", "deploy", "readers"} {
		if info, err := os.Stat(filepath.Join(profiles, name+".heap")); err != nil || info.Size() == 0 {
			t.Errorf("there is no profile %s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("of the server is left: %v, %v", left, err)
	}
	text := table(f)
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("before\n<!-- agents: begin -->\nold\n<!-- agents: end -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readme.Write(file, "agents", text); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(written), "ping of 24") || strings.Contains(string(written), "old") || !strings.HasSuffix(string(written), "after\n") {
		t.Errorf("the table was not put into its place: %v\n%s", err, written)
	}
}

func TestPercentile(t *testing.T) {
	var times []time.Duration
	for n := range 1000 {
		times = append(times, time.Duration(1000-n)*time.Second)
	}
	if p := percentile(times, 99); p != 991 {
		t.Errorf("the 99th percentile is %v", p)
	}
	if p := percentile(times[:1], 99); p != 1 {
		t.Errorf("of one it is %v", p)
	}
}

// What nobody has seen is not met: hosts have to flap for longer than one waits for its next evaluation, and some have to be evaluated.
func TestFlapping(t *testing.T) {
	for want, list := range map[string][]figures{
		"not seen": {{Readers: 10, FlappingFor: 182, Evaluations: 3}, {Readers: 10, FlappingFor: 360}},
		": met":    {{Readers: 10, FlappingFor: 360, Evaluations: 12}},
		"not met":  {{Readers: 10, FlappingFor: 360, Evaluations: 100}},
	} {
		for _, f := range list {
			if got := flappingText(&f); !strings.Contains(got, want) {
				t.Errorf("%+v: %s, want %s", f, got, want)
			}
		}
	}
}
