package stdlib_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/stdlib"
)

// composeArchive is a package with two files, and its checksum.
func composeArchive(t *testing.T) (data, checksum string) {
	t.Helper()
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.NoCompression) // whose bytes are always the same
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(zipped)
	for _, file := range [][2]string{{"shop/compose.yaml", "services: {}\n"}, {"shop/configs/web.conf", "greeting\n"}} {
		name, text := file[0], file[1]
		if err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), fmt.Sprintf("sha256:%x", sha256.Sum256(out.Bytes()))
}

// margoTrials are of std/margo_compose.
func margoTrials(t *testing.T) []trial {
	data, checksum := composeArchive(t)
	return []trial{{
		name: "margo_compose",
		site: `
component "web" {
  source = "std/margo_compose"
  vars = {
    project     = "shop-web"
    package     = "/var/cache/shop.tar.gz"
    checksum    = "` + checksum + `"
    environment = { GREETING = "Hello $you", NAME = "O'Hara" }
  }
}
`,
		machine: simulated.Machine{
			Files: map[string]simulated.File{"/var/cache/shop.tar.gz": {Content: data}},
			Commands: []simulated.Command{
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "compose", "running", simulated.AnyRest}, Exists: "/var/lib/margo/shop-web/applied"},
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "compose", "running", simulated.AnyRest}, ExitCode: 1},
				{
					Name:    "sh",
					Argv:    []string{"sh", "-c", simulated.AnyOne, "compose", "up", "docker", "shop-web", "/var/lib/margo/shop-web", simulated.AnyOne, "true", "300", "docker", "compose"},
					Creates: map[string]string{"/var/lib/margo/shop-web/applied": "x"},
				},
			},
		},
		files: map[string]string{
			"/var/lib/margo/shop-web/app/compose.yaml":     "services: {}\n",
			"/var/lib/margo/shop-web/app/configs/web.conf": "greeting\n",
			"/var/lib/margo/shop-web/environment":          "export GREETING='Hello $you'\nexport NAME='O'\\''Hara'\n",
		},
	}}
}

// engine is a docker of which the containers are as they stand in a file, and which writes down what it is asked.
type engine struct {
	t   *testing.T
	dir string
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{t, t.TempDir()}
	e.write("home/app/compose.yaml", "services: {}\n")
	e.write("home/environment", "export A='b'\n")
	e.write("bin/docker", `#!/bin/sh
case "$1" in
  ps) [ ! -e "`+e.dir+`/dead" ] && cat "`+e.dir+`/containers" ;;
  stop | rm | network) echo "$*" >> "`+e.dir+`/asked"; [ "$1" != rm ] || : > "`+e.dir+`/containers" ;;
  compose) echo "$*" "A=$A" >> "`+e.dir+`/asked"; [ ! -e "`+e.dir+`/broken" ] || { echo "no such image" >&2; exit 1; }
    cp "`+e.dir+`/next" "`+e.dir+`/containers" ;;
esac
`)
	e.write("containers", "")
	e.write("next", "Up 4 seconds\nUp 3 seconds\n")
	return e
}

func (e *engine) write(name, text string) {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		e.t.Fatal(err)
	}
}

// run carries out the component's script, and tells whether it went well, and what it said.
func (e *engine) run(what string, args ...string) (bool, string) {
	e.t.Helper()
	script, err := stdlib.FS.ReadFile("margo_compose/compose.sh")
	if err != nil {
		e.t.Fatal(err)
	}
	c := exec.Command("sh", slices.Concat([]string{"-c", string(script), "compose", what, "docker", "shop", filepath.Join(e.dir, "home")}, args)...)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(e.dir, "bin")+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	return err == nil, string(out)
}

