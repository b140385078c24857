package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// interrupt runs tenet, waits until the files exist, sends the signals, each after the
// output of the one before, and wants the exit status, -1 where a signal ended it. What
// the program prints goes to the files out and err.
//
//	interrupt STATUS FILE,… SIGNAL,… ARGS…
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: interrupt STATUS FILE,… SIGNAL,… ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	self, err := os.Executable()
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = append([]string{"tenet"}, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH"), "GORACE=" + race,
		"HOSTS=" + ts.Getenv("HOSTS"), "FAKEBIN=" + ts.Getenv("FAKEBIN")}
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr, err = os.Create(ts.MkAbs("err"))
	ts.Check(err)
	ts.Check(cmd.Start())
	for file := range strings.SplitSeq(args[1], ",") {
		wait(ts, ctx, func() bool { return len(read(ts, file)) > 0 })
	}
	for name := range strings.SplitSeq(args[2], ",") {
		said := len(read(ts, "err"))
		ts.Check(cmd.Process.Signal(map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[name]))
		if said == 0 && name != "KILL" { // the first is answered
			wait(ts, ctx, func() bool { return len(read(ts, "err")) > 0 })
		}
	}
	_ = cmd.Wait() // the status tells
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit status %d (%s), want %d\n%s%s", got, cmd.ProcessState, want, out.String(), read(ts, "err"))
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o600))
}

// patience is how long something is waited for that must happen: a busy machine takes its
// time.
const patience = 2 * time.Minute

// read gives a file's text, "" if there is none.
func read(ts *testscript.TestScript, name string) string {
	data, _ := os.ReadFile(ts.MkAbs(name))
	return string(data)
}

func wait(ts *testscript.TestScript, ctx context.Context, done func() bool) {
	for !done() {
		select {
		case <-ctx.Done():
			ts.Fatalf("nothing happens")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// await waits until a file is there.
//
//	await FILE
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wait(ts, ctx, func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	})
}
