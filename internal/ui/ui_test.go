package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/states"
)

var update = flag.Bool("update", false, "rewrite what the renderers are expected to show")

// archive is a run's events, what else the renderers get, and what they show:
// the files text, quiet, verbose and color, each if it is there.
type archive struct {
	*txtar.Archive
	t *testing.T
}

func (a archive) file(name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (a archive) events() []states.Event {
	var events []states.Event
	for line := range strings.Lines(a.file("events")) {
		ev := states.Event{Time: time.Date(2026, 11, 21, 10, 0, len(events), 0, time.UTC)}
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&ev); err != nil {
			a.t.Fatalf("%s: %v", line, err)
		}
		events = append(events, ev)
	}
	return events
}

// options are what the form wants, for the handlers that the file handlers
// lists.
func (a archive) options(form string) ui.TextOptions {
	o := ui.TextOptions{Run: &states.StateRun{}, Color: form == "color", Quiet: form == "quiet", Verbose: form == "verbose"}
	for address := range strings.FieldsSeq(a.file("handlers")) {
		o.Run.Invocations = append(o.Run.Invocations, states.Invocation{Address: address, Handler: true})
	}
	o.Line = func(place string) string {
		var number int
		if _, err := fmt.Sscanf(place, "site.hcl:%d:", &number); err != nil {
			return ""
		}
		return strings.Split(a.file("site.hcl"), "\n")[number-1]
	}
	return o
}

// TestText shows the runs in testdata in each form.
func TestText(t *testing.T) {
	shows(t, "testdata/*.txtar", []string{"text", "quiet", "verbose", "color"}, func(a archive, form string) string {
		var out bytes.Buffer
		show(a.t, ui.Text(&out, a.options(form)), a.events())
		return strings.ReplaceAll(out.String(), "\x1b", "␛")
	})
}

// shows compares what each archive holds in each form with what is shown of it.
func shows(t *testing.T, pattern string, forms []string, shown func(a archive, form string) string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("nothing to show: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			parsed, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			a, tried := archive{parsed, t}, 0
			for i, f := range a.Files {
				if !slices.Contains(forms, f.Name) {
					continue
				}
				tried++
				got := shown(a, f.Name)
				if got != string(f.Data) && !*update {
					t.Errorf("%s shows\n%s\nwant\n%s", f.Name, got, f.Data)
				}
				a.Files[i].Data = []byte(got)
			}
			if tried == 0 {
				t.Error("nothing is shown")
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(a.Archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func show(t *testing.T, r ui.Renderer, events []states.Event) {
	t.Helper()
	for _, ev := range events {
		r.Event(ev)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A line of JSON is an event again.
func TestJSONLinesAreEvents(t *testing.T) {
	events := []states.Event{
		{Seq: 1, Type: states.EventRun, Mode: "plan", Format: states.EventFormat},
		{Seq: 2, Type: states.EventPart, Address: "file.a", Action: states.Create, Certain: new(false), Reason: "<&>"},
		{Seq: 3, Type: states.EventSummary, Counts: &states.Counts{Changed: 1}},
	}
	var out bytes.Buffer
	show(t, ui.JSON(&out), events)
	if !strings.Contains(out.String(), `"reason":"<&>"`) {
		t.Errorf("the text is not as it is: %s", out.String())
	}
	var again []states.Event
	for line := range strings.Lines(out.String()) {
		var ev states.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		again = append(again, ev)
	}
	got, _ := json.Marshal(again)
	want, _ := json.Marshal(events)
	if string(got) != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// full is a writer that takes no more, like a full disk or a closed pipe.
type full struct{ writes int }

var errFull = errors.New("full")

func (f *full) Write([]byte) (int, error) { f.writes++; return 0, errFull }

func TestWriteErrorIsReportedOnce(t *testing.T) {
	events := []states.Event{{Type: states.EventSummary, Counts: &states.Counts{}}, {Type: states.EventSummary, Counts: &states.Counts{}}}
	out := &full{}
	for _, r := range []ui.Renderer{ui.JSON(out), ui.Text(out, ui.TextOptions{})} {
		for _, ev := range events {
			r.Event(ev)
		}
		if err := r.Close(); !errors.Is(err, errFull) {
			t.Errorf("got the error %v", err)
		}
	}
	if out.writes != 2 {
		t.Errorf("%d writes, want one by each renderer", out.writes)
	}
}
