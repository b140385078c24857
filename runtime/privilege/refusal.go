package privilege

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Kind is why an account cannot act as another one.
type Kind int

// The kinds.
const (
	Unexplained Kind = iota // nothing that is known is said
	WrongPassword
	NeedsPassword // and there is none
	NeedsTerminal
	NoAccount      // to act as
	NotAllowed     // by its rules
	CannotWork     // whoever asks
	AccountExpired // who asks, or the password
	NotInstalled   // it is not installed
)

// Refusal is why an account cannot act as another one, and what helps.
type Refusal struct {
	Kind           Kind
	diag.HintError // of one line
}

// NewRefusal makes a refusal, whose code is "become"; hint may be empty.
func NewRefusal(kind Kind, message, hint string) *Refusal {
	return &Refusal{kind, diag.HintError{Code: "become", Message: message, Hint: hint}}
}

// Unwrap gives the message with the hint and the code.
func (r *Refusal) Unwrap() error { return &r.HintError }

// kind finds what a program says.
func (p Program) kind(text string) Kind {
	for _, s := range p.signs {
		if slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(text, w) }) {
			return s.kind
		}
	}
	return Unexplained
}

// Refusal explains what the program has said of what it does not do; reason is said
// where that is nothing.
func (r Request) Refusal(text, reason string) *Refusal {
	said := LastLine(text)
	if said == "" {
		said = LastLine(reason)
	}
	return r.refusal(r.Program.kind(text), said)
}

// PasswordRefusal explains that it does not take the password that it was given.
func (r Request) PasswordRefusal(text string) *Refusal {
	if r.Program.kind(text) == AccountExpired {
		return r.refusal(AccountExpired, "")
	}
	return r.refusal(WrongPassword, "")
}

// Missing explains that none of the programs is there.
func (r Request) Missing(programs ...string) *Refusal {
	names := strings.Join(programs, " or ")
	if r.Remote {
		return NewRefusal(NotInstalled, names+" is not installed there", "install it, or log in as "+r.User)
	}
	return NewRefusal(NotInstalled, fmt.Sprintf("there is no %s on this machine", names),
		fmt.Sprintf("install it, or let tenet act as root: %s cannot become %s without it", r.Login, r.User))
}

// TestCommand is what shows by hand whether the program lets the account act as root.
func (p Program) TestCommand() string { return p.Name + " true" }

// Rule is what lets the account become the other one without a password, and where it
// is written.
func (r Request) Rule() string { return fmt.Sprintf(r.Program.rule, r.Login, r.User) }

// refusal is the text of a kind; said is the program's own.
func (r Request) refusal(kind Kind, said string) *Refusal {
	name, login, user := r.Program.Name, r.Login, r.User
	out := NewRefusal(kind, fmt.Sprintf("%s does not let %s become %s", name, login, user), "it needs the rule "+r.Rule())
	switch kind {
	case WrongPassword:
		out.Message = fmt.Sprintf("the password of %s is not the right one for %s", login, name)
		out.Hint = fmt.Sprintf("it is the password of %s that is asked for; try it by hand: %s", login, r.Program.TestCommand())
		if r.Remote {
			out.Hint = fmt.Sprintf("it is the password of %s that is asked for, on all hosts the same; try it there: %s", login, r.Program.TestCommand())
		}
	case NeedsPassword:
		out.Message = fmt.Sprintf("%s wants a password to let %s become %s", name, login, user)
		out.Hint += ", or --ask-become-pass"
	case NeedsTerminal:
		out.Message = fmt.Sprintf("%s wants a terminal to let %s become %s", name, login, user)
		out.Hint = "it needs the rule Defaults:" + login + " !requiretty in /etc/sudoers.d/tenet"
	case NoAccount:
		out.Message = fmt.Sprintf("there is no account %s to become", user)
		out.Hint = "name another with become, or create it first: a user part, applied as another account"
	case CannotWork:
		there, instead := "here", "run tenet as "+user+", or as root"
		if r.Remote {
			there, instead = "there", "log in as "+user+" instead"
		}
		out.Message = fmt.Sprintf("%s cannot work %s", name, there) + afterColon(said)
		out.Hint = "a file system mounted nosuid or a container without new privileges keeps it from working: " + instead
	case AccountExpired:
		out.Message += fmt.Sprintf(": the account %s or its password has expired, or is locked", login)
		out.Hint = fmt.Sprintf("chage -l %s shows what has expired; log in as %[1]s and set a new password with passwd", login)
	case Unexplained:
		out.Message += afterColon(said)
	}
	return out
}

func afterColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// maxLine bounds a line of a message.
const maxLine = 300

// LastLine is the last line of a text that says something, and not too much of it.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if r := []rune(line); len(r) > maxLine {
		line = string(r[:maxLine]) + "…"
	}
	return line
}

// Printable keeps what a program says from meaning something to a terminal.
func Printable(s string) string {
	s = strings.NewReplacer("\r", "", "\t", " ").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return diag.Clean(s, "\n", '·')
}
