package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/agent/held"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// A run that comes in between keeps the agent from applying for as long as it goes on, whoever has begun it is gone or not, and no longer.
func TestAgentWaitsForWhatComesBetween(t *testing.T) {
	m := newMachine(t)
	open := gates(m)
	signed, err := json.Marshal(&trust.Signed{Kind: trust.KindAssignment, Content: []byte(`{"site": "shop"}`)})
	path := filepath.Join(held.Folder(m.runner.StateDir), held.Name("shop"))
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, signed, 0o600)); err != nil {
		t.Fatal(err)
	}
	keep := func() error {
		_, err := m.runner.Apply(t.Context(), &machine.Job{Run: &states.StateRun{Format: states.Format, Site: "shop", Host: "x"}, Keeper: true}, machine.Observer{})
		return err
	}
	b := waiting("20260101-000000-abcdef", 1)
	b.Run.Site = "shop"
	if h := m.ask(wire.Request{Op: wire.OpApply}, b); h.end.Failure == nil || h.end.Failure.Code != machine.CodeDeployed {
		t.Fatalf("what the agent keeps is applied: %+v", h.end)
	}

	b = waiting("20260101-000001-abcdef", 1)
	b.Run.Site, b.Once = "shop", true
	l := m.request(wire.Request{Op: wire.OpApply}, b)
	l.until(t, &heard{}, 2)
	l.cut()
	if err := keep(); !isLocked(err) {
		t.Errorf("the agent applies beside it: %v", err)
	}
	open <- struct{}{}
	<-l.done
	if err := keep(); err != nil {
		t.Errorf("the agent still waits: %v", err)
	}
}

func isLocked(err error) bool {
	e, ok := errors.AsType[*machine.Error](err)
	return ok && e.Code == machine.CodeLocked
}
