//go:build lab

package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// engine runs containers of a test alone: in a network of its own, with all that it keeps in a folder of its own.
type engine struct {
	*testing.T
	dir     string
	program string // docker or podman, in bin
}

const engineImage = "localhost/busybox:1"

// newEngine makes the folder, with an image of which nobody has to be asked. Its path is short: sockets have a limit.
func newEngine(t *testing.T) *engine {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{T: t, dir: dir}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return e
}

// script writes a program, so that what runs without any variables of the environment finds the engine.
func (e *engine) script(name, text string) string {
	e.Helper()
	path := filepath.Join(e.dir, "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		e.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		e.Fatal(err)
	}
	return path
}

// background runs a program until the test ends, in a network of its own.
func (e *engine) background(argv ...string) *exec.Cmd {
	e.Helper()
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		e.Fatal(err)
	}
	c := exec.Command("unshare", append([]string{"--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}, argv...)...)
	c.Stdout, c.Stderr = log, log
	if err := errors.Join(c.Start(), log.Close()); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			e.Error(err)
		}
		_ = c.Wait() // it was told to end
	})
	return c
}

// try runs the engine.
func (e *engine) try(stdin []byte, args ...string) (string, error) {
	e.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, e.program, args...)
	c.Stdin = bytes.NewReader(stdin)
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (e *engine) run(args ...string) string {
	e.Helper()
	out, err := e.try(nil, args...)
	if err != nil {
		e.Fatal(err)
	}
	return out
}

// load makes the image of the machine's busybox-static.
func (e *engine) load() {
	e.Helper()
	program, err := os.ReadFile("/bin/busybox")
	var out bytes.Buffer
	files := tar.NewWriter(&out)
	if err == nil {
		err = files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755, Size: int64(len(program))})
	}
	if err == nil {
		_, err = files.Write(program)
	}
	for _, name := range []string{"sh", "sleep", "test"} {
		err = errors.Join(err, files.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox"}))
	}
	if err = errors.Join(err, files.Close()); err == nil {
		_, err = e.try(out.Bytes(), "import", "-", engineImage)
	}
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { // a test that failed leaves some
		if all, err := e.try(nil, "ps", "--all", "--quiet"); err == nil && all != "" {
			_, err = e.try(nil, append([]string{"rm", "--force"}, strings.Fields(all)...)...)
			if err != nil {
				e.Error(err)
			}
		}
	})
}

