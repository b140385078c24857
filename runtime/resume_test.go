package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// resume goes on with the latest run, with what fate has for it. Where there is
// none that could go on, the site is applied.
func (w *world) resume(f *fate) (*runtime.Result, error) {
	folder, err := journal.OpenWith(w.state, journal.Options{Intercept: w.intercept(f), Volatile: true})
	if err != nil {
		return nil, err
	}
	record, err := folder.Resume(background, "", journal.Meta{})
	var not *journal.NotResumableError
	switch {
	case errors.As(err, &not), errors.Is(err, journal.ErrNoRun):
		return w.process(f)
	case err != nil:
		return nil, err
	}
	w.lived++
	run := record.Resumed().Run
	if run.Revision != w.run.Revision && (slices.Contains(w.earlier, run.Revision) || w.site.run != nil && run.Revision == w.site.run.Revision) { // of the end of an earlier run a loss of power has left nothing
		w.must(record.Abandon())
		return w.process(f)
	}
	if run.Revision != w.run.Revision || len(run.Invocations) != len(w.run.Invocations) {
		w.t.Fatal("it is another run")
	}
	result, err := runtime.Apply(background, run, runtime.Options{
		Host: &mortal{world: w, fate: f}, Registry: registry(), Parallel: w.parallel,
		Journal: record, Past: record.Ledger(), Runs: folder.StateRun, Origin: "/site",
	})
	if f.died() {
		w.must(record.Abandon())
		return result, errDead
	}
	end := journal.End{State: journal.Done, Changed: true, Err: err}
	if result != nil { // nil: it could not begin
		end.Counts, end.Report = result.Counts, &result.Report
	}
	if err != nil || result.Failed {
		end.State = journal.Failed
	}
	if err = errors.Join(err, record.Finish(end)); f.died() {
		err = errDead
	}
	return result, err
}

// A process dies at each of its operations, the one that goes on at another one,
// and a third one ends the run: the host is as after an undisturbed one, and every
// handler that was due has run.
func TestResumeAfterDeathAtEachOperation(t *testing.T) {
	for i, s := range crashSites {
		want := s.undisturbed(t)
		for name, step := range map[string]int{"once": 5, "twice": 7} {
			if *all {
				step = 1
			}
			t.Run(s.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				points := 0
				for k := 1 + i%step; !t.Failed(); k += step {
					w, f := s.world(t, 1), &fate{at: k, how: dies}
					_, _ = w.process(f) // dead, or done
					if !f.met() {
						w.must(os.RemoveAll(w.state))
						break
					}
					if name == "twice" {
						_, _ = w.resume(&fate{at: 1 + k*5%40, how: dies})
					}
					result, err := w.resume(&fate{})
					if err == nil && result.Failed && !s.fails {
						err = errFailed
					}
					if err == nil && !s.fails {
						err = w.honest(want)
					}
					if err == nil {
						if err = w.recovered(); err == nil {
							err = w.same(want)
						}
					}
					if err != nil {
						t.Errorf("dead at operation %d, %s: %v\n%s", k, f.op, err, w.story())
					}
					w.must(os.RemoveAll(w.state))
					points++
				}
				t.Logf("%d points", points)
			})
		}
	}
}

// interrupter is a test that interrupts runs.
type interrupter interface {
	Context() context.Context
	Fatal(...any)
}

