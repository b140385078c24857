package become

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
)

// watched is a process of this program that serves as another account's would, whose
// ticks a test gives.
type watched struct {
	*machine
	process *process
	ticks   chan time.Time
}

func watch(t *testing.T, args ...string) *watched {
	t.Helper()
	l, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := launched(t, exec.Command(os.Args[0], append([]string{asServer}, args...)...))
	conn := wire.New(p.Out, p.In, nil)
	w := &watched{&machine{local: l}, p, make(chan time.Time)}
	if err := conn.Expect(kindHello, &w.hello); err != nil {
		t.Fatal(err)
	}
	w.link = newLink(conn, "alice")
	p.watch(w.machine, w.ticks, func() {})
	t.Cleanup(func() {
		w.disconnect(errors.New("the test has ended"))
		if err := p.close(); err != nil {
			t.Error(err)
		}
		<-p.Done
	})
	return w
}

// launched is a command that was started as an account's process is.
func launched(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	started, err := (&privilege.Launch{Cmd: cmd}).Start()
	if err != nil {
		t.Fatal(err)
	}
	return &process{Process: started, clear: func() error { return nil }}
}

// A process that prints something else than it should ends all the same, and is not left
// behind.
func TestCloseAfterNonsense(t *testing.T) {
	ended := filepath.Join(t.TempDir(), "ended") // by itself: nobody killed it
	p := launched(t, exec.Command("sh", "-c", `head -c 300000 /dev/zero; cat >/dev/null; echo >"$0"`, ended))
	if err := p.close(); err != nil {
		t.Error(err)
	}
	<-p.Done
	if _, err := os.Stat(ended); err != nil {
		t.Error(err)
	}
}

// until gives ticks until a call ends, at most so many; it gives their number, and what
// the call says.
func (w *watched) until(t *testing.T, most int, call func() error) (int, error) {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- call() }()
	for w.waiting() == 0 {
		select {
		case err := <-end:
			return 0, err
		case <-time.After(time.Millisecond):
		}
	}
	for n := range most {
		select {
		case err := <-end:
			return n, err
		case w.ticks <- time.Time{}:
		case <-w.disconnected:
			return n, <-end
		}
	}
	select {
	case err := <-end:
		return most, err
	case <-time.After(time.Minute):
		t.Fatalf("after %d ticks it waits still", most)
		return 0, nil
	}
}

func (w *watched) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls)
}

// An account that stops the process that acts as it frees who waits for it all the same,
// whatever they wait for, and is not asked again.
func TestStopped(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for name, test := range map[string]struct {
		hurry bool
		most  int
		call  func(host.Host) error
	}{
		"a look":           {false, silenceTicks, func(h host.Host) error { _, err := h.Lstat("/"); return err }},
		"a look, in hurry": {true, hurriedTicks, func(h host.Host) error { _, err := h.Lstat("/"); return err }},
		"a program": {true, hurriedTicks, func(h host.Host) error {
			_, err := h.Run(t.Context(), host.Command{Argv: []string{"true"}})
			return err
		}},
		"more than a pipe holds": {true, hurriedTicks, func(h host.Host) error {
			return h.WriteFile(context.WithoutCancel(interrupted), "/nowhere/x", host.Text(strings.Repeat("x", 900_000)), host.Meta{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			if err := w.process.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if test.hurry {
				w.hurry()
			}
			ticks, err := w.until(t, test.most, func() error { return test.call(w) })
			var told *privilege.Refusal
			if ticks < test.most-1 || !errors.As(err, &told) || !strings.Contains(told.Message, "as alice does not answer") || !strings.Contains(told.Hint, "ps -u alice") {
				t.Errorf("after %d ticks: %v", ticks, err)
			}
			if _, again := w.Lstat("/"); again == nil || again.Error() != err.Error() {
				t.Errorf("asked again: %v", again)
			}
			<-w.process.Done
			if status := w.process.Cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
				t.Errorf("it ended with %v", status)
			}
		})
	}
}

// Where the process cannot be killed, nobody waits for it either.
func TestStoppedForGood(t *testing.T) {
	w := watch(t)
	pid := w.process.Cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.process.Cmd.Process.Pid = 1<<30 - 1 // none of ours
	_, err := w.until(t, silenceTicks, func() error {
		return w.WriteFile(t.Context(), "/nowhere/x", host.Text(strings.Repeat("x", 900_000)), host.Meta{})
	})
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("%v", err)
	}
	if err := w.process.close(); err != nil {
		t.Error(err)
	}
	w.process.Cmd.Process.Pid = pid
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil { // it finds that nobody is there
		t.Fatal(err)
	}
	<-w.process.Done
}

