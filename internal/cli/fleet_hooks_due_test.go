package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
)

// hookedRun prepares an apply on web, with a hook on lb. Both are this machine, and leave their names in a
// directory.
func hookedRun(t *testing.T, in *answers) (v *fleetRun, dir string, out *bytes.Buffer) {
	t.Helper()
	dir = t.TempDir()
	text := fmt.Sprintf(`
host "web" { executor = "local" }
host "lb" { executor = "local" }
file "f" {
  path    = "%[1]s/${host.name}"
  content = "wanted\n"
}
state "undrain" {
  param "batch" { type = list(string) }
  param "pool" { default = 0 }
  file "undrained" {
    path    = "%[1]s/undrained-${join("-", param.batch)}"
    content = param.pool
  }
}
rollout {
  after_each {
    hosts = "lb"
    state = state.undrain
  }
}
`, dir)
	if err := os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out = &bytes.Buffer{}
	s := &client{console: console{Environment{In: in, Out: out, Err: out}, &Globals{StateDir: t.TempDir(), Limit: "web"}}, lockTimeout: time.Minute, shownDiagnostics: &shownDiagnostics{}}
	s.globals.Forks = 1
	v, err := s.siteRun(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rollout, err := s.rollout(t.Context(), &applyCmd{}, v)
	if err != nil {
		t.Fatal(err)
	}
	v.rollout = rollout
	return v, dir, out
}

// leaveDue records an apply that was killed before it ran the hook around a host that is no longer declared.
func leaveDue(t *testing.T, v *fleetRun) *fleet.Executions {
	t.Helper()
	executions, err := v.executions()
	if err != nil {
		t.Fatal(err)
	}
	x, err := executions.New(fleet.Record{Command: "apply", Site: v.name, Origin: v.place, Hosts: []fleet.RecordHost{{Name: "old", Status: fleet.Done}},
		Hooks: []fleet.RecordHook{{
			Kind: fleet.AfterEach, State: "state.undrain", Params: map[string]any{"pool": json.Number("9007199254740993")}, Hosts: []string{"lb"}, Batch: []string{"old"}, Status: fleet.HookDue,
		}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(executions.Dir, x.ID()+".due"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return executions
}

// An apply that is killed while another one asks whether to begin leaves what that one is to do first: who was
// asked has not seen it, so that nothing is begun.
func TestHooksLeftDueWhileAsked(t *testing.T) {
	var v *fleetRun
	var executions *fleet.Executions
	v, dir, out := hookedRun(t, &answers{func() string {
		executions = leaveDue(t, v)
		return "y\n"
	}})
	err := v.applyAll(t.Context(), false, false, v.rollout)
	if exitOf(err) != exitFailed || !strings.Contains(out.String(), "due since execution") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "web")); err == nil {
		t.Error("it was begun")
	}
	if due, err := executions.Due(); err != nil || len(due) != 1 {
		t.Errorf("due: %v (%v)", due, err)
	}
}

// Where leave was given, it is done first.
func TestHooksLeftDueMeanwhile(t *testing.T) {
	v, dir, out := hookedRun(t, &answers{})
	executions := leaveDue(t, v)
	if _, err := v.execute(t.Context(), fleet.Apply(v.facts, v.prepare), v.members, v.rollout); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	holds(t, filepath.Join(dir, "web"), "wanted\n")
	holds(t, filepath.Join(dir, "undrained-web"), "0")
	holds(t, filepath.Join(dir, "undrained-old"), "9007199254740993") // with all its digits
	if due, err := executions.Due(); err != nil || len(due) > 0 {
		t.Errorf("due: %v (%v)", due, err)
	}
	if before, _, _ := strings.Cut(out.String(), "\nexecution "); !strings.Contains(before, "due since execution") {
		t.Errorf("it was not done first:\n%s", out)
	}
}

// Whoever pipes two answers is heard twice: first about what is due, and then about the rest.
func TestAnswersAboutWhatIsDue(t *testing.T) {
	v, dir, out := hookedRun(t, &answers{})
	v.In = strings.NewReader("y\ny\n")
	leaveDue(t, v)
	cmd, limit := &applyCmd{}, 2
	cmd.UntilConverged = &limit
	if err := v.convergeAll(t.Context(), cmd, v.rollout); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	holds(t, filepath.Join(dir, "web"), "wanted\n")
}
