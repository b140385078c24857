package orchestrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/facts"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/orchestrate"
	"github.com/tenetcm/tenet/states"
)

// compile makes the run of a host.
func (w *outputWorld) compile(ctx context.Context, name string) (*machine.Job, error) {
	c, list, err := w.site.Compile(ctx, name, facts.New(w.hosts[name].memory, nil).Fact)
	if list.HasErrors() || err != nil {
		return nil, errors.Join(context.Cause(ctx), err, list.Err())
	}
	return c.Job(), nil
}

// survey finds out who reads what.
func (w *outputWorld) survey(ctx context.Context) {
	w.exchange = &fleet.Exchange{}
	for _, name := range w.names {
		j, err := w.compile(ctx, name)
		if err != nil {
			w.Fatal(err)
		}
		w.exchange.Survey(name, j.Run)
	}
	w.needs, _ = w.exchange.Needs(func(name string) bool { return w.hosts[name] != nil })
}

// prepare makes the job of a host, with what others have given.
func (w *outputWorld) prepare(ctx context.Context, m *fleet.Member, _ *machine.Facts) (*machine.Job, error) {
	j, err := w.compile(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	now := fleet.ForTurn
	if w.planning {
		now = fleet.ForPlan
	}
	run := *j.Run
	for _, n := range run.HostOutputs() {
		out := w.exchange.Output(n, now)
		if out == nil {
			return nil, fmt.Errorf("%s reads %s of %s, which has not given it", m.Name, n.Name, n.Host)
		}
		run.Given = append(run.Given, *out)
	}
	j.Run, j.Observe, j.Execution = &run, true, fmt.Sprint("execution-", w.executions)
	if !w.planning && w.rows != nil {
		j.Rows = w.rows[m.Name]
	}
	return j, nil
}

// see keeps what somebody could see.
func (w *outputWorld) see(v any) {
	if err := json.NewEncoder(&w.said).Encode(v); err != nil {
		w.wrong = err.Error()
	}
}

func (w *outputWorld) State(string, fleet.State) {}

func (w *outputWorld) Event(name string, ev states.Event) {
	w.see(ev)
	row := ev
	if row.Type != states.EventRun {
		row.Host = ""
	}
	if w.planning {
		w.rows[name] = append(w.rows[name], row)
		return
	}
	for _, giver := range w.needs[name] {
		if w.ended[giver] != fleet.Done {
			w.wrong = fmt.Sprintf("%s has begun, and %s %s", name, giver, w.ended[giver])
		}
	}
	if w.events++; w.events == w.stopAt {
		w.stop()
	}
}

func (w *outputWorld) Note(name string, n machine.Note) { w.see(n) }

func (w *outputWorld) Output(name, stream string, data []byte) { w.said.Write(data) }

func (w *outputWorld) Ended(name string, o fleet.Outcome) {
	if o.Err != nil {
		w.see(o.Err.Error())
	}
	if o.Result != nil {
		shown := *o.Result
		shown.Outputs = nil // which are for those that read them
		w.see(shown)
		if w.planning {
			w.exchange.TakePlanned(name, o.Result.Outputs)
		} else {
			w.exchange.TakeGiven(name, o.Result.Outputs)
		}
	}
	w.ended[name] = o.Status
}

func (w *outputWorld) run(task func([]string, fleet.Prepare) fleet.Task, stopAt int) {
	w.executions++
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cancelled := make(chan struct{})
	w.stopAt, w.events, w.stop, w.ended = stopAt, 0, func() { close(cancelled) }, map[string]fleet.Status{}
	o := fleet.Options{Forks: w.forks, Listener: w, Needs: w.needs, Cancelled: cancelled, Patience: fleet.NotAgain}
	if w.batch > 0 && !w.planning {
		o.Rollout = &lang.Rollout{Batch: []lang.Amount{{N: w.batch}}, MaxFailures: &lang.Amount{N: 100, Percent: true}}
	}
	if _, err := fleet.Run(ctx, w.members(), task(nil, w.prepare), o); err != nil {
		w.Fatal(err)
	}
	if w.wrong != "" {
		w.Fatal(w.wrong)
	}
}

// check looks at what came of it: of hosts that are done everything, of others nothing that is wrong.
func (w *outputWorld) check(when string, isStopped bool) {
	want := map[string]fleet.Status{}
	for _, name := range w.names {
		want[name] = fleet.Done
		if w.hosts[name].fails {
			want[name] = fleet.Failed
		}
		if slices.ContainsFunc(w.needs[name], func(giver string) bool { return want[giver] != fleet.Done }) {
			want[name] = fleet.Skipped
		}
		if got := w.ended[name]; got != want[name] && !isStopped {
			w.Fatalf("%s: %s ends %s, want %s", when, name, got, want[name])
		}
		for k, r := range w.hosts[name].reads {
			if r.by == "print" {
				continue
			}
			data, err := host.ReadFile(w.hosts[name].memory, fmt.Sprintf("/srv/%d", k), 0)
			v, _ := w.value(r.host, r.output)
			text, _ := json.Marshal(v)
			switch {
			case err != nil && w.ended[name] == fleet.Done:
				w.Fatalf("%s: %s has not read %s of %s: %v", when, name, r.output, r.host, err)
			case err == nil && want[name] != fleet.Skipped && w.ended[name] == fleet.Done && string(data) != string(text):
				w.Fatalf("%s: %s has read %s of %s as %s, and it is %s", when, name, r.output, r.host, data, text)
			}
		}
	}
	if i := bytes.Index(w.said.Bytes(), []byte(mark(true))); i >= 0 {
		w.Fatalf("%s: a secret is shown: %s", when, w.said.Bytes()[max(0, i-200):min(w.said.Len(), i+100)])
	}
	w.hidden(when)
}

// hidden looks for secrets in the records.
func (w *outputWorld) hidden(when string) {
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(mark(true))) {
			return err
		}
		info, err := d.Info()
		if err == nil && (info.Mode().Perm() != 0o600 || !slices.Contains([]string{"results.jsonl", "outputs.json", "secrets.json"}, d.Name())) {
			w.Fatalf("%s: a secret is in %s, %s", when, path, info.Mode())
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// Whoever reads outputs of others begins once these have ended well, and reads what they have given: in a plan, in the
// apply of it, to which what has arrived is no difference, after an interrupt, and when all has changed. What is sensitive is in nothing
// that is shown, and in no record but those that are secret.
func TestOutputsOfHostsProperty(t *testing.T) {
	dir, turn := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		turn++
		w := &outputWorld{T: rt, hosts: map[string]*outputHost{}, dir: filepath.Join(dir, fmt.Sprint(turn))}
		defer os.RemoveAll(w.dir)
		text := w.draw()
		loaded, list := lang.Load(fstest.MapFS{"site.hcl": {Data: []byte(text)}}, lang.Options{Registry: modules.Standard()})
		if list.HasErrors() {
			rt.Fatal(list.Err())
		}
		defer func() {
			if rt.Failed() {
				rt.Log(text)
			}
		}()
		w.site = &orchestrate.Site{Site: loaded, Origin: "/srv/site"}
		for _, name := range w.names {
			w.make(name)
		}
		w.survey(rt.Context())
		w.planning, w.rows = true, map[string][]states.Event{}
		w.run(fleet.Plan, 0)
		for _, name := range w.names {
			if w.ended[name] != fleet.Done {
				rt.Fatalf("the plan of %s: %s", name, w.ended[name])
			}
		}
		w.planning = false
		stopAt := rapid.IntRange(0, 30).Draw(rt, "stop at")
		w.run(fleet.Apply, stopAt)
		w.check("apply", stopAt > 0 && w.events >= stopAt)

		for _, name := range w.names {
			w.hosts[name].token += rapid.IntRange(0, 1).Draw(rt, "rotate "+name)
		}
		w.rows = nil
		w.survey(rt.Context())
		w.run(fleet.Apply, 0)
		w.check("next apply", false)
	})
}
