//go:build lab

package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/lab"
)

func TestControllerReachesHostsBySSH(t *testing.T) {
	run, err := lab.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	hosts, err := run.BootAll(t.Context(), "alpha", "beta")
	if err != nil {
		t.Fatal(err)
	}
	alpha, beta := hosts[0], hosts[1]
	c, err := run.Controller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustShell(t, alpha, "useradd -m -s /bin/bash deploy")
	if err := c.Authorize(t.Context(), alpha, "root", "deploy"); err != nil {
		t.Fatal(err)
	}
	ssh := func(target string) string {
		r, err := c.Exec(t.Context(), "ssh", "-o", "BatchMode=yes", target, "id -un")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	if got := ssh("alpha"); !strings.Contains(got, "Host key verification failed") {
		t.Errorf("a host that nobody trusts: %s", got)
	}
	if err := c.Trust(t.Context(), alpha, beta); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"root@alpha": "0 root", "deploy@alpha": "0 deploy", "root@" + alpha.Address: "0 root", "root@beta": "255 root@beta: Permission denied",
	} {
		if got := ssh(target); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", target, got)
		}
	}

	// What it writes is its own.
	if r, err := c.Exec(t.Context(), "sh", "-c", "mkdir /var/lib/of-the-lab && touch ~/of-the-lab"); err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := os.Lstat("/var/lib/of-the-lab"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is in /var/lib of this machine: %v", err)
	}

	p, err := c.Start(t.Context(), "ssh", "root@alpha", "echo begun; exec sleep 4711")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, func(stdout, _ string) bool { return stdout == "begun\n" }); err != nil {
		t.Fatal(err)
	}
	if p.Peak() < 1<<20 {
		t.Errorf("ssh holds %d bytes", p.Peak())
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if r, err := p.Wait(ctx); err != nil || r.ExitCode != -1 {
		t.Errorf("%+v %v", r, err)
	}
}
