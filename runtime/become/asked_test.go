package become

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// A password goes to who asks for it first, once, and never to who prints the question
// after that.
func TestAsked(t *testing.T) {
	const prompt, password = "<tenet ABC>", "correct horse"
	open := func(a *asked) bool {
		select {
		case <-a.wrong:
			return false
		default:
			return true
		}
	}
	var given bytes.Buffer
	a := newAsked(prompt, password)
	a.answer = &given
	for _, said := range []string{"We trust you have received the usual lecture\n", "<tenet A", "BC>", "\n"} {
		io.WriteString(a, said)
	}
	if given.String() != password+"\n" || !open(a) {
		t.Errorf("%q was given", given.String())
	}
	io.WriteString(a, "Sorry, try again.\n"+prompt)
	if given.String() != password+"\n" || open(a) {
		t.Errorf("asked again: %q was given", given.String())
	}
	io.WriteString(a, prompt+password)
	if text := a.text(); strings.Contains(text, password) || strings.Contains(text, "ABC") || !strings.Contains(text, "Sorry") {
		t.Errorf("%q", text)
	}

	given.Reset()
	a = newAsked(prompt, password)
	a.answer = &given
	a.done() // it was not asked for, and the process has become somebody else
	io.WriteString(a, prompt)
	if given.Len() > 0 {
		t.Errorf("%q was given to somebody else", given.String())
	}
	io.WriteString(a, strings.Repeat("x", 3*maxSaid))
	if len(a.text()) > maxSaid {
		t.Error("all of it is kept")
	}
}

// A process that prints something else than it should ends all the same, and is not left
// behind.
func TestCloseAfterNonsense(t *testing.T) {
	w := &way{cmd: exec.Command("sh", "-c", "head -c 300000 /dev/zero; cat >/dev/null"), clear: func() error { return nil }}
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p, _, err := w.start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := p.close(); err != nil || time.Since(begun) > endTime/2 {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
	<-p.ended
}

// That it was interrupted says nothing of an account: another time it may go well.
func TestInterruptedStart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts a process of another account by itself")
	}
	h, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.User("nobody"); err != nil {
		t.Skip(err)
	}
	a := &Accounts{Options: Options{Host: h, Program: "/bin/false", Args: []string{}}}
	defer a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.As(ctx, "nobody"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	var told *Error
	for range 2 { // this does
		if _, err := a.As(t.Context(), "nobody"); !errors.As(err, &told) || !strings.Contains(err.Error(), "cannot be started as nobody") {
			t.Errorf("later: %v", err)
		}
	}
}
