//go:build lab

package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

func TestHostsAreSeparateAndForget(t *testing.T) {
	run, err := lab.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for range 2 {
		a, err := run.Boot(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		b, err := run.Boot(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		mustShell(t, a, "test ! -e /etc/mark && touch /etc/mark && systemctl stop nginx")
		mustShell(t, b, "test ! -e /etc/mark && systemctl is-active nginx && curl -fsS -o /dev/null http://127.0.0.1/")
		files := fstest.MapFS{"dir/x": {Data: []byte("copied"), Mode: 0o755}}
		if err := a.Copy(t.Context(), files, "/opt/new"); err != nil {
			t.Fatal(err)
		}
		if out := mustShell(t, a, "test -x /opt/new/dir/x && cat /opt/new/dir/x && hostname"); out != "copieda\n" {
			t.Errorf("got %q", out)
		}
		if err := a.PowerOff(); err != nil {
			t.Error(err)
		}
		mustShell(t, b, "systemctl is-active nginx")
		if err := b.PowerOff(); err != nil {
			t.Error(err)
		}
	}
}

func TestExecEndsWithItsContext(t *testing.T) {
	run, err := lab.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	h, err := run.Boot(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := h.Exec(ctx, "sleep", "4711"); err == nil {
		t.Error("no error")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // it was killed a moment ago
		r, err := h.Exec(t.Context(), "pgrep", "-r", "R,S,D", "-x", "sleep")
		if err == nil && r.ExitCode == 1 {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("sleep is still there: %+v, %v", r, err)
		}
	}
}

// A crashed run's process cannot end its hosts: the next run does, be it this one or
// that of another test beside it.
func TestCleanEndsWhatACrashedRunLeft(t *testing.T) {
	const crash = "LAB_TEST_CRASH"
	if name := os.Getenv(crash); name != "" {
		run, err := lab.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Boot(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		machines := machinesNamed(name)
		fmt.Println("machines:", machines)
		if len(machines) == 0 {
			t.Fatal("it would leave no host: there is nothing to clean")
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	name := fmt.Sprint("left", os.Getpid())
	cmd := exec.Command(os.Args[0], "-test.run=^TestCleanEndsWhatACrashedRunLeft$")
	cmd.Env = append(os.Environ(), crash+"="+name)
	out, err := cmd.CombinedOutput()
	machine := regexp.MustCompile(`tenet-lab-\d+-` + name).FindString(string(out))
	if err == nil || !strings.Contains(err.Error(), "killed") || machine == "" {
		t.Fatalf("the run did not crash: %v\n%s", err, out)
	}
	if _, err := lab.Clean(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(time.Minute); len(machinesNamed(name)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left are the hosts %q", machinesNamed(name))
		}
	}
	run := strings.TrimSuffix(machine, "-"+name)
	for _, what := range []string{
		"/run/netns/" + run, filepath.Join(lab.RunDir, run),
		"/sys/fs/cgroup/" + machine, "/sys/fs/cgroup/systemd/" + machine, "/sys/fs/cgroup/unified/" + machine,
	} {
		if _, err := os.Lstat(what); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left is %s (%v)", what, err)
		}
	}
}

// machinesNamed gives the machines' names of the hosts of a name that run.
func machinesNamed(name string) (machines []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		argv := strings.Split(string(data), "\x00")
		i := slices.IndexFunc(argv, func(arg string) bool { return strings.HasSuffix(arg, "-"+name) })
		if i >= 0 && strings.Contains(argv[0], "systemd-nspawn") {
			machines = append(machines, argv[i])
		}
	}
	return machines
}

func mustShell(t *testing.T, h *lab.Host, script string) string {
	t.Helper()
	r, err := h.Shell(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != 0 {
		t.Fatalf("%s: %s\nexit status %d\n%s%s", h.Name, script, r.ExitCode, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}
