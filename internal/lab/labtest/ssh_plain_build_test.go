//go:build lab

package labtest

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// interpreted reports whether a program needs libraries of the machine that it was built on.
func (f *fleet) interpreted(program string) bool {
	f.Helper()
	file, err := elf.Open(program)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	return slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// plainBuild builds tenet as a newcomer does who has a C compiler. The controller gets the modules that
// Go has fetched already, as it is in no network where there would be more.
func (f *fleet) plainBuild() (program string) {
	f.Helper()
	output := func(c *exec.Cmd) string {
		f.Helper()
		out, err := c.CombinedOutput()
		if err != nil {
			f.Fatalf("%s: %v\n%s", c, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	fetched := output(exec.CommandContext(f.Context(), "go", "env", "GOMODCACHE"))
	modules := filepath.Join(f.TempDir(), "modules")
	download := exec.CommandContext(f.Context(), "go", "list", "-deps", "github.com/tenetcm/tenet/cmd/tenet", "github.com/tenetcm/tenet/cmd/tenet-runner")
	download.Env = append(os.Environ(), "GOMODCACHE="+modules, "GOFLAGS=-modcacherw", "GOPROXY=file://"+fetched+"/cache/download", "GOSUMDB=off")
	output(download)
	f.c.Env = append(f.c.Env, "GOMODCACHE="+modules, "GOPROXY=off")
	program = filepath.Join(f.TempDir(), "tenet")
	build := exec.CommandContext(f.Context(), "go", "build", "-o", program, "github.com/tenetcm/tenet/cmd/tenet")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	output(build)
	if !f.interpreted(program) {
		f.Fatal("a plain build does not need libraries: is there a C compiler here?")
	}
	return program
}

// A program that was built with cgo, which no other machine may run, simply works: the runner is
// built once, and kept.
func TestSSHPlainBuild(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "plain1")
	tenet := f.plainBuild()
	site := f.site("plain", f.asRoot()+"file \"/srv/plain\" { content = \"x\" }\n")
	runs := func(building bool, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
		defer cancel()
		r, err := f.c.Exec(ctx, append([]string{tenet}, append(args, site)...)...)
		if err != nil || r.ExitCode != 0 {
			t.Fatalf("tenet %s: %v %d\n%s%s", args, err, r.ExitCode, r.Stdout, r.Stderr)
		}
		if got := strings.Count(string(r.Stderr), "building the runner"); got != map[bool]int{true: 1}[building] {
			t.Errorf("tenet %s tells %d times that it builds:\n%s", args, got, r.Stderr)
		}
		return string(r.Stdout)
	}
	if out := runs(true, "plan"); !strings.Contains(out, "/srv/plain") {
		t.Errorf("the plan:\n%s", out)
	}
	built := func() string {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(f.c.Home(), ".cache/tenet/runners/*/tenet-runner-*"))
		if err != nil || len(list) != 1 || filepath.Base(list[0]) != "tenet-runner-linux-"+runtime.GOARCH {
			t.Fatalf("built are %s, %v", list, err)
		}
		return list[0]
	}
	runner := built()
	first, err := os.Stat(runner)
	if err != nil {
		t.Fatal(err)
	}
	if f.interpreted(runner) {
		t.Error("the runner needs libraries of this machine")
	}
	f.on(f.hosts[0], "rm -r /var/cache/tenet")
	runs(false, "apply", "--yes")
	if second, err := os.Stat(built()); err != nil || !os.SameFile(first, second) {
		t.Errorf("it was built again: %v", err)
	}
	if got := f.on(f.hosts[0], "cat /srv/plain"); got != "x" {
		t.Errorf("on the host: %q", got)
	}
}
