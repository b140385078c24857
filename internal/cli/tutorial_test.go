package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenetcm/tenet/internal/tutorial"
)

// The tutorials are followed as they stand, on hosts of fakeSSH and without root: what takes root
// is left to the lab. /tmp/shop is another folder here, since many tests may run at once.
func TestTutorials(t *testing.T) {
	for name, hosts := range map[string][]string{
		"tutorial.md":       nil,
		"tutorial-fleet.md": {"lb1", "web1", "web2", "web3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			follow(t, filepath.Join("../../docs", name), hosts)
		})
	}
}

// follow does what a page says, and compares what its commands print, or writes it into the page.
func follow(t *testing.T, name string, hosts []string) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := tutorial.Parse(string(page))
	if err != nil {
		t.Fatal(name, err)
	}
	r, output := newReader(t, hosts), ""
	for i := range steps {
		s := &steps[i]
		at := fmt.Sprintf("%s:%d", filepath.Base(name), s.Line)
		switch {
		case s.File != "":
			r.write(s)
		case s.Root:
			t.Logf("%s: %s: left to the lab, since it takes root", at, s.Command)
		default:
			if r.status != 0 && s.Command != "echo $?" {
				t.Fatalf("%s: the command before ends with %d, and the page does not say so:\n%s", at, r.status, output)
			}
			output = r.run(s.Command)
			switch same := masked(output) == masked(s.Output); {
			case *update && !same:
				s.Output = output
			case !same:
				t.Fatalf("%s: %s\nprints\n%s\nnot\n%s", at, s.Command, output, s.Output)
			}
		}
	}
	if output = r.run("tenet validate --strict"); r.status != 0 {
		t.Errorf("what the page has made is not clean:\n%s", output)
	}
	if *update {
		if err := os.WriteFile(name, []byte(tutorial.Rewrite(string(page), steps)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// reader is somebody who follows a tutorial, in an empty folder.
type reader struct {
	*testing.T
	home   string // the folder for all that is theirs
	dir    string // where they are
	status int    // of the command before
	env    []string
}

func newReader(t *testing.T, hosts []string) *reader {
	t.Helper()
	home := t.TempDir()
	env := &testscript.Env{WorkDir: home, Vars: []string{"PATH=" + os.Getenv("PATH")}}
	if err := reachable(env); err != nil {
		t.Fatal(err)
	}
	r := &reader{T: t, home: home, dir: filepath.Join(home, "start"), env: append(env.Vars,
		"HOME="+filepath.Join(home, "home"), "XDG_STATE_HOME="+filepath.Join(home, "home", "state"), "GORACE="+race)}
	for _, dir := range []string{r.dir, filepath.Join(home, "hosts"), filepath.Dir(r.place())} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range hosts { // each is this machine, by another name
		for _, err := range []error{os.Mkdir(filepath.Join(home, "hosts", host), 0o755), os.WriteFile(filepath.Join(home, "hosts", host+".bare"), nil, 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// shop is what the pages change, and place is where that is here.
const shop = "/tmp/shop"

func (r *reader) place() string { return filepath.Join(r.home, "tmp", "shop") }

func (r *reader) write(s *tutorial.Step) {
	r.Helper()
	name := filepath.Join(r.dir, s.File)
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if s.Append {
		flags = os.O_WRONLY | os.O_APPEND
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.Fatal(err)
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		r.Fatal(err)
	}
	_, err = f.WriteString(strings.ReplaceAll(s.Text, shop, r.place()))
	if err := errors.Join(err, f.Close()); err != nil {
		r.Fatal(err)
	}
}

// run runs a command where the one before has ended, and gives what it prints.
func (r *reader) run(command string) string {
	r.Helper()
	pwd := filepath.Join(r.home, "pwd")
	script := fmt.Sprintf("(exit %d)\n%s\nstatus=$?; pwd >'%s'; exit $status", r.status, strings.ReplaceAll(command, shop, r.place()), pwd)
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.Fatal(err)
	}
	r.status = cmd.ProcessState.ExitCode()
	dir, err := os.ReadFile(pwd)
	if err != nil {
		r.Fatal(err)
	}
	r.dir = strings.TrimSuffix(string(dir), "\n")
	return strings.ReplaceAll(string(out), r.place(), shop)
}
