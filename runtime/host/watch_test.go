package host_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
)

// Output is seen while the program still runs, whole, whatever is kept of it.
func TestWatchSeesOutputAsItComes(t *testing.T) {
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first := make(chan struct{})
	var out, errs bytes.Buffer
	c := host.Command{Argv: []string{"/bin/sh", "-c", "echo wrong >&2; echo one; sleep 4711"}, MaxOutput: 1}
	c.Watch = func(stream string, data []byte) {
		to := io.Writer(&errs)
		if stream == "stdout" {
			to = &out
			close(first)
		}
		if _, err := to.Write(data); err != nil {
			t.Error(err)
		}
	}
	go func() {
		select {
		case <-first:
		case <-ctx.Done():
			t.Error("no output while the program ran")
		}
		cancel()
	}()
	if _, err := local.Run(ctx, c); err == nil {
		t.Error("the program ended by itself")
	}
	if out.String() != "one\n" || errs.String() != "wrong\n" {
		t.Errorf("saw %q and %q", out.String(), errs.String())
	}
}

// A panic of who watches ends the command, whichever output it was about, and also where another
// program keeps an output open after the end.
func TestPanicOfWhoWatches(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	local, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"echo one", "echo one >&2", "sleep 4711 & echo $! > left; echo one >&2"} {
		dir := t.TempDir()
		c := host.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Watch: func(string, []byte) { panic("no watcher") }}
		err := fault.Do(func() error { _, err := local.Run(t.Context(), c); return err })
		if fault.In(err) == nil {
			t.Errorf("%s: it ends with %v", script, err)
		}
		if left, err := os.ReadFile(filepath.Join(dir, "left")); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(left)))
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}
