package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/agent/held"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// accept writes an assignment down as an agent does.
func accept(t *testing.T, stateDir, site string, isAbsent bool) {
	t.Helper()
	key, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := trust.Sign(trust.KindAssignment, trust.Assignment{Site: site, Absent: isAbsent}, key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(held.Folder(stateDir), held.Name(site))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func bareRunner(t *testing.T) *Runner {
	t.Helper()
	h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{Host: h, StateDir: t.TempDir(), Registry: states.NewRegistry()}
}

// What an agent keeps is not applied besides, unless somebody says so. The host's own records say what that is.
func TestDeployedSite(t *testing.T) {
	r := bareRunner(t)
	apply := func(site string, change func(*machine.Job)) error {
		j := &machine.Job{Run: &states.StateRun{Format: states.Format, Site: site, Host: "x"}}
		change(j)
		_, err := r.Apply(t.Context(), j, machine.Observer{})
		return err
	}
	plain := func(*machine.Job) {}
	refused := func(err error) {
		t.Helper()
		if e, ok := errors.AsType[*machine.Error](err); !ok || e.Code != machine.CodeDeployed || e.Hint == "" {
			t.Errorf("it is not refused: %v", err)
		}
	}
	if err := apply("shop", plain); err != nil {
		t.Errorf("without an agent: %v", err)
	}
	accept(t, r.StateDir, "shop", false)
	refused(apply("shop", plain))
	if err := apply("shop", func(j *machine.Job) { j.Once = true }); err != nil {
		t.Errorf("once: %v", err)
	}
	if err := apply("shop", func(j *machine.Job) { j.Keeper = true }); err != nil {
		t.Errorf("the agent itself: %v", err)
	}
	for _, site := range []string{"shop2", ""} {
		if err := apply(site, plain); err != nil {
			t.Errorf("the site %q: %v", site, err)
		}
	}
	var notes []machine.Note
	if _, err := r.Plan(t.Context(), &machine.Job{Run: &states.StateRun{Format: states.Format, Site: "shop", Host: "x"}}, machine.Observer{Note: func(n machine.Note) { notes = append(notes, n) }}); err != nil || len(notes) != 1 {
		t.Errorf("a plan says: %+v, %v", notes, err)
	}
	accept(t, r.StateDir, "shop", true)
	if err := apply("shop", plain); err != nil {
		t.Errorf("after an absence: %v", err)
	}
	if err := os.WriteFile(filepath.Join(held.Folder(r.StateDir), held.Name("shop")), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(apply("shop", plain))
}

// pausedRun begins a run that has the machine start anew, and dies.
func pausedRun(t *testing.T, r *Runner, site string, isOnce bool) string {
	t.Helper()
	folder, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	run, err := folder.Start(t.Context(), journal.Meta{Run: &states.StateRun{Format: states.Format, Site: site, Host: "x", Revision: "1"}, Once: isOnce})
	if err == nil {
		err = run.Pause(journal.End{})
	}
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join(r.StateDir, "runs", run.ID(), "status.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(journal.End{State: journal.Interrupted}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.StateDir, "runs", run.ID(), "status.json"), status, 0o600); err != nil { // as if it had not ended
		t.Fatal(err)
	}
	return run.ID()
}

// While a run that came in between has the machine start anew, the agent waits for it, but not for ever; and it can be gone on with.
func TestOnceOverReboot(t *testing.T) {
	keep := func(r *Runner) error {
		_, err := r.Apply(t.Context(), &machine.Job{Run: &states.StateRun{Format: states.Format, Site: "shop", Host: "x"}, Keeper: true}, machine.Observer{})
		return err
	}
	for _, test := range []struct {
		name   string
		isOnce bool
		up     time.Duration
		paused time.Duration // ago
		want   string
	}{
		{"it is about to start anew", true, time.Hour, time.Minute, machine.CodeLocked},
		{"it has just started", true, time.Minute, time.Hour, machine.CodeLocked},
		{"it does not come back", true, time.Hour, time.Hour, ""},
		{"its clock was set back", true, time.Hour, -time.Hour, ""},
		{"any other run", false, time.Minute, time.Minute, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := bareRunner(t)
			r.uptime = func() (time.Duration, error) { return test.up, nil }
			accept(t, r.StateDir, "shop", false)
			path := filepath.Join(r.StateDir, "runs", pausedRun(t, r, "shop", test.isOnce), "status.json")
			data, err := os.ReadFile(path)
			var status map[string]any
			if err == nil {
				err = json.Unmarshal(data, &status)
			}
			if err != nil {
				t.Fatal(err)
			}
			status["paused"] = time.Now().Add(-test.paused).UTC()
			if data, err = json.Marshal(status); err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = keep(r)
			e, _ := errors.AsType[*machine.Error](err)
			if test.want == "" && err != nil || test.want != "" && (e == nil || e.Code != test.want) {
				t.Errorf("the agent's apply: %v", err)
			}
		})
	}
	r := bareRunner(t)
	accept(t, r.StateDir, "shop", false)
	id := pausedRun(t, r, "shop", true)
	if _, err := r.Resume(t.Context(), machine.Resumption{Run: machine.RunRef{ID: id}}, machine.Observer{}); err != nil {
		t.Errorf("going on with it: %v", err)
	}
	id = pausedRun(t, r, "shop", false)
	if _, err := r.Resume(t.Context(), machine.Resumption{Run: machine.RunRef{ID: id}}, machine.Observer{}); err == nil {
		t.Error("a run of before is gone on with, though the site is deployed")
	}
	if _, err := r.Resume(t.Context(), machine.Resumption{Run: machine.RunRef{ID: id}, Keeper: true}, machine.Observer{}); err != nil {
		t.Errorf("the agent goes on with it: %v", err)
	}
}
