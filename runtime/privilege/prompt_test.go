package privilege

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	testMark     = "<tenet ABC>"
	testPassword = "correct horse"
)

// testPrompt is one whose answers go to a buffer.
func testPrompt() (*PasswordPrompt, *bytes.Buffer) {
	given := &bytes.Buffer{}
	return NewPasswordPrompt(PromptConfig{
		Program: sudo(), Prompt: testMark, Password: func() (string, error) { return testPassword, nil }, Answer: given,
	}), given
}

// say lets a program say something, and waits for the answers.
func (p *PasswordPrompt) say(texts ...string) {
	for _, text := range texts {
		_, _ = io.WriteString(p, text) // it never fails
	}
	p.answers.Wait()
}

func (p *PasswordPrompt) isRefused() bool {
	select {
	case <-p.Rejection():
		return true
	default:
		return false
	}
}

// A password goes to who asks for it first, once, and never to who prints the question
// after that.
func TestPasswordIsGivenOnce(t *testing.T) {
	p, given := testPrompt()
	p.say("We trust you have received the usual lecture\n", "<tenet A", "BC>", "\n")
	if given.String() != testPassword+"\n" || p.isRefused() {
		t.Errorf("%q was given", given.String())
	}
	p.say("Sorry, try again.\n" + testMark)
	if given.String() != testPassword+"\n" || !p.isRefused() {
		t.Errorf("asked again: %q was given", given.String())
	}
	p.say(testMark + testPassword + testMark)
	if text := p.Text(); strings.Contains(text, testPassword) || strings.Contains(text, "ABC") || !strings.Contains(text, "Sorry") {
		t.Errorf("%q", text)
	}
}

// Who was started by the program gets nothing, and refuses nothing.
func TestPasswordIsNotForOthers(t *testing.T) {
	p, given := testPrompt()
	p.Stop() // it was not asked for, and the process has become somebody else
	p.say(testMark, testMark)
	if given.Len() > 0 || p.isRefused() {
		t.Errorf("%q was given to somebody else", given.String())
	}
	p.say(strings.Repeat("x", 3*maxText))
	if len(p.Text()) > maxText {
		t.Error("all of it is kept")
	}

	p, given = testPrompt()
	p.Genuine = func(context.Context) bool { return false }
	p.say(testMark, testMark)
	if given.Len() > 0 || p.isRefused() {
		t.Errorf("%q was given to who is not genuine", given.String())
	}

	// Who waits to learn that is told when it is too late.
	p, given = testPrompt()
	p.Genuine = func(ctx context.Context) bool { <-ctx.Done(); return true }
	if _, err := io.WriteString(p, testMark); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if given.Len() > 0 {
		t.Errorf("%q was given after the end", given.String())
	}
}

// Who has expired is asked for a new password, with other words: nobody waits for that.
func TestExpiredPasswordIsRefused(t *testing.T) {
	p, given := testPrompt()
	p.say(testMark, "\nsudo: Account or pass", "word is expired, reset your password and try again\n", "Current password: ")
	if given.String() != testPassword+"\n" || !p.isRefused() {
		t.Errorf("%q was given", given.String())
	}
	p, _ = testPrompt()
	p.say("password is expired\n") // said before anybody was asked, as by a banner
	if p.isRefused() {
		t.Error("refused before it was asked for")
	}
}

// Whatever is said, in whatever pieces: the password is given at most once, after the
// question, and is in no text.
func TestPromptInPieces(t *testing.T) {
	word := rapid.SampledFrom([]string{testMark, testMark[:5], testMark[5:], testPassword, "Sorry, try again.\n", "\n", "é", strings.Repeat("y", maxText)})
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOf(word).Draw(r, "words"), "")
		p, given := testPrompt()
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "n")
			p.say(rest[:n])
			rest = rest[n:]
		}
		want := ""
		if strings.Contains(text, testMark) {
			want = testPassword + "\n"
		}
		if given.String() != want || p.isRefused() != (strings.Count(text, testMark) > 1) {
			r.Fatalf("%.300q: %q was given", text, given.String())
		}
		if got := p.Text(); want != "" && strings.Contains(got, testPassword) || len(got) > 2*maxText {
			r.Fatalf("%.300q", got)
		}
	})
}

// Who asks behind the first word of a process may be the other account.
func TestAskedBehindAWord(t *testing.T) {
	asked := make(chan bool, 1)
	l := &Launch{
		Cmd: exec.Command("sh", "-c", "echo hello; printf 'assword: ' >&2; cat"), Prompt: "assword: ",
		Password: func() (string, error) { asked <- true; return "geheim", nil },
	}
	l.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p, err := l.Start()
	if err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(p.Prompt.all(), "assword: ") {
		time.Sleep(time.Millisecond)
	}
	p.Prompt.answers.Wait()
	if err := p.In.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(p.Out); err != nil || string(said) != "hello\n" || len(asked) > 0 {
		t.Errorf("it says %q, %v", said, err)
	}
	<-p.Done
}

func (p *PasswordPrompt) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}

func TestTextIsFitForATerminal(t *testing.T) {
	p, _ := testPrompt()
	for range 1000 {
		p.say(strings.Repeat("x", 999) + "\n")
	}
	p.say("end\x1b]0;title\a\xff\u202e")
	if text := p.Text(); len(text) > 2*maxText || LastLine(text) != "end·]0;title·\uFFFD·" {
		t.Errorf("%q", LastLine(text))
	}
	if line := LastLine(strings.Repeat("é", 9999)); len([]rune(line)) != maxLine+1 {
		t.Errorf("%d", len(line))
	}
}
