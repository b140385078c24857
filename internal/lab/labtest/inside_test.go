//go:build lab

package labtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What is said of the machine that a program runs on is tried on a host of the lab,
// by tests that are started there.
func TestInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.Command("go", "test", "-c", "-tags", "inside", "-o", filepath.Join(dir, "inside.test"), "github.com/tenetcm/tenet/internal/lab/inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := boot(t)
	m.copy(os.DirFS(dir), "/usr/local/bin")
	m.shell(lingering + "\ninstall -d -o alice -g alice /home/alice/.config /home/alice/.config/systemd /home/alice/.config/systemd/user /home/alice/.local /home/alice/.local/share /home/alice/.local/share/systemd /home/alice/.local/share/systemd/user")
	r, err := m.host.Exec(t.Context(), "inside.test", "-test.v", "-test.timeout=10m", "-test.bench=.", "-test.benchtime=200x")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", r.Stdout, r.Stderr)
	if r.ExitCode != 0 {
		t.Error("they fail there")
	}
}