// A process that says that it is there, and does nothing, does not hold who has no time
// any more.
func TestDeaf(t *testing.T) {
	w := watch(t, "deaf")
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("time is up")
	w.answers(t, 2*silenceTicks, endTicks, func() { cancel(late) }, func() error {
		_, err := w.Run(ctx, host.Command{Argv: []string{"true"}})
		if !errors.Is(err, late) {
			t.Errorf("the cause is lost: %v", err)
		}
		return err
	})
	w = watch(t, "deaf")
	w.answers(t, 2*silenceTicks, endTicks, w.hurry, func() error {
		_, err := w.ReadDir("/")
		return err
	})
	w = watch(t, "deaf") // as a file is put back
	w.answers(t, 2*silenceTicks, settleTicks, w.hurry, func() error {
		large := host.Flow(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil })
		return w.WriteFile(t.Context(), "/nowhere/x", large, host.Meta{})
	})
}

// A process that does what it should is waited for as long as it takes.
func TestBusy(t *testing.T) {
	w := watch(t)
	ctx, cancel := context.WithCancel(t.Context())
	end, begun := make(chan error, 1), make(chan bool, 1)
	go func() {
		_, err := w.Run(ctx, host.Command{Argv: []string{"sh", "-c", "echo x; exec sleep 60"}, Watch: func(string, []byte) { begun <- true }})
		end <- err
	}()
	<-begun
	for range 2 * silenceTicks {
		w.tick()
	}
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) || w.connectionError() != nil {
		t.Errorf("%v, %v", err, w.connectionError())
	}
	if _, err := w.Lstat("/"); err != nil {
		t.Error(err)
	}
}

// What a caller has not taken yet is no silence of the process, though it cannot answer
// meanwhile.
func TestSlowCaller(t *testing.T) {
	w := watch(t)
	take, end := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := w.Run(t.Context(), host.Command{Argv: []string{"head", "-c", "4000000", "/dev/zero"}, Watch: func(string, []byte) { <-take }})
		end <- err
	}()
	waits := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.calls {
			return w.patience.isDelivering && len(c.frames) == cap(c.frames)
		}
		return false
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	for range 2 * silenceTicks {
		w.checkPatience(w.process.abandon, w.endPrograms)
	}
	close(take)
	if err := <-end; err != nil || w.connectionError() != nil {
		t.Errorf("%v, %v", err, w.connectionError())
	}
}

// answers gives ticks to a process that answers them, so many at least; then it lets
// something happen, after which the call has to end at a tick.
func (w *watched) answers(t *testing.T, ticks, last int, then func(), call func() error) {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- call() }()
	for w.waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range ticks {
		w.tick()
	}
	if err := w.connectionError(); err != nil {
		t.Fatalf("one that answers is given up: %v", err)
	}
	then()
	n := 0
	for w.tick() {
		n++
	}
	if err := <-end; n != last-1 || !strings.Contains(err.Error(), "as alice does not end what it does") {
		t.Errorf("after %d ticks: %v", n, err)
	}
}

// tick is one tick; if the process is asked whether it is there, the answer is awaited.
// False: it was given up.
func (w *watched) tick() bool {
	if w.checkPatience(w.process.abandon, w.endPrograms) {
		return false
	}
	for asked := true; asked; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		asked = w.patience.quietTicks > 0 && !w.patience.hasAnswer
		w.mu.Unlock()
	}
	return true
}
