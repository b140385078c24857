package ssh

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/privilege"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Quote makes one word of s for a shell, whatever bytes but NUL are in it. POSIX
// shells, fish and csh read it alike, but that csh knows no way to write the end of a
// line in a word.
func Quote(s string) string {
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	// What is special in the quotes of one of them stands outside: ' in all, \ in
	// fish's, ! in csh's.
	var out strings.Builder
	quoted := false
	toggle := func(to bool) {
		if quoted != to {
			out.WriteByte('\'')
			quoted = to
		}
	}
	for i := range len(s) {
		special := strings.IndexByte(`'\!`, s[i]) >= 0
		toggle(!special)
		if special {
			out.WriteByte('\\')
		}
		out.WriteByte(s[i])
	}
	toggle(false)
	if s == "" {
		return "''"
	}
	return out.String()
}

// safe are the characters that mean nothing to any shell, wherever they stand.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.,:@%+-"

// argv is how the client is called.
func (c *Client) argv(h Host, command string) []string {
	program := c.Program
	if program == "" {
		program = "ssh"
	}
	// The first value of an option counts. These hold whatever anybody says.
	argv := []string{program, "-T", "-e", "none"}
	for _, o := range []string{"BatchMode=yes", "RemoteCommand=none", "RequestTTY=no", "PermitLocalCommand=no", "ClearAllForwardings=yes"} {
		argv = append(argv, "-o", o)
	}
	for _, list := range [][]string{c.Options, h.Options} {
		for _, o := range list {
			argv = append(argv, "-o", o)
		}
	}
	// These are better than what the client's configuration has, where nobody says
	// otherwise for tenet: a dead line is noticed, and errors are told.
	seconds := int(math.Ceil(c.timeout().Seconds()))
	for _, o := range []string{fmt.Sprint("ConnectTimeout=", seconds), "ServerAliveInterval=10", "ServerAliveCountMax=3", "LogLevel=INFO"} {
		argv = append(argv, "-o", o)
	}
	if h.Port != 0 {
		argv = append(argv, "-p", fmt.Sprint(h.Port))
	}
	if h.User != "" {
		argv = append(argv, "-l", h.User)
	}
	return append(argv, "--", h.Address, command)
}

func (c *Client) timeout() time.Duration {
	if c.Timeout <= 0 {
		return 15 * time.Second
	}
	return c.Timeout
}

// remoteCommand is what the login shell is given: one line that all shells read alike.
func remoteCommand(h Host, nonce, table string, mode dialMode, o wire.Opening) string {
	serve := append([]string{nonce, h.Cache, table, mode.force, "serve"}, arguments(o)...)
	words := shell(startScript, serve...)
	if h.Become.User != "" {
		r := h.Become.request(nonce, mode.terminal)
		prefix := r.Argv()
		if r.OnTerminal() { // which the login account's runner gives it
			prefix = append(shell(startScript, nonce, "", table, mode.force, "relay", r.Mark, r.Prompt()), prefix...)
		}
		become := append([]string{nonce, r.Program.Name, r.User, strconv.Itoa(len(prefix))}, prefix...)
		words = shell(becomeScript, append(become, words...)...)
	}
	line := "exec"
	for _, word := range words {
		line += " " + Quote(word)
	}
	return line
}

// shell runs a script with its arguments.
func shell(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", oneLine(script), "tenet"}, args...)
}

// arguments are the runner's, as it is started with an opening.
func arguments(o wire.Opening) []string {
	var out []string
	for _, arg := range []struct{ name, value string }{
		{"--facts", strings.Join(o.Facts, ",")}, {"--site", o.Site}, {"--state-dir", o.StateDir}, {"--root", o.Root},
	} {
		if arg.value != "" {
			out = append(out, arg.name+"="+arg.value)
		}
	}
	return out
}

// program lets become the account.
func (b Become) program() privilege.Program {
	p, _ := privilege.Find(cmp.Or(b.Method, privilege.Names()[0])) // check has looked
	return p
}

// request is how the account is become in a connection with that nonce.
func (b Become) request(nonce string, terminal bool) privilege.Request {
	return privilege.Request{
		Program: b.program(), User: b.User, Password: b.Password != "", Terminal: terminal, Mark: "<tenet " + nonce + " password>", Remote: true,
	}
}
