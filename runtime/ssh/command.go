package ssh

import (
	"fmt"
	"math"
	"strings"
	"time"

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

// remote is what the login shell is given: one line that all shells read alike.
func remote(h Host, nonce, table, force string, terminal bool, o wire.Opening) string {
	words := []string{nonce, h.Cache, table, force, "serve"}
	words = append(words, arguments(o)...)
	script := oneLine(startScript)
	if b := h.Become; b.User != "" {
		how := b.method()
		if b.Password != "" {
			how += "-password"
		}
		if terminal {
			how += "-terminal"
		}
		words = append([]string{nonce, script, how, b.User}, words...)
		script = oneLine(becomeScript)
	}
	line := "exec /bin/sh -c " + Quote(script) + " tenet"
	for _, word := range words {
		line += " " + Quote(word)
	}
	return line
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

// asks reports whether a password may be asked for.
func (b Become) asks() bool { return b.User != "" && b.Password != "" }

// terminal reports whether it is asked for on a terminal alone.
func (b Become) terminal() bool { return b.asks() && b.method() == "doas" }

func (b Become) method() string {
	if b.Method == "" {
		return "sudo"
	}
	return b.Method
}
