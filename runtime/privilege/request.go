package privilege

import (
	"fmt"
	"strings"
)

// Request is that one account acts as another.
type Request struct {
	Program  Program
	Login    string // who asks
	User     string // who is acted as
	Password bool   // there is one: it may be asked for
	Terminal bool   // it has a terminal to ask on, though it could do without
	Mark     string // what it is to ask with, which nobody else can know
	Remote   bool   // it is about another machine than this
}

// OnTerminal reports whether the program is given a terminal.
func (r Request) OnTerminal() bool {
	return r.Terminal || r.Password && r.Program.passwordPipe == nil
}

// Prompt is what asks for the password; empty: nothing does.
func (r Request) Prompt() string {
	switch {
	case !r.Password:
		return ""
	case r.OnTerminal() && r.Program.promptOption == nil:
		return r.Program.prompt
	}
	return r.Mark
}

// Argv is how the program is called to run a command as the other account. It asks in
// English where Environ is set.
func (r Request) Argv(command ...string) []string {
	p := r.Program
	argv := []string{p.Name}
	switch {
	case !r.Password:
		argv = append(argv, p.noPassword...)
	case !r.OnTerminal():
		argv = append(append(argv, p.passwordPipe...), r.Mark)
	case p.promptOption != nil:
		argv = append(append(argv, p.promptOption...), r.Mark)
	}
	argv = append(append(argv, p.options...), "-u", r.User, "--")
	return append(argv, command...)
}

// Environ is what makes the programs say what is looked for in their words.
func Environ() []string { return []string{"LANG=C", "LC_ALL=C"} }

// maxPassword bounds a line that is to be a password.
const maxPassword = 4 << 10

// Check finds what cannot be passed on to the programs as it is meant: the method is one
// of Names or empty. Nil: nothing.
func Check(method, user, password string) *Refusal {
	if _, known := Find(method); method != "" && !known {
		return NewRefusal(Unexplained, fmt.Sprintf("%q is no way to become another account", method), "write "+strings.Join(Names(), " or "))
	}
	switch {
	case strings.HasPrefix(user, "-"):
		return NewRefusal(Unexplained, fmt.Sprintf("the account %q to become begins with a dash", user), "it would pass for an option: write the account's name")
	case strings.ContainsAny(password, "\n\x00"):
		return NewRefusal(Unexplained, fmt.Sprintf("the password to become %s has more than one line", user), "type the password alone, or put it on the first line of the file")
	case len(password) >= maxPassword:
		return NewRefusal(Unexplained, fmt.Sprintf("the password to become %s has %d bytes, and %d are too many for one", user, len(password), maxPassword), "type the password alone, or put it on the first line of the file")
	}
	return nil
}
