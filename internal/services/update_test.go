package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/api/client"
)

// Variables by which this program is a version of tenet. A program that is released here is a script that sets them, and runs this program.
const (
	versionVariable = "TENET_TEST_VERSION"
	pathVariable    = "TENET_TEST_PATH"
	modeVariable    = "TENET_TEST_MODE" // how it is bad; empty: it is not
	dieVariable     = "TENET_TEST_DIE"  // the change of the disk at which it is killed
)

// runVersion runs this program as a version of tenet.
func runVersion(version string) int {
	mode := os.Getenv(modeVariable)
	if mode == "unable" && slices.Contains(os.Args, "probe") || mode == "crash" && slices.Contains(os.Args, "run") {
		fmt.Fprintln(os.Stderr, "this program is bad")
		return 3
	}
	return cli.Main(os.Args[1:], cli.Environment{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Services: versioned{version: version}})
}

// versioned are the services of a version.
type versioned struct {
	Services
	version string
}

// Agent is cli.Services'.
func (v versioned) Agent(ctx context.Context, stateDir string, poll time.Duration, log func(string)) error {
	o := runningOptions(stateDir, poll, log)
	o.Version, o.Executable = v.version, os.Getenv(pathVariable)
	if at, err := strconv.Atoi(os.Getenv(dieVariable)); err == nil {
		n := 0
		o.Step = func(string) {
			if n++; n == at {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // until that has come
			}
		}
	}
	return daemon.Run(ctx, o)
}

// ProbeAgent is cli.Services'.
func (v versioned) ProbeAgent(ctx context.Context, stateDir string, in io.Reader, out io.Writer, log func(string)) error {
	o := agentOptions(stateDir, log)
	o.Version = v.version
	return daemon.Try(ctx, o, in, out)
}

// programOf is the program of a version.
func programOf(t testing.TB, version, mode string) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "#!/bin/sh\nexport %s=%s %s=\"$0\" %s=%s\nunset %s\nexec '%s' \"$@\"\n", versionVariable, version, pathVariable, modeVariable, mode, dieVariable, self)
}

// supervised is an agent that is started again whenever it ends, as its unit does.
type supervised struct {
	t       testing.TB
	path    string
	args    []string
	output  string
	starts  int
	die     int // the change of the disk at which it is killed, the first time
	mu      sync.Mutex
	process *os.Process
	ended   bool
	done    chan struct{}
}

func (s *supervised) run() {
	defer close(s.done)
	for {
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return
		}
		out, err := os.OpenFile(s.output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			s.t.Error(err)
			s.mu.Unlock()
			return
		}
		cmd := exec.Command(s.path, s.args...)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Env = os.Environ()
		if s.die > 0 && s.starts == 0 {
			// The script would unset it: this is the program that was installed.
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", dieVariable, s.die))
		}
		s.starts++
		if err := cmd.Start(); err != nil {
			s.t.Error(err)
			s.mu.Unlock()
			return
		}
		s.process = cmd.Process
		s.mu.Unlock()
		_ = cmd.Wait() // however it ends, it is started again
		out.Close()
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *supervised) end() {
	s.mu.Lock()
	s.ended = true
	if s.process != nil {
		_ = s.process.Kill() // it may have ended
	}
	s.mu.Unlock()
	<-s.done
}

// versions is a farm whose hosts run versions of tenet.
type versions struct {
	*farm
	key    trust.PrivateKey
	agents []*supervised
}

// newVersions starts a server and hosts that run v1.0.0.
func newVersions(t *testing.T, count int) *versions {
	t.Helper()
	v := &versions{farm: newFarm(t, "", count, "127.0.0.1")}
	var err error
	if v.key, err = trust.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call[struct{}](t.Context(), v.client, "POST", "/v1/trust/keys", nil, map[string]any{"key": v.key.Public(), "name": "releases", "verbs": []string{"release"}}); err != nil {
		t.Fatal(err)
	}
	for i := range v.hosts {
		v.startAgent(i, 0)
	}
	t.Cleanup(func() {
		for _, s := range v.agents {
			s.end()
			if data, err := os.ReadFile(s.output); err == nil && t.Failed() {
				t.Logf("%s:\n%s", s.output, data[max(0, len(data)-3000):])
			}
		}
	})
	return v
}

// startAgent starts the installed program of a host, in place of what runs there.
func (v *versions) startAgent(i, die int) {
	v.Helper()
	h := v.hosts[i]
	h.end()
	path := filepath.Join(v.dir, h.name+".tenet")
	text := strings.Replace(string(programOf(v, "v1.0.0", "")), "unset "+dieVariable+"\n", "", 1)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		v.Fatal(err)
	}
	s := &supervised{t: v, path: path, args: h.args, output: filepath.Join(v.dir, h.name+".agent.log"), die: die, done: make(chan struct{})}
	v.agents = append(v.agents, s)
	go s.run()
}

