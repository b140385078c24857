package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/runtime/reconcile"
)

// watched is a watch under way, by a clock that jumps from round to round.
type watched struct {
	*testing.T
	dir  string // holds the directory site
	out  safe
	stop func() error // ends it, and gives how it ended
}

// safe is a buffer for several goroutines.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// take gives what was written since the last time.
func (s *safe) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// startWatch begins a watch of a site that declares one file, x. It must be
// called within a bubble; the rounds begin on the hour.
func startWatch(t *testing.T, json bool, cmd watchCmd) *watched {
	w := &watched{T: t, dir: t.TempDir()}
	w.write("site/site.hcl", w.site("wanted"))
	w.begin(json, cmd)
	return w
}

// begin begins a watch of the site as it is.
func (w *watched) begin(json bool, cmd watchCmd) {
	cmd.Site, cmd.Interval, cmd.Jitter = filepath.Join(w.dir, "site"), new(span(time.Hour)), new(percentage)
	s := &client{console: console{Environment{Out: &w.out, Err: &w.out}, &Globals{JSON: json, StateDir: filepath.Join(w.dir, "state")}}}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.loop(ctx, s, nil) }()
	w.stop = func() error {
		cancel()
		return <-ended
	}
	time.Sleep(time.Minute) // then nothing runs between two calls of hour
}

func (w *watched) site(content string) string {
	return fmt.Sprintf("file %q {\n  content = %q\n  mode = \"0600\"\n}\n", filepath.Join(w.dir, "x"), content)
}

func (w *watched) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(w.dir, name))
	return string(data)
}

// hour lets a round pass, and gives what it printed.
func (w *watched) hour() string {
	w.out.take()
	time.Sleep(time.Hour)
	return w.out.take()
}

// says reports unless a text holds all of the words, "" if it is to be empty.
func (w *watched) says(text string, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) || word == "" && text != "" {
			w.Errorf("no %q in %q", word, text)
		}
	}
}

