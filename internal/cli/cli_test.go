package cli_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenetcm/tenet/internal/cli"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata/cli expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tenet": func() {
		env := cli.Environment{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), WorkFactor: 10}
		if home := os.Getenv("XDG_STATE_HOME"); home != "" { // where root runs the tests, too
			env.StateDir = filepath.Join(home, "tenet")
		}
		os.Exit(cli.Main(os.Args[1:], env))
	}, "tenet-faulty": faultyRunner, "sshd": serveLogins, "login": logIn, "people": servePeople})
}

// TestScripts runs the scripts in testdata/cli. Beside testscript's own
// commands they have
//
//	exits N CMD…      runs a command that must end with the status N
//	mask NAME FILE    copies stdout, stderr or a file, with what differs from
//	                  run to run replaced
//	interrupt, await  see interrupt_test.go
//	logins, inside    see ssh_fake_test.go
//	registry          see registry_fake_test.go
//
// and the condition [source]: the program knows where its source is, since it was
// built without -trimpath.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/cli",
		UpdateScripts:       *update,
		RequireUniqueNames:  true,
		RequireExplicitExec: false,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "home", "state"))
			env.Setenv("GORACE", race)
			return reachable(env)
		},
		Condition: func(name string) (bool, error) {
			if name != "source" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			_, file, _, ok := goruntime.Caller(0)
			return ok && filepath.IsAbs(file), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "mask": mask, "interrupt": interrupt, "logins": logins, "inside": inside, "await": await, "collector": (&collectors{}).collect, "registry": startRegistry,
		},
	})
}

// race keeps the race detector from a pause of one second at each exit.
const race = "atexit_sleep_ms=0"

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// masks are what differs from run to run, and what takes its place.
var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(` in (\d+m)?[0-9.]+(µs|ms|s)`), ` in TIME`},
	{regexp.MustCompile(`(?m)^(\S* *[+~▸✗✓=↺!-] .*)  (\d+m)?[0-9.]+s$`), `$1`}, // of a part that took long, on a host perhaps
	{regexp.MustCompile(`(?m)^(host .* failed|.* \d) +(time|(\d+m)?[0-9.]+(ms|s))$`), `$1  TIME`},
	{regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{6}\b`), `EXECUTION`},
	{regexp.MustCompile(`"origin":( ?)"[^"/]*:/`), `"origin":$1"CONTROLLER:/`},
	{regexp.MustCompile(`\b(\d{8})-[0-9a-f]{6}\b`), `$1-RANDOM`},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?`), `DATE`},
	{regexp.MustCompile(`"(duration|pid)":( ?)\d+`), `"$1":${2}0`},
	{regexp.MustCompile(`\btime="[0-9.]+"`), `time="TIME"`},
	{regexp.MustCompile(`"program":( ?)"[^"]*"`), `"program":$1"VERSION"`},
	{regexp.MustCompile(`"id":( ?)"[^"]*"`), `"id":$1"UUID"`},
	{regexp.MustCompile(`"boot":( ?)"[^"]*"`), `"boot":$1"UUID"`},
	{regexp.MustCompile(`tenet-fault-\d+\.txt`), `tenet-fault-RANDOM.txt`},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), `sha256:DIGEST`},
}

func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mask NAME FILE")
	}
	text := masked(unfolded(strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "$WORK")))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// unfolded has each sentence with $WORK on one line: where it was folded depends on how
// long the folder's name is.
func unfolded(text string) string {
	return sentences.ReplaceAllStringFunc(text, func(s string) string {
		if !strings.Contains(s, "$WORK") {
			return s
		}
		return strings.ReplaceAll(s, "\n  ", " ")
	})
}

// sentences are those of a diagnostic, up to its hint.
var sentences = regexp.MustCompile(`(?m)^  [A-Z].*(\n  ([^ h\n]|h[^i]).*)*$`)

func masked(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	return text
}

// On a machine that is busy parts and runs take long, and that is not compared.
func TestMasks(t *testing.T) {
	quick := "+ file.a\nweb1  ▸ command.b  key\nhost  changed  failed  time\nweb1        1       0  8ms\nweb1  1 changed in 8ms\n"
	slow := "+ file.a  1.2s\nweb1  ▸ command.b  key  1m2.5s\nhost  changed  failed  time\nweb1        1       0  1m3s\nweb1  1 changed in 1m3s\n"
	if masked(quick) != masked(slow) {
		t.Errorf("%s\nis not\n%s", masked(slow), masked(quick))
	}
}
