package link

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Direction is where a packet goes.
type Direction string

// The directions, by the word that stands for each in subjects.
const (
	Up   Direction = "up"   // from an agent to its server
	Down Direction = "down" // from a server to an agent
)

// ErrClosed is what Send answers once the link is closed.
var ErrClosed = errors.New("the link is closed")

// maxWord is how long the name of an instance or a session may be.
const maxWord = 64

// Check says why an address can be none.
func (a Address) Check() error {
	if err := a.Host.Check(); err != nil {
		return err
	}
	return checkWord("an instance", a.Instance)
}

// String gives it as one word.
func (a Address) String() string { return string(a.Host) + "." + a.Instance }

// ParseAddress reads what String gives.
func ParseAddress(text string) (Address, error) {
	host, instance, _ := strings.Cut(text, ".")
	var a Address
	if err := a.Host.UnmarshalText([]byte(host)); err != nil {
		return Address{}, err
	}
	a.Instance = instance
	return a, a.Check()
}

// Check says why a packet cannot be sent.
func (p Packet) Check() error {
	if len(p.Data) > MaxPacket {
		return fmt.Errorf("a packet of %d bytes is too large: it may have %d", len(p.Data), MaxPacket)
	}
	if p.Session == "" {
		return nil
	}
	return checkWord("a session", p.Session)
}

// checkWord keeps out what means something in a subject.
func checkWord(what, word string) error {
	bad := strings.IndexFunc(word, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	})
	if word == "" || len(word) > maxWord || bad >= 0 {
		return fmt.Errorf("%.80q cannot be the name of %s: it has 1 to %d letters a to z, digits, - and _", word, what, maxWord)
	}
	return nil
}

// Subject is what packets of a session go by at brokers; no session: those of the protocol.
func Subject(d Direction, a Address, session string) string {
	if session == "" {
		return "tenet." + string(d) + "." + a.String() + ".c"
	}
	return "tenet." + string(d) + "." + a.String() + ".s." + session
}

// Subjects is what all subjects of an address match, in the form of NATS; no instance: those of all instances.
func Subjects(d Direction, a Address) string {
	if a.Instance == "" {
		return "tenet." + string(d) + "." + string(a.Host) + ".>"
	}
	return "tenet." + string(d) + "." + a.String() + ".>"
}

// ParseSubject tells whose packet it is that goes by a subject, and of which session. A broker vouches for the host that stands there.
func ParseSubject(d Direction, subject string) (a Address, session string, err error) {
	rest, ok1 := strings.CutPrefix(subject, "tenet."+string(d)+".")
	host, rest, ok2 := strings.Cut(rest, ".")
	instance, rest, ok3 := strings.Cut(rest, ".")
	session, isSession := strings.CutPrefix(rest, "s.")
	if !ok1 || !ok2 || !ok3 || !isSession && rest != "c" {
		return Address{}, "", fmt.Errorf("%.200q is no subject of packets that go %s", subject, d)
	}
	if !isSession {
		session = ""
	} else if err := checkWord("a session", session); err != nil {
		return Address{}, "", err
	}
	a = Address{Host: trust.ID(host), Instance: instance}
	if err := a.Check(); err != nil {
		return Address{}, "", err
	}
	return a, session, nil
}
