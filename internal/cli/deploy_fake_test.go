package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// agents are the hosts web1, which becomes what is wanted at once, and web2, which is not connected.
type agents struct {
	sealing string
	mu      sync.Mutex
	targets map[trust.ID]trust.Position
}

func agentID(letter string) trust.ID { return trust.ID(strings.Repeat(letter, 51) + "a") }

// List is deploy.Hosts'.
func (a *agents) List(context.Context) ([]deploy.Enrolled, error) {
	return []deploy.Enrolled{{ID: agentID("a"), Name: "web1", Sealing: a.sealing}, {ID: agentID("b"), Name: "web2", Sealing: a.sealing}}, nil
}

func (a *agents) Held(trust.ID, string) trust.Position { return trust.Position{} }

// Loop is deploy.Seen's.
func (a *agents) Loop(host trust.ID, _ string) (control.Loop, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.targets[host]
	return control.Loop{Position: at, Phase: control.PhaseWaiting, Condition: control.ConditionConverged}, ok
}

// Away is deploy.Seen's.
func (a *agents) Away(host trust.ID) time.Time {
	if host == agentID("b") {
		return time.Unix(1.7e9, 0)
	}
	return time.Time{}
}

// Facts is deploy.Seen's.
func (a *agents) Facts(trust.ID) (map[string]json.RawMessage, time.Time) {
	return map[string]json.RawMessage{"hostname": json.RawMessage(`"one"`)}, time.Unix(1.7e9, 0)
}

// Outputs is deploy.Seen's.
func (a *agents) Outputs(trust.ID, string) (map[string]json.RawMessage, time.Time) {
	return nil, time.Time{}
}

// Assign is deploy.Targets'.
func (a *agents) Assign(_ store.Tx, host trust.ID, as *trust.Assignment) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	as.Position = trust.Position{Epoch: 1, N: a.targets[host].N + 1}
	a.targets[host] = as.Position
	return as.Check()
}

// Wake is deploy.Targets'.
func (a *agents) Wake(context.Context, ...trust.ID) error { return nil }

// Plan is deploy.Planner's.
func (a *agents) Plan(context.Context, trust.ID, string, *deploy.Prepared) (*deploy.HostPlan, error) {
	return &deploy.HostPlan{Rows: []states.Event{{Type: "part", Address: "file.motd", Action: "create"}}}, nil
}

// deployments brings sites to the agents, evaluated by the program tenet.
func deployments(ctx context.Context, s *store.Store) (*deploy.Service, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	tenet, err := exec.LookPath("tenet")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(".", "sites")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	kept, err := contents.OpenFolder(dir + "/contents")
	if err != nil {
		return nil, err
	}
	a := &agents{sealing: key.Recipient().String(), targets: map[trust.ID]trust.Position{}}
	service := deploy.New(deploy.Options{Store: s, Contents: kept, Dir: dir, Hosts: a, Seen: a, Targets: a, Planner: a, Program: "test",
		Evaluate: &evaluate.Evaluator{Command: []string{tenet, evaluate.Argument}, Program: "test"}})
	fault.Go(func() { service.Run(ctx, func(err error) { os.Stderr.WriteString(err.Error() + "\n") }) })
	return service, nil
}
