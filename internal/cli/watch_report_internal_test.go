package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source"
)

// toldProgram is a program that is told of revisions: a script with its folder.
type toldProgram struct {
	*testing.T
	dir string
}

// open has a script get reports, in which $1 is its folder. What it prints to $got is what it got.
func (p toldProgram) open(script string, change func(*reportProgram)) *revisionReport {
	p.Helper()
	path := filepath.Join(p.dir, "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncd "+p.dir+"\n"+script+"\n"), 0o755); err != nil {
		p.Fatal(err)
	}
	program, err := openReportProgram(path, p.dir)
	if err != nil {
		p.Fatal(err)
	}
	program.pause = func(int) time.Duration { return time.Millisecond }
	if change != nil {
		change(program)
	}
	program.begin()
	return &revisionReport{program: program}
}

// hand tells of a transition of a revision.
func (p toldProgram) hand(r *revisionReport, revision, reason string) {
	p.Helper()
	if err := r.hand(source.Report{Revision: source.Revision{ID: revision}, Reason: reason}); err != nil {
		p.Fatal(err)
	}
}

// got is what the program was told, as "number reason"; a line that is no report stands as it is.
func (p toldProgram) got() (list []string) {
	data, err := os.ReadFile(filepath.Join(p.dir, "got"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var n source.Notice
		if text := strings.TrimSpace(line); json.Unmarshal([]byte(text), &n) == nil {
			list = append(list, fmt.Sprint(n.Number, " ", n.Reason))
		} else if text != "" {
			list = append(list, text)
		}
	}
	return list
}

func (p toldProgram) await(what string, reached func() bool) {
	p.Helper()
	for end := time.Now().Add(20 * time.Second); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("%s: it got %q", what, p.got())
		}
	}
}

// A program that is told of revisions may say without end what it likes: its begin is shown, and it takes no memory.
func TestEndlessReportProgram(t *testing.T) {
	p := toldProgram{t, t.TempDir()}
	r := p.open("echo 'no token'; head -c 1000000 /dev/zero | tr '\\0' x; exit 1", nil)
	p.hand(r, "a", "x")
	if err := r.close(); err == nil || !strings.Contains(err.Error(), "no token") || len(err.Error()) > 2*programSays {
		t.Errorf("it says %.200v", err)
	}
}

// A program that hangs ends, with all that it has begun.
func TestHangingReportProgram(t *testing.T) {
	p := toldProgram{t, t.TempDir()}
	r := p.open("(sleep 1; touch later) &\nsleep 60", func(p *reportProgram) { p.limit = 100 * time.Millisecond })
	p.hand(r, "a", "x")
	if err := r.close(); err == nil || !strings.Contains(err.Error(), "within 100ms") {
		t.Errorf("it says %v", err)
	}
	time.Sleep(1500 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(p.dir, "later")); err == nil {
		t.Error("what it has begun goes on")
	}
}

// However slow a program is, who tells it something is not held up; it runs once at a time, and gets each transition, in their order.
func TestSlowReportProgram(t *testing.T) {
	p := toldProgram{t, t.TempDir()}
	r := p.open("mkdir running || echo two >> got\ncat >> got\necho >> got\nsleep 0.2\nrmdir running", nil)
	begun := time.Now()
	var want []string
	for i := range 8 {
		p.hand(r, "a", fmt.Sprint("r", i))
		want = append(want, fmt.Sprintf("%d r%d", i+1, i))
	}
	if took := time.Since(begun); took > 1200*time.Millisecond {
		t.Errorf("telling it took %v", took)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if got := p.got(); !slices.Equal(got, want) {
		t.Errorf("it got %q, and not %q", got, want)
	}
}

// What fails is tried again until the program takes it, and comes before what is newer; the same failure is told once.
func TestFailingReportProgram(t *testing.T) {
	p := toldProgram{t, t.TempDir()}
	r := p.open("report=$(cat)\necho try >> tries\n[ $(wc -l < tries) -ge 4 ] || { echo 'no network'; exit 1; }\necho \"$report\" >> got", nil)
	p.hand(r, "a", "x")
	p.hand(r, "a", "y")
	told := 0
	p.await("both are told", func() bool {
		if r.program.failure() != nil {
			told++
		}
		return len(p.got()) == 2
	})
	if err := r.close(); err != nil || told != 1 {
		t.Errorf("the failure was told %d times, and in the end %v", told, err)
	}
	if got := p.got(); !slices.Equal(got, []string{"1 x", "2 y"}) {
		t.Errorf("it got %q", got)
	}
}

// A report that no program takes does not hold up for ever what is newer; the newest is not given up.
func TestReportThatCannotBeTold(t *testing.T) {
	p := toldProgram{t, t.TempDir()}
	r := p.open("report=$(cat)\ncase $report in *gone*) echo tried >> tries; exit 1;; esac\necho \"$report\" >> got", nil)
	p.hand(r, "gone", "x")
	p.hand(r, "a", "y")
	p.await("the newer one is told", func() bool { return len(p.got()) == 1 })
	p.hand(r, "gone", "z")
	tries := func() int {
		data, err := os.ReadFile(filepath.Join(p.dir, "tries"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "tried")
	}
	p.await("the newest is tried on and on", func() bool { return tries() > 3*programTries })
	if err := r.close(); err == nil {
		t.Error("it tells of no failure")
	}
	if got := p.got(); !slices.Equal(got, []string{"2 y"}) {
		t.Errorf("it got %q", got)
	}
}

// What a watch that was killed, or has ended, has not told the next one tells.
func TestReportsAfterKill(t *testing.T) {
	p := toldProgram{t, t.TempDir()}
	r := p.open("exit 1", func(p *reportProgram) { p.pause = func(int) time.Duration { return time.Hour } })
	for _, reason := range []string{"x", "y", "z"} {
		p.hand(r, "a", reason)
	}
	if err := r.close(); err == nil {
		t.Error("it tells of no failure")
	}
	r = p.open("cat >> got\necho >> got", nil)
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if got := p.got(); !slices.Equal(got, []string{"1 x", "2 y", "3 z"}) {
		t.Errorf("it got %q", got)
	}
}
