// Package ssh reaches hosts with the user's own OpenSSH client, so that its
// configuration, agents, certificates, jump hosts and known hosts work as they do by
// hand. It brings the runner to a host that does not have it, and starts it: one
// connection, and one round trip where the runner is there.
package ssh

import (
	"context"
	"errors"
	"time"

	"github.com/tenetcm/tenet/runtime/wire"
)

// Host is how one host is reached.
type Host struct {
	Name    string
	Address string   // a name that the client knows, or an address
	Port    int      // 0: as the client has it
	User    string   // empty: as the client has it
	Options []string // of the client, each as -o takes it: "ProxyJump=gate"
	Become  Become
}

// Become is the account that the runner acts as.
type Become struct {
	User     string // empty: who logs in
	Method   string // "sudo" or "doas"; empty: sudo
	Password string // empty: none is needed
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

// Dial starts a runner on a host, and gives the connection behind its Hello. When
// ctx ends before that, so does the attempt; a connection is ended by Close. The
// error is an *Error.
func (c *Client) Dial(ctx context.Context, h Host, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
	return nil, nil, errors.New("ssh: not written yet")
}

// Error is why a host cannot be used.
type Error struct {
	// Reached tells a host that answered, and lacks something, from one that could
	// not be reached.
	Reached bool
	// Again says that trying again may help: the line was cut, or sshd was busy.
	Again   bool
	Code    string // a word for programs: "host_key", "auth", "timeout", "refused", "become", "no_space", "noexec", "arch", "damaged", …
	Message string // one line
	Hint    string
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// Temporary gives Again, and Answered gives Reached: a fleet asks for them.
func (e *Error) Temporary() bool { return e.Again }

// Answered tells whether the host answered.
func (e *Error) Answered() bool { return e.Reached }

// Runners finds the program for a system and an architecture.
type Runners struct {
	Dirs    []string // looked through in this order for tenet-runner-OS-ARCH
	Self    string   // this program, which is a runner too where system and architecture fit; empty: none
	Version string
}

// Runner is a program that can be sent.
type Runner struct {
	Path   string
	SHA256 string // hex
	Size   int64
}

// Find gives the runner for a system and an architecture, as Go names them. The error
// says how to build one.
func (r *Runners) Find(os, arch string) (*Runner, error) {
	return nil, errors.New("ssh: not written yet")
}
