//go:build lab

package lab_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	if r, err := h.Exec(t.Context(), "pgrep", "-r", "R,S,D", "-x", "sleep"); err != nil || r.ExitCode != 1 {
		t.Errorf("sleep is still there: %+v, %v", r, err)
	}
}

// A crashed run's process cannot end its hosts: the next run does.
func TestCleanEndsWhatACrashedRunLeft(t *testing.T) {
	if os.Getenv("LAB_TEST_CRASH") != "" {
		run, err := lab.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Boot(t.Context(), "left"); err != nil {
			t.Fatal(err)
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	before := map[string][]string{}
	for _, what := range []string{"/run/netns/tenet-lab-*", lab.RunDir + "/tenet-lab-*"} {
		before[what], _ = filepath.Glob(what)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCleanEndsWhatACrashedRunLeft$")
	cmd.Env = append(os.Environ(), "LAB_TEST_CRASH=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the run did not crash: %v\n%s", err, out)
	}
	if left := hostsNamed("left"); left == 0 {
		t.Fatal("the crashed run has left no host: nothing to clean")
	}
	cleaned, err := lab.Clean()
	if err != nil || len(cleaned) != 1 {
		t.Errorf("cleaned %v, %v", cleaned, err)
	}
	time.Sleep(500 * time.Millisecond)
	if left := hostsNamed("left"); left != 0 {
		t.Errorf("%d hosts are left", left)
	}
	for _, what := range []string{"/run/netns/tenet-lab-*", lab.RunDir + "/tenet-lab-*"} {
		if after, _ := filepath.Glob(what); len(after) != len(before[what]) {
			t.Errorf("left are %v, before there were %v", after, before[what])
		}
	}
	for _, tree := range []string{"systemd", "unified", ""} {
		groups, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", tree, "tenet-lab-*-left"))
		if len(groups) > 0 {
			t.Errorf("control groups are left: %v", groups)
		}
	}
}

func hostsNamed(name string) int {
	n := 0
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		if strings.Contains(string(data), "systemd-nspawn") && strings.Contains(string(data), "-"+name+"\x00") {
			n++
		}
	}
	return n
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
