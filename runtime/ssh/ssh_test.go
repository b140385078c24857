package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
)

// The test program is also the OpenSSH client, and the runner.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "-T":
		os.Exit(client(os.Args[1:]))
	case len(os.Args) > 2 && os.Args[1] == "runner" && os.Args[2] == "relay":
		os.Exit(relay(os.Args[3:]))
	case len(os.Args) > 2 && os.Args[1] == "runner":
		os.Exit(serve(os.Args[3:]))
	}
	rapidtest.Main(m, "")
}

// client runs the remote command on this machine. Options that OpenSSH does not have
// say what is special about the host.
func client(args []string) int {
	options := map[string]string{}
	for i, arg := range args {
		if arg == "-o" {
			name, value, _ := strings.Cut(args[i+1], "=")
			if _, there := options[name]; !there {
				options[name] = value
			}
		}
	}
	if text, ok := options["Says"]; ok {
		fmt.Fprintln(os.Stderr, text)
		return 255
	}
	if file, ok := options["Hangs"]; ok {
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "600") // as a ProxyCommand is
		if err := child.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, fmt.Append(nil, child.Process.Pid), 0o600); err != nil {
			panic(err)
		}
		select {}
	}
	if file, ok := options["Leaves"]; ok { // something that does not end with it
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, fmt.Append(nil, child.Process.Pid), 0o600); err != nil {
			panic(err)
		}
	}
	if file, ok := options["Banner"]; ok {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(text)
	}
	shell := options["Shell"]
	if shell == "" {
		shell = "/bin/sh"
	}
	command := args[len(args)-1]
	if sh, ok := options["Sh"]; ok { // what /bin/sh is there
		command = strings.ReplaceAll(command, "/bin/sh", sh)
	}
	cmd := exec.Command(shell, "-c", command)
	cmd.Env = []string{"HOME=" + options["Home"], "PATH=" + options["Path"]}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if limit, ok := options["CutAfter"]; ok {
		var n int64
		fmt.Sscan(limit, &n)
		cmd.Stdin = io.LimitReader(os.Stdin, n)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, err)
	return 127
}

// serve says Hello and what it was started with, then End to any request.
func serve(args []string) int {
	self := os.Getenv("TENET_TEST_SELF")
	text, err := os.ReadFile(self)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if !rightDigest(args[0]) {
		return exitDamaged
	}
	protocol := wire.Protocol
	if strings.Contains(string(text), "# old") {
		protocol = "tenet.wire/0"
	}
	said, err := json.Marshal(args[1:])
	if err != nil {
		panic(err)
	}
	conn := wire.New(os.Stdin, os.Stdout, nil)
	conn.Send(wire.KindHello, wire.Hello{Protocol: protocol, Program: "1.0", User: self, Facts: map[string]json.RawMessage{"args": said}})
	if _, err := conn.Receive(); err != nil {
		return 0
	}
	conn.Send(wire.KindEnd, wire.End{ExitCode: 7})
	return 0
}

func rightDigest(option string) bool {
	text, err := os.ReadFile(os.Getenv("TENET_TEST_SELF"))
	sum := sha256.Sum256(text)
	return err == nil && option == "--digest="+hex.EncodeToString(sum[:])
}

// relay is the runner that gives a terminal.
func relay(args []string) int {
	if !rightDigest(args[0]) {
		return exitDamaged
	}
	r := privilege.Relay{Ask: args[1], Prompt: args[2], Argv: args[3:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	status, err := r.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenet:", err)
		return 1
	}
	return status
}

// world is a controller and a host.
type world struct {
	*Client
	host  Host
	home  string
	bin   string // before what this machine has
	notes *bytes.Buffer
}

// tool puts a program on the host.
func (w *world) tool(t *testing.T, name, script string) {
	t.Helper()
	write(t, filepath.Join(w.bin, name), "#!/bin/sh\n"+script+"\n")
}

func newWorld(t *testing.T, options ...string) *world {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runners, home, notes := t.TempDir(), t.TempDir(), &bytes.Buffer{}
	text := "#!/bin/sh\nTENET_TEST_SELF=\"$0\" exec " + self + " \"$@\"\n"
	for _, p := range platforms() {
		write(t, filepath.Join(runners, "tenet-runner-"+p.os+"-"+p.arch), text)
	}
	// Whoever runs the tests is a plain account there: what root has is this machine's.
	bin := t.TempDir()
	write(t, filepath.Join(bin, "id"), "#!/bin/sh\ncase $1 in -un) echo ${TENET_TEST_USER:-deploy};; *) echo 1000;; esac\n")
	options = append(options, "Home="+home, "Path="+bin+":"+os.Getenv("PATH"))
	return &world{bin: bin,
		Client: &Client{Program: self, Timeout: time.Minute, Runners: &Runners{Dirs: []string{runners}, Version: "1.0"},
			Note: func(host, text string) { fmt.Fprintln(notes, host+": "+text) }},
		host: Host{Name: "web1", Address: "web1.example", Options: options},
		home: home, notes: notes,
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// dial dials, uses the connection, and gives the Hello.
func (w *world) dial(t *testing.T, o wire.Opening) *wire.Hello {
	t.Helper()
	conn, hello, err := w.Dial(context.Background(), w.host, o)
	if err != nil {
		t.Fatalf("%v (%s)", err, err.(*Error).Hint)
	}
	defer conn.Close()
	if err := conn.Send(wire.KindRequest, wire.Request{Op: wire.OpPing}); err != nil {
		t.Fatal(err)
	}
	var end wire.End
	if err := conn.Expect(wire.KindEnd, &end); err != nil || end.ExitCode != 7 {
		t.Fatalf("%v %v", end, err)
	}
	return hello
}

// fails dials, and gives the error.
func (w *world) fails(t *testing.T) *Error {
	t.Helper()
	_, _, err := w.Dial(context.Background(), w.host, wire.Opening{})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v", err)
	}
	return e
}

func (w *world) cached(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.home, ".cache/tenet/*/*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestColdThenWarm(t *testing.T) {
	w := newWorld(t)
	w.dial(t, wire.Opening{})
	if got := w.notes.String(); got != "web1: copying the runner (0.0 MB)\n" {
		t.Errorf("notes %q", got)
	}
	hello := w.dial(t, wire.Opening{})
	if strings.Count(w.notes.String(), "\n") != 1 {
		t.Errorf("copied again: %s", w.notes)
	}
	found := w.cached(t)
	if len(found) != 1 || hello.User != found[0] {
		t.Fatalf("%q in the cache, %s ran", found, hello.User)
	}
	for path, mode := range map[string]os.FileMode{found[0]: 0o700, filepath.Dir(found[0]): 0o700, filepath.Join(w.home, ".cache"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}