// Each change of the report is told once.
func TestWatchTellsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, false, watchCmd{PlanOnly: true})
		w.says(w.out.take(), "round 1", "+ file", "1 is not as declared")
		w.says(w.hour(), "")
		w.write("x", "other")
		w.says(w.hour(), "round 3", "~ file", "-other")
		w.says(w.hour(), "")
		w.write("x", "wanted")
		w.says(w.hour(), "round 5", "as declared again", "all is as declared")
		w.says(w.hour(), "")
		w.write("site/site.hcl", w.site("new"))
		w.says(w.hour(), "+new", "1 is not as declared")
		w.write("site/site.hcl", "")
		w.says(w.hour(), "no longer declared", "all is as declared")
		w.write("site/site.hcl", "file {")
		w.says(w.hour(), "error: ", "nothing was done: the site is wrong")
		w.says(w.hour(), "")
		w.write("site/site.hcl", "fiel \"x\" {}")
		w.says(w.hour(), "error: ", "fiel")
		w.write("site/site.hcl", w.site("wanted"))
		w.says(w.hour(), "all is as declared")
		if err := os.RemoveAll(filepath.Join(w.dir, "site")); err != nil {
			t.Fatal(err)
		}
		w.says(w.hour(), "the site cannot be read")
		if w.read("x") != "wanted" {
			t.Errorf("a plan has changed the file: %q", w.read("x"))
		}
		if _, err := os.Stat(filepath.Join(w.dir, "state")); err == nil {
			t.Error("a plan has made a state folder")
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A watch that applies mends what somebody has changed, in the round after that.
func TestWatchApplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, false, watchCmd{Yes: true})
		w.says(w.out.take(), "+ file", "1 changed")
		w.says(w.hour(), "all is as declared")
		w.says(w.hour(), "")
		w.write("x", "other")
		w.says(w.hour(), "~ file", "1 changed")
		if w.read("x") != "wanted" {
			t.Errorf("the file is %q", w.read("x"))
		}
		w.write("site/site.hcl", "file {")
		w.says(w.hour(), "error: ", "nothing was done")
		if again := w.hour(); strings.Contains(again, "error: ") {
			t.Errorf("it says again %q", again)
		}
		w.write("site/site.hcl", w.site("new"))
		w.says(w.hour(), "1 changed")
		if err := errors.Join(os.Remove(filepath.Join(w.dir, "x")), os.Mkdir(filepath.Join(w.dir, "x"), 0o700)); err != nil {
			t.Fatal(err)
		}
		hours := w.hour()
		hours += w.hour()
		w.says(hours, "✗ file", "is a directory", "1 failed", "tried again at", "after attempt 1 of 8", "after attempt 7 of 8", "help is needed", "tenet retry")
		if strings.Count(hours, "✗") != 1 {
			t.Errorf("it says again %q", hours)
		}
		w.says(w.hour(), "")
		if err := os.Remove(filepath.Join(w.dir, "x")); err != nil {
			t.Fatal(err)
		}
		w.says(w.hour()+w.hour(), "+ file", "1 is not as declared")
		if w.read("x") != "" {
			t.Error("it was applied while help was waited for")
		}
		if err := reconcile.In(filepath.Join(w.dir, "state")).AskAgain(filepath.Join(w.dir, "site")); err != nil {
			t.Fatal(err)
		}
		w.says(w.hour(), "1 changed")
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// What the site has created and declares no longer is told once, and removed if
// that is wanted.
func TestWatchAndWhatIsNoLongerDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, false, watchCmd{Yes: true})
		named := "site { name = \"web\" }\n"
		w.write("site/site.hcl", named+w.site("wanted"))
		if err := os.Remove(filepath.Join(w.dir, "x")); err != nil {
			t.Fatal(err)
		}
		w.says(w.hour(), "1 changed")
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		w.write("site/site.hcl", named)
		w.begin(false, watchCmd{PlanOnly: true})
		w.says(w.out.take(), "No longer declared", filepath.Join(w.dir, "x"), "1 is not as declared")
		w.says(w.hour(), "")
		w.says(w.read("x"), "wanted")
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		w.begin(false, watchCmd{Yes: true, pruneFlags: pruneFlags{Prune: true}})
		w.says(w.out.take(), "- ", filepath.Join(w.dir, "x"), "1 changed")
		if w.read("x") != "" {
			t.Error("it is still there")
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// As JSON, a round is one object, after the events that are new.
func TestWatchJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, true, watchCmd{PlanOnly: true})
		lines := func(text string, want ...string) {
			t.Helper()
			var got []string
			for line := range strings.Lines(text) {
				var v struct {
					Type, Outcome string
					Action        string
					Drifted       *int
				}
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatal(err, line)
				}
				if v.Type == "round" {
					v.Outcome += fmt.Sprint(" ", *v.Drifted)
				}
				got = append(got, strings.TrimSpace(v.Type+" "+v.Outcome+v.Action))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		lines(w.out.take(), "run", "part create", "summary", "round drifted 1")
		lines(w.hour())
		w.write("x", "wanted")
		lines(w.hour(), "run", "back no change", "summary", "round unchanged 0")
		lines(w.hour())
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// However many rounds there are, a watch needs no more memory.
func TestWatchDoesNotGrow(t *testing.T) {
	for _, cmd := range []watchCmd{{Yes: true}, {PlanOnly: true}} {
		synctest.Test(t, func(t *testing.T) {
			w := startWatch(t, false, cmd)
			rounds := func(n int) uint64 {
				for i := range n {
					w.write("x", []string{"wanted", "other"}[i%2])
					w.hour()
				}
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := rounds(20)
			if after := rounds(60); after > before+256<<10 {
				t.Errorf("%d bytes after 20 rounds, %d after 80", before, after)
			}
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Two that look after the same are not a machine's whole fleet.
func TestWatchSeed(t *testing.T) {
	if first := watchSeed("/a"); first != watchSeed("/a") || first == watchSeed("/b") {
		t.Errorf("%q %q", watchSeed("/a"), watchSeed("/b"))
	}
}