// interrupted applies a run that ends as its stop-th event is told, or before by
// itself; by is nil for a run that begins.
func interrupted(t interrupter, h host.Host, run *states.StateRun, folder *journal.Folder, by *journal.Run, stop int, dies bool) *runtime.Result {
	record := by
	if record == nil {
		var err error
		if record, err = folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := 0
	result, err := runtime.Apply(ctx, run, runtime.Options{
		Host: h, Registry: modules.Standard(), Parallel: 1, Journal: record, Past: record.Ledger(), Origin: "/site",
		Events: func(states.Event) {
			if told++; told == stop {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	end := journal.End{State: journal.Done, Counts: result.Counts, Report: &result.Report, Changed: true}
	switch {
	case result.Interrupted && dies:
		err = errors.Join(record.Flush(), record.Abandon())
		end.State = journal.Running
	case result.Interrupted:
		end.State = journal.Interrupted
	case result.Failed:
		end.State = journal.Failed
	}
	if end.State != journal.Running {
		err = record.Finish(end)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A run that is interrupted, however often, and goes on, leaves the host as it
// would be, and reports and counts as if nothing had happened.
func TestResumedRunIsAsUndisturbed(t *testing.T) {
	rapidtest.For(t, "120")
	resumes, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		site := drawSite(t, registry())
		compiled, _ := graph.Compile(site, graph.Options{Registry: registry()})
		if compiled == nil {
			return // a cycle
		}
		machine := rapid.Custom(drawHost)
		seed := rapid.IntRange(0, 1000).Draw(t, "machine")
		calm, rough := machine.Example(seed), machine.Example(seed)
		open := func() *journal.Folder {
			dir := stateDir(t)
			t.Cleanup(func() { os.RemoveAll(dir) })
			folder, err := journal.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			return folder
		}
		want := interrupted(t, calm, compiled.Run, open(), nil, 0, false)
		if want.Failed {
			return // what failed is tried again, and may go well now
		}
		runs++
		folder := open()
		got := interrupted(t, rough, compiled.Run, folder, nil, rapid.IntRange(1, 12).Draw(t, "stop"), rapid.Bool().Draw(t, "dies"))
		for got.Interrupted {
			record, err := folder.Resume(t.Context(), "", journal.Meta{})
			if err != nil {
				t.Fatal(err)
			}
			resumes++
			got = interrupted(t, rough, record.Resumed().Run, folder, record, rapid.IntRange(1, 30).Draw(t, "stop again"), rapid.Bool().Draw(t, "dies again"))
		}
		if a, b := tree(t, calm), tree(t, rough); !maps.Equal(a, b) {
			t.Fatalf("the hosts differ:\n%v\n%v", a, b)
		}
		for _, r := range []*runtime.Result{want, got} {
			r.Report.Run = ""
			for i := range r.Report.Parts {
				r.Report.Parts[i].Timestamp = time.Time{}
			}
		}
		if !reflect.DeepEqual(want.Report, got.Report) || want.Counts != got.Counts {
			t.Fatalf("the reports differ\nundisturbed %v\n%+v\nresumed %v\n%+v\nrun %s", pretty(want.Report), want.Counts, pretty(got.Report), got.Counts, pretty(compiled.Run))
		}
		if !got.Left.Empty() {
			t.Fatalf("there is left %+v", got.Left)
		}
		checkEvents(t, folder)
	})
	t.Logf("%d runs, %d times resumed", runs, resumes)
	if resumes*4 < runs && !testing.Short() {
		t.Errorf("only %d of %d runs were resumed: the test shows little", resumes, runs)
	}
}

// checkEvents looks at the record of a resumed run: numbers without gaps, and one
// end of each part that ended well.
func checkEvents(t failer, folder *journal.Folder) {
	seq, ends := int64(0), map[string]states.Outcome{}
	for ev, err := range folder.Events("") {
		if err != nil {
			t.Fatal(err)
		}
		if seq++; ev.Seq != seq {
			t.Fatal(fmt.Sprintf("event %d has the number %d", seq, ev.Seq))
		}
		if ev.Type == states.EventPart {
			if was := ends[ev.Address]; was == states.Changed || was == states.Unchanged || was == states.Skipped {
				t.Fatal(fmt.Sprintf("%s ended %s, and again %s", ev.Address, was, ev.Outcome))
			}
			ends[ev.Address] = ev.Outcome
		}
	}
}

// What a part has left is there for those that come after it, in another process
// too: what an act has printed, which cannot be asked again, and secrets.
func TestResultsOutliveTheProcess(t *testing.T) {
	const site = `
	command "ask" {
		argv = ["ask"]
	}
	command "stop" {
		argv    = ["stop"]
		require = [command.ask]
	}
	file "/answer" {
		content = "it is ${command.ask.stdout}"
		require = [command.stop]
	}
	`
	run := compile(t, modules.Standard(), site).Run
	run.Secrets = []string{"hush-hush"}
	dir := t.TempDir()
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, asked := machine(), 0
	m.Handle("ask", func(context.Context, host.Command) (host.Result, error) {
		asked++
		return host.Result{Stdout: []byte("hush-hush " + strings.Repeat("!", asked))}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	m.Handle("stop", func(context.Context, host.Command) (host.Result, error) { cancel(); return host.Result{}, nil })
	record, err := folder.Start(t.Context(), journal.Meta{Run: run, Origin: "/site"})
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Host: m, Registry: modules.Standard(), Journal: record, Origin: "/site"}
	result, err := runtime.Apply(ctx, run, o)
	if err != nil || !result.Interrupted {
		t.Fatal(result, err)
	}
	if err := record.Finish(journal.End{State: journal.Interrupted, Changed: true}); err != nil {
		t.Fatal(err)
	}
	if record, err = folder.Resume(t.Context(), "", journal.Meta{}); err != nil {
		t.Fatal(err)
	}
	m.Handle("stop", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	again := record.Resumed().Run
	if !slices.Equal(again.Secrets, run.Secrets) {
		t.Errorf("the secrets are %q", again.Secrets)
	}
	o.Journal, o.Past = record, record.Ledger()
	var events []states.Event
	o.Events = func(ev states.Event) { events = append(events, ev) }
	if result, err = runtime.Apply(t.Context(), again, o); err != nil || result.Failed || result.Interrupted {
		t.Fatal(result, err)
	}
	if got := content(t, m, "/answer"); got != "it is hush-hush !" || asked != 1 {
		t.Errorf("the answer is %q, asked %d times", got, asked)
	}
	if events[0].Type != states.EventResume || strings.Contains(pretty(events), "hush") {
		t.Errorf("the events are %v", pretty(events))
	}
	if err := record.Finish(journal.End{State: journal.Done, Changed: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets.json", "results.jsonl"} {
		if _, err := os.Lstat(dir + "/runs/" + record.ID() + "/" + name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
