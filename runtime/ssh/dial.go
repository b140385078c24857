package ssh

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Dial starts a runner on a host, and gives the connection behind its Hello. When
// ctx ends before that, so does the attempt; a connection is ended by Close. The
// error is an *Error.
//
// A runner that lies damaged on the host is brought anew, over a second connection; and
// so is sudo tried again that has said that it wants a terminal.
func (c *Client) Dial(ctx context.Context, h Host, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	if err := h.check(); err != nil {
		return nil, nil, err
	}
	mode := dialMode{terminal: h.Become.User != "" && h.Become.request("", false).OnTerminal()}
	for {
		conn, hello, err := c.dial(ctx, h, o, mode)
		switch {
		case err == nil:
			return conn, hello, nil
		case err.Code == codeDamaged && mode.force == "":
			c.note(h, "the runner there is damaged, and is replaced")
			mode.force = "force"
		case err.Code == codeBecome && err.terminal && !mode.terminal:
			mode.terminal = true
		default:
			return nil, nil, err
		}
	}
}

// dialMode is how a connection is made.
type dialMode struct {
	force    string // "force": the runner is brought anew
	terminal bool   // who lets become the account wants a terminal
}

// check finds what cannot be passed on as it is meant.
func (h *Host) check() error {
	wrong := func(hint, format string, args ...any) error {
		return newError(codeConfig, fmt.Sprintf(format, args...), hint)
	}
	switch {
	case h.Address == "":
		return wrong("the host's option address says where it is", "it has no address")
	case strings.HasPrefix(h.Address, "-"):
		return wrong("it would pass for an option of ssh: write the address itself", "the address %q begins with a dash", h.Address)
	case h.Port < 0 || h.Port > 65535:
		return wrong("ports go from 1 to 65535", "%d is no port", h.Port)
	case h.Cache != "" && !strings.HasPrefix(h.Cache, "/"):
		return wrong(`write one that begins with "/"`, "the runner's cache %q is no absolute path", h.Cache)
	}
	if refusal := privilege.Check(h.Become.Method, h.Become.User, h.Become.Password); refusal != nil {
		return newError(codeConfig, refusal.Message, refusal.Hint)
	}
	for _, text := range append([]string{h.Address, h.User, h.Become.User, h.Cache}, h.Options...) {
		if strings.ContainsAny(text, "\n\r\x00") {
			return wrong("leave out ends of lines and NUL", "%.80q has a character that cannot be passed on", text)
		}
	}
	return nil
}

func (c *Client) note(h Host, format string, args ...any) {
	if c.Note != nil {
		c.Note(h.Name, fmt.Sprintf(format, args...))
	}
}

// attempt is one connection while it is made.
type attempt struct {
	ctx    context.Context // whose end ends it
	client *Client
	host   Host
	nonce  string

	runners *Runners
	p       *process
	end     context.CancelCauseFunc
	alarm   *time.Timer

	connected bool          // the host has answered
	login     string        // who logged in, where sudo was called then
	relayed   bool          // the login account's runner was started, to give a terminal
	running   bool          // the runner was started
	upload    chan struct{} // closed once the runner is brought; nil: it need not be
	noise     string        // what was printed before an answer
}

// farewell is how long a client may take to end when its output has.
const farewell = 5 * time.Second

// The causes for which an attempt is ended.
var (
	errTimeout  = errors.New("no answer in time")
	errRejected = errors.New("the password was not taken")
)

