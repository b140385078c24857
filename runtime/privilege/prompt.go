package privilege

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
)

// maxText bounds what is kept of what a program says: who says more is no longer
// explaining anything.
const maxText = 8 << 10

// PasswordPrompt listens to what sudo or doas says, and gives the password when it asks
// for it: once, so that it never goes to anybody else. It keeps the end of what is said.
type PasswordPrompt struct {
	PromptConfig
	rejection  chan struct{}
	stop       context.CancelFunc
	ctx        context.Context
	answers    fault.Group   // that are on their way
	lastAnswer chan struct{} // closed once the last of them has been given; they come in turn

	mu          sync.Mutex
	text        []byte
	promptEnd   int // how much of it precedes the last question's end
	promptCount int // how often it was asked for
	stopped     bool
	password    string // that was given
}

// PromptConfig says how a password is asked for and given.
type PromptConfig struct {
	Program  Program
	Prompt   string                 // what asks for it; empty: nothing does
	Password func() (string, error) // gives it; an error: nothing is answered
	Answer   io.Writer
	// Genuine waits until it is known whether it is the program that asks, and not
	// who was started by it; ctx ends when it cannot be any more. Nil: it is.
	Genuine func(ctx context.Context) bool
}

// NewPasswordPrompt listens to a program.
func NewPasswordPrompt(c PromptConfig) *PasswordPrompt {
	p := &PasswordPrompt{PromptConfig: c, rejection: make(chan struct{})}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Rejection is closed when the program does not take the password: it asks for it again, or
// for another one.
func (p *PasswordPrompt) Rejection() <-chan struct{} { return p.rejection }

// Write takes what is said.
func (p *PasswordPrompt) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, data...)
	for p.Prompt != "" {
		at := bytes.Index(p.text[p.promptEnd:], []byte(p.Prompt))
		if at < 0 {
			break
		}
		p.promptEnd += at + len(p.Prompt)
		p.promptCount++
		switch p.promptCount {
		case 1:
			p.answer(p.give)
		case 2:
			p.answer(p.reject)
		}
	}
	// It would go on asking for a new one, in words that nobody waits for.
	if p.promptCount == 1 && p.Program.kind(string(p.text[p.promptEnd:])) == AccountExpired {
		p.promptCount++
		p.answer(p.reject)
	}
	if more := len(p.text) - maxText; more > 0 {
		p.text, p.promptEnd = append(p.text[:0], p.text[more:]...), max(p.promptEnd-more, 0)
	}
	return len(data), nil
}

// answer answers if it is the program that asks. The lock is held, and listening goes on.
func (p *PasswordPrompt) answer(by func()) {
	if p.stopped {
		return
	}
	before, given := p.lastAnswer, make(chan struct{})
	p.lastAnswer = given
	p.answers.Go(func() {
		defer close(given)
		if before != nil {
			<-before
		}
		if p.Genuine == nil || p.Genuine(p.ctx) {
			by()
		}
	})
}

func (p *PasswordPrompt) give() {
	password, err := p.Password()
	p.mu.Lock()
	give := err == nil && !p.stopped
	if give {
		p.password = password
	}
	p.mu.Unlock()
	if give {
		// The error is that the program has ended, and that says more.
		_, _ = io.WriteString(p.Answer, password+"\n")
	}
}

func (p *PasswordPrompt) reject() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		close(p.rejection)
	}
}

// Stop says that the program asks no more: who was started by it gets nothing, though it
// may print the question. Nothing is on its way once Stop returns.
func (p *PasswordPrompt) Stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.stop()
	p.answers.Wait()
}

// Text is what was said, without the questions and the password, fit for a terminal.
func (p *PasswordPrompt) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := string(p.text)
	if p.Prompt != "" {
		text = strings.ReplaceAll(text, p.Prompt, "")
	}
	return p.clean(text)
}

// Rest is the same of what was said after the last question.
func (p *PasswordPrompt) Rest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clean(string(p.text[p.promptEnd:]))
}

// clean takes the password out of a text. The lock is held.
func (p *PasswordPrompt) clean(text string) string {
	if p.password != "" {
		text = strings.ReplaceAll(text, p.password, "")
	}
	return Printable(text)
}
