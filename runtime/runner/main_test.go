package runner_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/bundle"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
)

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		env    []string
		status int
		says   string // on standard error
	}{
		{nil, nil, 64, "usage: "},
		{[]string{"apply"}, nil, 64, `there is no command "apply"`},
		{[]string{"serve", "--password", "x"}, nil, 64, "usage: "},
		{[]string{"serve", "more"}, nil, 64, "takes options alone"},
		{[]string{"serve", "--root", dir + "/nowhere"}, nil, 64, "--root: "},
		{[]string{"resume"}, nil, 64, "takes the ID of a run"},
		{[]string{"resume", "a", "b"}, nil, 64, "takes the ID of a run"},
		{[]string{"resume", "00000001-abcdef", "--state-dir", dir}, nil, 1, "no such run"},
		{[]string{"become", "root"}, nil, 64, "takes no arguments"},
		{[]string{"serve", "--state-dir", dir, "--digest", strings.Repeat("0", 64)}, nil, runner.ExitDigest, "this runner has the SHA-256"},
		{[]string{"serve", "--state-dir", dir, "--facts", "uid,nothing,login"}, []string{"SUDO_USER=ann"}, 0, ""},
	} {
		var out, errs bytes.Buffer
		status := runner.Main(c.args, runner.Process{In: strings.NewReader(""), Out: &out, Err: &errs, Environ: c.env, Registry: modules.Standard()})
		if status != c.status || !strings.Contains(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
			t.Errorf("%q: %d, %s", c.args, status, errs.String())
		}
		if c.status != 0 {
			continue
		}
		var hello wire.Hello
		if err := wire.New(&out, nil, nil).Expect(wire.KindHello, &hello); err != nil || hello.Facts["uid"] == nil || string(hello.Facts["login"]) != `"ann"` || hello.Errors["nothing"] == "" {
			t.Errorf("hello: %+v, %v", hello, err)
		}
	}
}

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("no reader") }

// A fault in what serves is one line and a status, wherever its goroutine was begun.
func TestMainEndsWithAFault(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, args := range [][]string{{"serve", "--state-dir", t.TempDir()}, {"become"}} {
		var errs bytes.Buffer
		status := runner.Main(args, runner.Process{In: panickingReader{}, Out: io.Discard, Err: &errs, Registry: modules.Standard()})
		if status != 1 || !strings.HasPrefix(errs.String(), "tenet: this is a fault of tenet itself, not of what it was given: a panic with a value of type string; ") || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: %d, %s", args, status, errs.String())
		}
	}
}

// A runner that waits for its controller ends when it is told to.
func TestSignalWhileIdle(t *testing.T) {
	in, controller := io.Pipe()
	defer controller.Close()
	answers, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- runner.Main([]string{"serve", "--state-dir", t.TempDir()}, runner.Process{In: in, Out: out, Err: io.Discard, Registry: modules.Standard()})
	}()
	var hello wire.Hello
	if err := wire.New(answers, nil, nil).Expect(wire.KindHello, &hello); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case status := <-ended:
		if status != 4 {
			t.Errorf("exit status %d", status)
		}
	case <-time.After(time.Minute):
		t.Fatal("it has not ended")
	}
}

// A run that came in a bundle goes on with the files that came with it.
func TestResumeOfABundle(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	gates(m)
	b := waiting("20260101-000000-abcdef", 1)
	b.Run.Invocations = append(b.Run.Invocations, files("", 2).Run.Invocations...)
	l := m.request(wire.Request{Op: wire.OpApply}, b)
	var h heard
	l.until(t, &h, 2)
	if err := l.Write(wire.KindCancel, nil); err != nil {
		t.Fatal(err)
	}
	h.listen(t, l.Conn)
	gates(m) <- struct{}{}
	result, err := m.runner.Resume(t.Context(), machine.Resumption{Run: machine.RunRef{ID: h.run}}, machine.Observer{})
	if err != nil || result.Counts.Changed != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	if text := must(m.runner.Host.Open("/etc/f0")); text == nil {
		t.Error("its file is not there")
	}
	if _, err := (&bundle.Store{Dir: m.runner.StateDir}).Open(b.Execution); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what came is still there: %v", err)
	}
}
