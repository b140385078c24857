//go:build lab

package labtest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
	"github.com/tenetcm/tenet/states"
)

// shared is what all tests of the package use: one run of the lab, and the
// program built once, for any Linux.
var shared struct {
	run     *lab.Run
	bin     string
	runners string // the slim program for hosts
}

// together is how many tests run side by side, if nobody says otherwise. They mostly
// wait: for hosts that boot, for timers, for lines that are cut.
const together = "5"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ssh" {
		os.Exit(traceSSH())
	}
	status, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func runAll(m *testing.M) (status int, err error) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", together); err != nil {
			return 1, err
		}
	}
	shared.bin, err = os.MkdirTemp("", "tenet-lab-bin-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(shared.bin)
	build := exec.Command("go", "build", "-o", filepath.Join(shared.bin, "tenet"), "github.com/tenetcm/tenet/cmd/tenet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build tenet: %w\n%s", err, out)
	}
	shared.runners = shared.bin + "-runners"
	defer os.RemoveAll(shared.runners)
	slim := filepath.Join(shared.runners, "tenet-runner-linux-"+runtime.GOARCH)
	build = exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", slim, "github.com/tenetcm/tenet/cmd/tenet-runner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build tenet-runner: %w\n%s", err, out)
	}
	if shared.run, err = lab.Open(context.Background()); err != nil {
		return 1, err
	}
	defer func() {
		if closed := shared.run.Close(); err == nil {
			err = closed
		}
	}()
	return m.Run(), nil
}

// machine is one host with tenet on it.
type machine struct {
	*testing.T
	host *lab.Host
}

// boot starts a fresh host for a test, which has its name.
func boot(t *testing.T) *machine {
	t.Helper()
	return start(t, nameOf(t), shared.run.Boot)
}

// nameOf makes a host's name of a test's, short enough for that of a machine.
func nameOf(t *testing.T) string {
	name := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(t.Name()), "test"), "/", "-")
	return strings.TrimRight(strings.ReplaceAll(name, "_", "-")[:min(len(name), 36)], "-")
}

// bootAs starts a fresh host of a name, which others reach it by.
func bootAs(t *testing.T, name string) *machine {
	t.Helper()
	return start(t, name, shared.run.Boot)
}

// bootLasting starts a host that can reboot.
func bootLasting(t *testing.T) *machine {
	t.Helper()
	return start(t, nameOf(t), shared.run.BootLasting)
}

// start boots a host, which is powered off after the test, and puts tenet on it.
func start(t *testing.T, name string, boot func(context.Context, string) (*lab.Host, error)) *machine {
	t.Helper()
	h, err := boot(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.PowerOff(); err != nil {
			t.Error(err)
		}
	})
	m := &machine{T: t, host: h}
	m.copy(os.DirFS(shared.bin), "/usr/local/bin")
	return m
}

func (m *machine) copy(fsys fs.FS, dir string) {
	m.Helper()
	if err := m.host.Copy(m.Context(), fsys, dir); err != nil {
		m.Fatal(err)
	}
}

// site replaces the site in /root/site by one of a single file. What a script has put
// into its directory files stays.
func (m *machine) site(text string) {
	m.Helper()
	m.shell("mkdir -p /root/site && find /root/site -mindepth 1 -maxdepth 1 ! -name files -exec rm -r {} +")
	m.copy(fstest.MapFS{"site.hcl": {Data: []byte(text)}}, "/root/site")
}

// shell runs a script that must succeed, and returns what it prints.
func (m *machine) shell(script string) string {
	m.Helper()
	r, err := m.host.Shell(m.Context(), script)
	if err != nil {
		m.Fatal(err)
	}
	if r.ExitCode != 0 {
		m.Fatalf("%s\nexit status %d\n%s%s", script, r.ExitCode, r.Stdout, r.Stderr)
	}
	return strings.TrimSpace(string(r.Stdout))
}