// release gives the server a release.
func (v *versions) release(version, mode string) {
	v.Helper()
	data := programOf(v, version, mode)
	r := trust.Release{Format: trust.ReleaseFormat, Version: version, Programs: []trust.Program{{Name: "tenet", OS: goruntime.GOOS, Arch: goruntime.GOARCH,
		Content: trust.Content{SHA256: trust.DigestOf(data), Size: int64(len(data))}}}}
	signed, err := trust.Sign(trust.KindRelease, r, v.key)
	if err != nil {
		v.Fatal(err)
	}
	if _, err := v.client.AddRelease(v.Context(), signed, ""); err != nil {
		v.Fatal(err)
	}
	if _, err := v.client.StartUpdate(v.Context(), client.UpdateRequest{Version: version}); diag.CodeOf(err) != "program_lacking" {
		v.Fatalf("an update begins without its program: %v", err)
	}
	if err := v.client.UploadProgram(v.Context(), r.Programs[0].SHA256, data[1:]); err == nil {
		v.Fatal("another program is taken for that of the release")
	}
	if err := v.client.UploadProgram(v.Context(), r.Programs[0].SHA256, data); err != nil {
		v.Fatal(err)
	}
}

// update brings hosts to a release, and waits until the update has come to a phase.
func (v *versions) update(version, phase string) (u client.Update) {
	v.Helper()
	v.eventually(func(ctx context.Context) error { // all have said what they run
		_, err := v.client.StartUpdate(ctx, client.UpdateRequest{Version: version, Batch: []string{"1", "100%"}})
		return err
	})
	v.eventually(func(ctx context.Context) (err error) {
		if u, err = v.client.Update(ctx, 0); err == nil && u.Phase != phase {
			err = fmt.Errorf("the update is %s: %+v", u.Phase, u)
		}
		return err
	})
	return u
}

// running demands what hosts run.
func (v *versions) running(want ...string) {
	v.Helper()
	v.eventually(func(ctx context.Context) error {
		var errs []error
		for i, h := range v.hosts {
			st, err := v.client.HostStatus(ctx, h.name)
			if err == nil && (st.Program == nil || st.Program.Version != want[i]) {
				err = fmt.Errorf("%s runs %+v, and %s is wanted; %+v", h.name, st.Program, want[i], st.Update)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// Agents are brought to a release in batches; a program that cannot follow stays out, and one that crashes is put back, with the reason told.
func TestUpdates(t *testing.T) {
	t.Parallel()
	v := newVersions(t, 2)
	v.running("v1.0.0", "v1.0.0")
	v.deploy() // so that there is something to plan
	v.release("v1.1.0", "")
	if u := v.update("v1.1.0", "done"); u.Turn < 2 {
		t.Errorf("there were no batches: %+v", u)
	}
	v.running("v1.1.0", "v1.1.0")

	v.release("v1.2.0", "unable")
	u := v.update("v1.2.0", "failed")
	if m := u.Members; m[0].State != "failed" || !strings.Contains(m[0].Reason, "this program is bad") || m[1].State == "failed" {
		t.Errorf("%+v", m)
	}
	v.running("v1.1.0", "v1.1.0")

	v.release("v1.3.0", "crash")
	u = v.update("v1.3.0", "failed")
	if m := u.Members; m[0].State != "failed" || !strings.Contains(m[0].Reason, "it was started 3 times") || m[1].State == "failed" {
		t.Errorf("%+v", m)
	}
	v.running("v1.1.0", "v1.1.0")

	v.release("v1.4.0", "")
	v.update("v1.4.0", "done")
	v.running("v1.4.0", "v1.4.0")
}

// An agent that is killed at any change of the disk during an update ends on the new program.
func TestUpdateIsKilled(t *testing.T) {
	t.Parallel()
	v := newVersions(t, 1)
	state := filepath.Join(v.dir, v.hosts[0].name+".state", "agent", "programs")
	v.running("v1.0.0")
	v.release("v1.1.0", "")
	for step := 1; step <= 8; step++ {
		v.agents[len(v.agents)-1].end()
		if err := os.RemoveAll(state); err != nil { // as before the update
			t.Fatal(err)
		}
		v.startAgent(0, step)
		s := v.agents[len(v.agents)-1]
		if step == 1 {
			v.eventually(func(ctx context.Context) error {
				_, err := v.client.StartUpdate(ctx, client.UpdateRequest{Version: "v1.1.0"})
				return err
			})
		}
		v.eventually(func(context.Context) error {
			data, err := os.ReadFile(filepath.Join(state, "current.json"))
			if err == nil && (!strings.Contains(string(data), "v1.1.0") || !strings.Contains(string(data), `"proven":true`)) {
				err = fmt.Errorf("after a kill at step %d: %s", step, data)
			}
			return err
		})
		s.mu.Lock()
		if s.starts < 2 {
			t.Errorf("it was not killed at step %d", step)
		}
		s.mu.Unlock()
	}
	v.running("v1.1.0")
}