func (c *Client) dial(ctx context.Context, h Host, o wire.Opening, mode dialMode) (*wire.Conn, *wire.Hello, *Error) {
	random := make([]byte, 12)
	rand.Read(random) // it never fails
	a := &attempt{ctx: ctx, client: c, host: h, nonce: hex.EncodeToString(random)}
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	a.end = end

	a.runners = cmp.Or(c.Runners, &Runners{})
	prompt := privilege.PromptConfig{Password: func() (string, error) { return h.Become.Password, nil }}
	if h.Become.User != "" {
		if r := h.Become.request(a.nonce, mode.terminal); r.Password { // which a relay asks for likewise
			prompt.Program, prompt.Prompt = r.Program, r.Mark
		}
	}
	p, err := start(c.argv(h, remoteCommand(h, a.nonce, a.runners.table(), mode, o)), prompt)
	if err != nil {
		return nil, nil, a.startFailure(err)
	}
	a.p = p
	stop := p.killAfter(inner)
	a.alarm = time.AfterFunc(c.timeout()+grace, func() { end(errTimeout) })
	defer a.alarm.Stop()
	fault.Go(func() {
		select {
		case <-p.stderr.Rejection():
			end(errRejected)
		case <-inner.Done():
		}
	})

	conn, hello, err := a.talk(mode)
	if err == nil && stop() {
		return conn, hello, nil
	}
	if err == nil {
		err = context.Cause(inner)
	}
	cause := context.Cause(inner)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		select { // why is told by how it ends
		case <-p.done:
		case <-time.After(farewell):
		}
	}
	p.Close()
	return nil, nil, a.failure(err, cause)
}

// talk goes from the script's first word to the runner's.
func (a *attempt) talk(mode dialMode) (*wire.Conn, *wire.Hello, error) {
	for {
		answer, noise, err := readAnswer(a.p.in, a.nonce)
		a.noise += noise
		if err != nil {
			return nil, nil, err
		}
		a.connected = true
		a.alarm.Reset(a.client.timeout())
		if a.relayed || !mode.terminal && answer.word != wordBecome {
			a.p.stderr.Stop() // the other account has said something: what asks now may be its own
		}
		switch answer.word {
		case wordBecome:
			if a.login != "" { // it is said once
				return nil, nil, errAnswer
			}
			a.login = cmp.Or(privilege.Printable(answer.rest), "USER")
		case wordNew:
			if err := a.sendProgram(answer.rest); err != nil {
				return nil, nil, err
			}
		case wordFail:
			what, folder, _ := strings.Cut(answer.rest, " ")
			return nil, nil, &scriptError{what, privilege.Printable(folder)}
		case wordRun:
			if a.upload != nil {
				<-a.upload
			}
			if answer.rest == "relay" && a.login != "" && !a.relayed {
				a.relayed, a.upload = true, nil // the next is another account's
				continue
			}
			a.running = true
			return a.hello()
		default:
			return nil, nil, errAnswer
		}
	}
}

// hello waits for the runner.
func (a *attempt) hello() (*wire.Conn, *wire.Hello, error) {
	a.p.stderr.Stop()
	in := &runnerOutput{process: a.p}
	conn := wire.New(in, a.p.stdin, a.p.Close)
	hello := &wire.Hello{}
	if err := conn.Expect(wire.KindHello, hello); err != nil {
		return nil, nil, err
	}
	if hello.Protocol != wire.Protocol {
		return nil, nil, &versionError{fmt.Sprintf("speaks %.40s, and this program %s", hello.Protocol, wire.Protocol)}
	}
	if want := a.runners.Version; want != "" && hello.Program != want {
		return nil, nil, &versionError{fmt.Sprintf("is of version %.80s, and this program of %s", hello.Program, want)}
	}
	in.isRunner = true
	return conn, hello, nil
}

// scriptError is what a script says has failed.
type scriptError struct{ action, folder string }

// Error says it for programs: failure makes it a text for people.
func (e *scriptError) Error() string { return e.action + " " + e.folder }

// versionError is a runner that is none of ours.
type versionError struct{ text string }

// Error says it.
func (e *versionError) Error() string { return "the runner there " + e.text }

// startFailure explains a client that cannot be run.
func (a *attempt) startFailure(err error) *Error {
	program := a.client.argv(a.host, "")[0]
	e := &Error{HintError: diag.HintError{Code: codeClient, Message: fmt.Sprintf("the OpenSSH client cannot be started: %v", err), Hint: a.host.cure(codeClient), Err: err}}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		e.Message = fmt.Sprintf("there is no OpenSSH client %q here", program)
		e.Hint = "install it: the package is openssh-client, openssh-clients or openssh"
	}
	return e
}