// until waits until a script succeeds, which it is to do before long.
func (m *machine) until(script string) {
	m.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err := m.host.Shell(m.Context(), script)
		if err == nil && r.ExitCode == 0 {
			return
		}
		if err != nil || time.Now().After(deadline) {
			m.Fatalf("not after two minutes: %s\n%v\n%s%s", script, err, r.Stdout, r.Stderr)
		}
	}
}

// result is how a run of tenet ended.
type result struct {
	status int
	events []states.Event
	stderr string
}

// tenet runs "tenet ARGS… --json /root/site" on the host.
func (m *machine) tenet(args ...string) result {
	m.Helper()
	argv := append([]string{"tenet"}, args...)
	return m.run(append(argv, "--json", "/root/site")...)
}

// run runs a program that prints events.
func (m *machine) run(argv ...string) result {
	m.Helper()
	r, err := m.host.Exec(m.Context(), argv...)
	if err != nil {
		m.Fatal(err)
	}
	out := result{status: r.ExitCode, stderr: string(r.Stderr)}
	for line := range bytes.Lines(r.Stdout) {
		var e states.Event
		if err := json.Unmarshal(line, &e); err != nil {
			m.Fatalf("no event: %s\n%s", line, r.Stderr)
		}
		out.events = append(out.events, e)
	}
	return out
}

// apply applies the site, which must end well, and returns the addresses of
// the parts that changed, sorted.
func (m *machine) apply() []string {
	m.Helper()
	r := m.tenet("apply", "--yes")
	if r.status != 0 {
		m.Fatalf("apply: exit status %d\n%s%s", r.status, r.failures(), r.stderr)
	}
	return r.changed()
}

// converges applies the site, wants these changes, and none the second time.
func (m *machine) converges(want ...string) {
	m.Helper()
	slices.Sort(want)
	if got := m.apply(); !slices.Equal(got, want) {
		m.Errorf("changed %q, want %q", got, want)
	}
	if got := m.apply(); len(got) > 0 {
		m.Errorf("the second apply changed %q", got)
	}
}

// fails applies the site, which must fail in one of some parts, and returns its event.
func (m *machine) fails(addresses ...string) states.Event {
	m.Helper()
	r := m.tenet("apply", "--yes")
	if r.status != 1 {
		m.Errorf("exit status %d, want 1\n%s", r.status, r.stderr)
	}
	for _, e := range r.parts() {
		if e.Outcome == states.Failed && slices.Contains(addresses, e.Address) && e.Error != nil {
			return e
		}
	}
	m.Fatalf("none of %q has failed: %s%s", addresses, r.failures(), r.stderr)
	return states.Event{}
}

func (r result) parts() []states.Event {
	var parts []states.Event
	for _, e := range r.events {
		if e.Type == states.EventPart {
			parts = append(parts, e)
		}
	}
	return parts
}

func (r result) changed() []string {
	return addresses(r.parts(), func(e states.Event) bool { return e.Outcome == states.Changed })
}

func (r result) failures() string {
	var b strings.Builder
	for _, e := range r.parts() {
		if e.Error != nil {
			fmt.Fprintf(&b, "%s: %s: %s\n", e.Address, e.Error.Code, e.Error.Message)
		}
	}
	return b.String()
}

func addresses(events []states.Event, keep func(states.Event) bool) []string {
	var out []string
	for _, e := range events {
		if keep(e) {
			out = append(out, e.Address)
		}
	}
	slices.Sort(out)
	return out
}

// says wants texts in an event's error, and the place of its declaration.
func says(t *testing.T, e states.Event, texts ...string) {
	t.Helper()
	if !strings.Contains(e.Error.Source, ".hcl:") {
		t.Errorf("%s: the error has no place: %+v", e.Address, e.Error)
	}
	all := e.Error.Message + "\n" + e.Error.Hint + "\n" + e.Output
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%s: the error does not say %q:\n%s", e.Address, text, all)
		}
	}
}
