// Package ssh reaches hosts with the user's own OpenSSH client, so that its
// configuration, agents, certificates, jump hosts and known hosts work as they do by
// hand. It brings the runner to a host that does not have it, and starts it: one
// connection, and one round trip where the runner is there.
package ssh

import (
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Host is how one host is reached.
type Host struct {
	Name    string
	Address string   // a name that the client knows, or an address
	Port    int      // 0: as the client has it
	User    string   // empty: as the client has it
	Options []string // of the client, each as -o takes it: "ProxyJump=gate"
	Become  Become
	Cache   string // the folder that keeps runners; empty: /var/cache/tenet for root, the user's own cache for others
}

// Become is the account that the runner acts as.
type Become struct {
	User     string // empty: who logs in
	Method   string // "sudo" or "doas"; empty: sudo
	Password string // for sudo, where it asks; empty: none is needed
}

// Client starts runners.
type Client struct {
	Program string        // the OpenSSH client; empty: "ssh" on PATH
	Options []string      // for all hosts, before their own
	Timeout time.Duration // of a connection until the host answers; 0: 15 seconds
	Runners *Runners
	// Note is told what people should know of a host, such as that the runner is
	// being copied; nil: nobody.
	Note func(host, text string)
}

// Error is why a host cannot be used.
type Error struct {
	// Reached tells a host that answered, and lacks something, from one that could
	// not be reached.
	Reached bool
	// Retryable says that trying again may help: the line was cut, or sshd was busy.
	Retryable bool
	// HintError has the code, such as "host_key", "auth", "timeout", "refused", "become", "no_space",
	// "noexec", "arch" or "damaged", and a message of one line, without the host's name, so that
	// hosts with the same can be told together.
	diag.HintError

	terminal bool // it would help to ask on a terminal
}

// newError makes an error; hint may be empty.
func newError(code, message, hint string) *Error {
	return &Error{HintError: diag.HintError{Code: code, Message: message, Hint: hint}}
}

// newHostError makes an error of a host that answered.
func newHostError(code, message, hint string) *Error {
	e := newError(code, message, hint)
	e.Reached = true
	return e
}

// Unwrap gives the message with the hint and the code.
func (e *Error) Unwrap() error { return &e.HintError }

// Temporary gives Again, and Answered gives Reached: a fleet asks for them.
func (e *Error) Temporary() bool { return e.Retryable }

// Answered tells whether the host answered.
func (e *Error) Answered() bool { return e.Reached }
