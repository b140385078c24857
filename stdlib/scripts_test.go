package stdlib_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenetcm/tenet/stdlib"
)

// workshop is where a script of a component runs with programs that say who starts them.
type workshop struct {
	t    *testing.T
	dir  string
	conf string // the server's own folder
}

// newWorkshop has a server that takes its settings unless conf holds a file "bad".
func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	w := &workshop{t: t, dir: t.TempDir()}
	w.conf = filepath.Join(w.dir, "conf")
	w.program("bin/runuser", `shift 3; ACTOR=postgres exec "$@"`)
	for _, name := range []string{"mv", "rm"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		w.program("bin/"+name, `[ "$ACTOR" = postgres ] || echo "root: `+name+` $*" >> `+w.dir+`/root`+"\n"+`exec `+program+` "$@"`)
	}
	w.program("servers/15/bin/postgres", `[ ! -e `+w.conf+`/bad ] && echo `+w.dir)
	for _, dir := range []string{"conf", "outside"} {
		if err := os.Mkdir(filepath.Join(w.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *workshop) program(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// write makes a file of the server's folder.
func (w *workshop) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.conf, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// lead makes a link in the server's folder that leads to a folder elsewhere.
func (w *workshop) lead(name string) {
	w.t.Helper()
	if err := os.Symlink(filepath.Join(w.dir, "outside"), filepath.Join(w.conf, name)); err != nil {
		w.t.Fatal(err)
	}
}

// run runs a script as its component does, by this account.
func (w *workshop) run(actor, script string, args ...string) (string, error) {
	w.t.Helper()
	text, err := stdlib.FS.ReadFile(script)
	if err != nil {
		w.t.Fatal(err)
	}
	here := strings.ReplaceAll(string(text), "/usr/lib/postgresql/", w.dir+"/servers/")
	c := exec.Command("sh", append([]string{"-c", here, filepath.Base(script)}, args...)...)
	c.Env = []string{"PATH=" + filepath.Join(w.dir, "bin") + ":" + os.Getenv("PATH"), "ACTOR=" + actor, "TMPDIR=" + w.dir}
	out, err := c.CombinedOutput()
	return string(out), err
}

// untouched requires that root has moved and removed nothing, and nothing came outside.
func (w *workshop) untouched() {
	w.t.Helper()
	if acts, err := os.ReadFile(filepath.Join(w.dir, "root")); err == nil {
		w.t.Errorf("root acts in a folder of the server's account:\n%s", acts)
	}
	entries, err := os.ReadDir(filepath.Join(w.dir, "outside"))
	if err != nil || len(entries) > 0 {
		w.t.Errorf("outside the folder: %v, %v", entries, err)
	}
}

// The server's account may put links into its folder where the settings are checked and put
// back: nothing is moved by way of them, and nothing by root.
func TestPostgreSQLScriptsStayInTheFolder(t *testing.T) {
	other := func(w *workshop) string { return filepath.Join(w.conf, "51-tenet-restart.conf") }
	t.Run("accepted", func(t *testing.T) {
		w := newWorkshop(t)
		w.write("bad", "")
		w.write("51-tenet-restart.conf", "port = 1\n")
		w.lead("51-tenet-restart.conf.~check~")
		if out, err := w.run("", "postgresql/accepted.sh", "15", w.conf, other(w)); err == nil {
			t.Errorf("bad settings are accepted: %s", out)
		}
		w.untouched()
		if text, err := os.ReadFile(other(w)); string(text) != "port = 1\n" {
			t.Errorf("the other file holds %q, %v", text, err)
		}
	})
	t.Run("restore", func(t *testing.T) {
		w := newWorkshop(t)
		w.write("51-tenet-restart.conf.~tenet~", "port = 1\n")
		w.lead("51-tenet-restart.conf")
		if out, err := w.run("postgres", "postgresql/restore.sh", "15", w.conf, other(w)); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		w.untouched()
		if text, err := os.ReadFile(other(w)); string(text) != "port = 1\n" {
			t.Errorf("the file that was put back holds %q, %v", text, err)
		}
	})
}

// An account that puts a pipe where its keys should be does not hold up the check.
func TestWayInWaitsForNoPipe(t *testing.T) {
	w := newWorkshop(t)
	w.program("bin/getent", "[ \"$1\" != passwd ] || echo mallory:x:1000:1000::"+w.dir+":/bin/sh")
	keys := filepath.Join(w.dir, ".ssh/authorized_keys")
	if err := errors.Join(os.Mkdir(filepath.Dir(keys), 0o700), syscall.Mkfifo(keys, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := w.run("", "ssh_server/way_in.sh", "no", "", "", "", "here", "key")
	if err == nil || !strings.Contains(out, "nobody could log in") {
		t.Errorf("%v: %s", err, out)
	}
}
