package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Real runners, on trees of files: each machine gets what is its own, by what it says of
// itself, and at the second time there is nothing to do.
func TestRunners(t *testing.T) {
	registry := modules.Standard()
	var list []*fleet.Machine
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
		dial := runner.Local(&runner.Runner{Host: h, Root: roots[name], StateDir: t.TempDir(), Registry: registry, Program: "test"})
		list = append(list, &fleet.Machine{Name: name, Dial: dial, InProcess: true})
	}
	execution := ""
	task := fleet.Task{
		Opening:  wire.Opening{Facts: []string{"machine_id"}},
		Registry: func(*fleet.Machine) *states.Registry { return registry },
		Prepare: func(_ context.Context, m *fleet.Machine, hello *wire.Hello) (*wire.Request, *bundle.Bundle, error) {
			run := &states.StateRun{Format: states.Format, Host: m.Name, Site: "shop", Revision: "sha256:1", Invocations: []states.Invocation{{
				Address: "file.id", State: "file.id", Parts: []states.Part{{
					Address: "file.id", ID: "file.id", Type: "file", Key: "/etc/id", Ensure: states.Present,
					Values: map[string]any{"path": "/etc/id", "content": string(hello.Facts["machine_id"])},
				}},
			}}}
			return &wire.Request{Op: wire.OpApply}, &bundle.Bundle{Execution: execution, Origin: "here:/site", Run: run}, nil
		},
	}
	for _, changed := range []int{1, 0} {
		s := newSeen(t)
		execution = fmt.Sprintf("20261121-22004%d-3fa9c1", changed)
		for i, o := range mustRun(t, list, task, fleet.Options{Listener: s}) {
			if o.Status != fleet.Done || o.End.Result.Counts.Changed != changed || o.Run == "" {
				t.Errorf("%+v", o)
			}
			if data, err := os.ReadFile(filepath.Join(roots[o.Machine], "etc/id")); err != nil || string(data) != fmt.Sprintf(`"%032d"`, i) {
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