// newDocker begins a daemon.
func newDocker(t *testing.T) *engine {
	e := newEngine(t)
	host := "unix://" + e.dir + "/docker.sock"
	e.program = e.script("docker", "exec docker --host "+host+` "$@"`)
	e.script("docker-compose", "exec /usr/bin/docker-compose --host "+host+` "$@"`)
	e.background("dockerd", "--host", host, "--data-root", e.dir+"/data", "--exec-root", e.dir+"/exec", "--pidfile", e.dir+"/pid")
	until := time.Now().Add(30 * time.Second)
	for {
		_, err := e.try(nil, "version")
		if err == nil {
			break
		}
		if time.Now().After(until) {
			log, _ := os.ReadFile(filepath.Join(e.dir, "log"))
			t.Fatalf("no docker: %v\n%s", err, log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	e.load()
	return e
}

// newPodman needs no daemon. The limits are those that a machine may have on which root may not raise them.
func newPodman(t *testing.T) *engine {
	e := newEngine(t)
	config := "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[engine]\nruntime = \"runc\"\n"
	if err := os.WriteFile(filepath.Join(e.dir, "containers.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	network := e.background("sleep", "1000")
	e.program = e.script("podman", fmt.Sprintf(`CONTAINERS_CONF=%[1]s/containers.conf exec nsenter --net=/proc/%[2]d/ns/net /usr/bin/podman --root %[1]s/data --runroot %[1]s/run --tmpdir %[1]s/tmp --network-config-dir %[1]s/net "$@"`, e.dir, network.Process.Pid))
	e.script("podman-compose", `PATH=`+e.dir+`/bin:$PATH exec /usr/bin/podman-compose "$@"`)
	e.load()
	return e
}

// composeText is an application that writes down its parameters, and a task that ends.
func composeText(greeting, more string) string {
	return `services:
  web:
    image: ` + engineImage + `
    command: ["sh", "-c", "printf %s \"$$GREETING\" > /out/greeting; printf %s ` + greeting + ` > /out/version; trap 'exit 0' TERM; sleep 600 & wait"]
    environment:
      GREETING: "${GREETING}"
    volumes: ["./data:/out", "kept:/kept"]
` + more + `
  task:
    image: ` + engineImage + `
    command: ["test", "-d", "/"]
volumes:
  kept: {}
`
}

// containers gives those of the component, as they are.
func (e *engine) containers() string { return e.list("{{.ID}} {{.Status}}") }

func (e *engine) ids() string { return e.list("{{.ID}}") }

func (e *engine) list(format string) string {
	e.Helper()
	return e.run("ps", "--all", "--filter", "label=com.docker.compose.project=margo_app_web", "--format", format)
}

func (b *fleetBench) round() {
	b.Helper()
	if err := b.watch(1); err != nil {
		b.Fatalf("%v\n%s%s", err, b.out.String(), b.err.String())
	}
}

func (b *fleetBench) wantData(name, want string) {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "workloads/margo_app_web/app/data", name))
	if err != nil || string(data) != want {
		b.Errorf("the application's %s is %q, want %q, %v", name, data, want, err)
	}
}

// The life of a deployment with the Compose programs that Debian has.
func TestDeviceRunsCompose(t *testing.T) {
	t.Run("docker-compose", func(t *testing.T) { testCompose(t, newDocker, "docker-compose") })
	t.Run("podman-compose", func(t *testing.T) { testCompose(t, newPodman, "podman-compose") })
	if exec.Command("docker", "compose", "version").Run() == nil { // since Debian 13
		t.Run("docker compose", func(t *testing.T) { testCompose(t, newDocker, "docker compose") })
	}
}

// The page for people names the packages that have the programs.
func TestPageNamesComposePackages(t *testing.T) {
	page, err := os.ReadFile("../../docs/margo.md")
	if err != nil {
		t.Fatal(err)
	}
	for program, engine := range map[string]string{"docker-compose": "dockerd", "podman-compose": "podman"} {
		row := regexp.MustCompile("(?m)^.*12.*\\| `" + program + "` \\|$").Find(page)
		for _, name := range []string{program, engine} {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("dpkg", "--search", path).Output()
			owner, _, _ := strings.Cut(string(out), ":")
			if err != nil || !strings.Contains(string(row), "`"+owner+"`") {
				t.Errorf("%s is of the package %q, and the row is %q, %v", name, owner, row, err)
			}
		}
	}
}

func testCompose(t *testing.T, make func(*testing.T) *engine, program string) {
	t.Parallel() // they wait most of the time
	e := make(t)
	b := newFleetBench(t)
	b.program = filepath.Join(e.dir, "bin", program)
	healthy := "    healthcheck: {test: [\"CMD\", \"test\", \"-e\", \"/out/version\"], interval: 1s, retries: 9}"
	if program == "podman-compose" { // it needs timers of systemd to look after health
		healthy = ""
	}
	b.pushText("web", "1.0.0", "web/compose.yaml", composeText("one", healthy))
	b.pushText("web", "2.0.0", "web/compose.yaml", composeText("two", healthy))
	b.pushText("web", "3.0.0", "web/compose.yaml", composeText("three", "  late:\n    image: localhost/nowhere:1\n"))
	b.pushText("web", "4.0.0", "web/compose.yaml", strings.ReplaceAll(composeText("four", "    restart: always\n"), "sleep 600 & wait", "exit 3"))

	greeting := "  it's $you ${HOME} \\\\n \"q\" #`id` \\"
	document := func(revision, greeting string) string {
		text := b.document("app", []string{"web:" + revision}, fmt.Sprintf("  parameters:\n    greeting: {value: %q, targets: [{pointer: GREETING, components: [web]}]}", greeting))
		return strings.ReplaceAll(text, "revision: 4.0.0", "revision: 4.0.0\n        timeout: 0m4s")
	}
	publish := func(revision, greeting string) {
		b.manager.Publish(map[string]string{"app": document(revision, greeting)})
	}
	told := 0
	wantTold := func(want ...string) {
		t.Helper()
		all := b.manager.Statuses("app")
		if got := strings.Join(all[told:], ", "); got != strings.Join(want, ", ") {
			t.Errorf("the manager was told %q, want %q\n%s%s", got, want, b.out.String(), b.err.String())
		}
		told = len(all)
	}

	publish("1.0.0", greeting)
	b.round()
	wantTold("pending 2", "installing 2", "installed 2")
	b.wantData("greeting", greeting)
	b.wantData("version", "one")
	first, ids := e.containers(), e.ids()
	if strings.Count(first, "Up ") != 1 || strings.Count(first, "Exited (0)") != 1 {
		t.Errorf("there are %s", first)
	}

	// Nothing has changed: nothing is done.
	b.round()
	wantTold()
	if again := e.ids(); again != ids {
		t.Errorf("another round makes of %q %q\n%s", ids, again, b.out.String())
	}

	// What has ended is started again, and what is gone is made again.
	for line := range strings.Lines(first) {
		id, state, _ := strings.Cut(line, " ")
		if strings.HasPrefix(state, "Up ") {
			e.run("kill", id)
		} else {
			e.run("rm", id)
		}
	}
	b.round()
	wantTold("installing 2", "installed 2")
	if now := e.containers(); strings.Count(now, "Up ") != 1 || strings.Count(now, "Exited (0)") != 1 {
		t.Errorf("in the place of %q there are %q", first, now)
	}

	publish("2.0.0", "other\nlines")
	b.round()
	wantTold("pending 3", "installing 3", "installed 3")
	b.wantData("greeting", "other\nlines")
	b.wantData("version", "two")

	for revision, want := range map[string]string{"3.0.0": "late", "4.0.0": "do not all run in time"} {
		publish(revision, "x")
		if err := b.watch(1); err == nil {
			t.Errorf("%s ends well", revision)
		}
		reports := b.manager.Reports("app")
		last := reports[len(reports)-1]
		if err := last.Components[0].Error; last.Overall.State != rc2.Failed || err == nil || err.Code != margo.CodeFailed || !strings.Contains(err.Message, want) {
			t.Errorf("of %s the manager was told %s, %+v", revision, last.Overall.State, err)
		}
		told = len(b.manager.Statuses("app"))
	}
	publish("2.0.0", "again")
	b.round()
	wantTold("pending 6", "installing 6", "installed 6")
	b.wantData("greeting", "again")

	b.manager.Publish(nil)
	b.round()
	wantTold("removing 7", "removed 7")
	if left := e.containers(); left != "" {
		t.Errorf("left is %s", left)
	}
	if left := e.run("network", "ls", "--filter", "label=com.docker.compose.project=margo_app_web", "--quiet"); left != "" {
		t.Errorf("the network %s is left", left)
	}
	if kept := e.run("volume", "ls", "--quiet"); kept != "margo_app_web_kept" {
		t.Errorf("the volumes are %q", kept)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "workloads/margo_app_web")); err == nil {
		t.Error("its folder is left")
	}
}
