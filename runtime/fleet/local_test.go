package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// Real runners, on trees of files, in this process and behind a pipe: each machine gets what is its own, by what it says of
// itself, and at the second time there is nothing to do.
func TestRunners(t *testing.T) {
	registry := modules.Standard()
	var list []*fleet.Member
	roots := map[string]string{}
	for i := range 3 {
		name := fmt.Sprint("m", i)
		roots[name] = t.TempDir()
		if err := os.MkdirAll(filepath.Join(roots[name], "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(roots[name], "etc/machine-id"), fmt.Appendf(nil, "%032d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := host.NewLocal(host.LocalOptions{Root: roots[name]})
		if err != nil {
			t.Fatal(err)
		}
		var m machine.Machine = &runner.Runner{Host: h, Root: roots[name], StateDir: t.TempDir(), Registry: registry, Program: "test"}
		if i == 2 {
			m = &remote.Machine{Name: name, Dial: runner.Local(m.(*runner.Runner)), Registry: registry}
		}
		list = append(list, &fleet.Member{Name: name, Machine: m, InProcess: true})
	}
	execution := ""
	task := fleet.Apply([]string{"machine_id"}, func(_ context.Context, m *fleet.Member, facts *machine.Facts) (*machine.Job, error) {
		id, err := facts.Fact("machine_id")
		run := &states.StateRun{Format: states.Format, Host: m.Name, Site: "shop", Revision: "sha256:1", Invocations: []states.Invocation{{
			Address: "file.id", State: "file.id", Parts: []states.Part{{
				Address: "file.id", ID: "file.id", Type: "file", Key: "/etc/id", Ensure: states.Present,
				Values: map[string]any{"path": "/etc/id", "content": id},
			}},
		}}}
		return &machine.Job{Execution: execution, Origin: "here:/site", Run: run}, err
	})
	for _, changed := range []int{1, 0} {
		s := newSeen(t)
		execution = fmt.Sprintf("20261121-22004%d-3fa9c1", changed)
		for i, o := range mustRun(t, list, task, fleet.Options{Listener: s}) {
			if o.Status != fleet.Done || o.Result.Counts.Changed != changed || o.Run == "" {
				t.Errorf("%+v", o)
			}
			if data, err := os.ReadFile(filepath.Join(roots[o.Machine], "etc/id")); err != nil || string(data) != fmt.Sprintf("%032d", i) {
				t.Errorf("%s: %q %v", o.Machine, data, err)
			}
			if seqs := s.seqs[o.Machine]; len(seqs) == 0 {
				t.Error("no events")
			} else {
				equal(t, "events", seqs, upTo(len(seqs)))
			}
		}
	}
}