func TestComposeScript(t *testing.T) {
	e := newEngine(t)
	if ok, _ := e.run("running", "m1"); ok {
		t.Error("what was never started runs")
	}
	if ok, out := e.run("up", "m1", "true", "5", "docker", "compose"); !ok {
		t.Fatal(out)
	}
	if ok, _ := e.run("running", "m1"); !ok {
		t.Error("what was started does not run")
	}
	if ok, _ := e.run("running", "m2"); ok {
		t.Error("another package counts as started")
	}
	e.write("home/environment", "export A='c'\n")
	if ok, _ := e.run("running", "m1"); ok {
		t.Error("other parameters count as started")
	}
	e.write("home/environment", "export A='b'\n")
	for containers, want := range map[string]bool{
		"":                          false,
		"Up 3 hours\nUp 1 second\n": true,
		"Up 3 hours ago\nUp Less than a second ago\n": true, // podman
		"Up 3 hours\n": false, // one is gone
		"Up 3 hours (healthy)\nExited (0) 2 minutes ago\n": true,
		"Up 3 hours (unhealthy)\nUp 3 hours\n":             false,
		"Up 3 hours\nUp 3 seconds (health: starting)\n":    false,
		"Up 3 hours\nUp 3 seconds (starting)\n":            false,
		"Up 3 hours\nUp 3 hours (Paused)\n":                false,
		"Up 3 hours\nExited (1) 2 minutes ago\n":           false,
		"Up 3 hours\nRestarting (1) 1 second ago\n":        false,
		"Up 3 hours\nCreated\n":                            false,
	} {
		e.write("containers", containers)
		if ok, _ := e.run("running", "m1"); ok != want {
			t.Errorf("%q: %t", containers, ok)
		}
	}
	asked, err := os.ReadFile(filepath.Join(e.dir, "asked"))
	if err != nil || !strings.Contains(string(asked), "--file "+e.dir+"/home/app/compose.yaml up --detach --remove-orphans A=b\n") {
		t.Errorf("docker was asked %q, %v", asked, err)
	}
}

func TestComposeScriptFails(t *testing.T) {
	e := newEngine(t)
	e.write("next", "Up Less than a second\nUp 2 seconds\n")
	if ok, out := e.run("up", "m1", "true", "1", "docker", "compose"); ok || !strings.Contains(out, "in time:\nUp Less") {
		t.Errorf("what may fall over at once: %t, %s", ok, out)
	}
	e.write("dead", "")
	if ok, _ := e.run("up", "m1", "false", "1", "docker", "compose"); ok {
		t.Error("an engine that says nothing has started something")
	}
	if err := os.Remove(filepath.Join(e.dir, "dead")); err != nil {
		t.Fatal(err)
	}
	e.write("next", "Exited (1) 1 second ago\n")
	if ok, out := e.run("up", "m1", "true", "1", "docker", "compose"); ok || !strings.Contains(out, "in time:\nExited (1)") {
		t.Errorf("what does not run: %t, %s", ok, out)
	}
	if ok, out := e.run("up", "m1", "false", "1", "docker", "compose"); !ok {
		t.Errorf("nobody waits: %s", out)
	}
	e.write("broken", "")
	if ok, out := e.run("up", "m1", "true", "1", "docker", "compose"); ok || !strings.Contains(out, "no such image") {
		t.Errorf("what cannot be started: %t, %s", ok, out)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "home/applied")); err == nil {
		t.Error("what failed counts as started")
	}
	// What Compose does not understand any more is taken away by its label.
	e.write("containers", "c1\n")
	if ok, out := e.run("down", "docker", "compose"); !ok {
		t.Error(out)
	}
	if asked, err := os.ReadFile(filepath.Join(e.dir, "asked")); err != nil || !strings.Contains(string(asked), "stop c1\nrm --force c1\n") {
		t.Errorf("docker was asked %q, %v", asked, err)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "home/app/compose.yaml")); err == nil {
		t.Error("what was taken away would be taken away again")
	}
}

// A parameter may have the name of a variable of the script.
func TestComposeScriptTakesAnyVariable(t *testing.T) {
	for _, name := range []string{"dir", "project", "engine", "what", "action", "label", "IFS", "PWD", "A"} {
		e := newEngine(t)
		e.write("home/environment", "export A='b' "+name+"='x'\n")
		if ok, out := e.run("up", "m1", "true", "5", "docker", "compose"); !ok {
			t.Errorf("%s: %s", name, out)
		}
		if ok, _ := e.run("running", "m1"); !ok {
			t.Errorf("%s: it does not run", name)
		}
	}
}
