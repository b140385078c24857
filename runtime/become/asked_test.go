package become

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
	a := newAsked(prompt, func() (string, error) { return password, nil })
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
	a = newAsked(prompt, func() (string, error) { return password, nil })
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
	ended := filepath.Join(t.TempDir(), "ended") // by itself: nobody killed it
	w := &way{cmd: exec.Command("sh", "-c", `head -c 300000 /dev/zero; cat >/dev/null; echo >"$0"`, ended), clear: func() error { return nil }}
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p, _, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	<-p.ended
	if _, err := os.Stat(ended); err != nil {
		t.Error(err)
	}
}

// Who asks behind the first word of a process may be the other account.
func TestAskedBehindAWord(t *testing.T) {
	way := &way{
		cmd: exec.Command("sh", "-c", "echo hello; printf 'assword: ' >&2; cat"), prompt: "assword: ", clear: func() error { return nil },
		known: func() (string, error) { return "geheim", nil },
	}
	p, out, err := way.start()
	if err != nil {
		t.Fatal(err)
	}
	for asked := false; !asked; time.Sleep(time.Millisecond) {
		p.asked.mu.Lock()
		asked = p.asked.given
		p.asked.mu.Unlock()
	}
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(out); err != nil || string(said) != "hello\n" {
		t.Errorf("it says %q, %v", said, err)
	}
	<-p.ended
}
