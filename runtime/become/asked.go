package become

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxSaid bounds what is kept of what sudo and doas say.
const maxSaid = 8 << 10

// asked listens to what sudo and doas say, and gives the password when they ask for
// it: once. So it never goes to anybody else.
type asked struct {
	prompt string
	known  func() (string, error) // gives the password
	answer io.Writer
	spoken func() bool   // whether it is somebody else by now, who asks; nil: nobody can be
	wrong  chan struct{} // closed when it is asked for again

	mu       sync.Mutex
	said     []byte
	since    int // how much of it precedes the last question
	given    bool
	password string // that was given
	over     bool
}

func newAsked(prompt string, known func() (string, error)) *asked {
	return &asked{prompt: prompt, known: known, wrong: make(chan struct{})}
}

// Write takes what is said.
func (a *asked) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, data...)
	if a.prompt == "" {
		a.cut()
		return len(data), nil
	}
	for {
		at := strings.Index(string(a.said[a.since:]), a.prompt)
		if at < 0 {
			break
		}
		a.since += at + len(a.prompt)
		if err := a.ask(); err != nil {
			return len(data), nil // the process has ended, and that is told of
		}
	}
	a.cut()
	return len(data), nil
}

func (a *asked) ask() error {
	switch {
	case !a.given && a.spoken != nil && a.spoken():
		a.given, a.over = true, true
	case !a.given:
		a.given = true
		password, err := a.known()
		if err != nil {
			return err
		}
		a.password = password
		_, err = io.WriteString(a.answer, password+"\n")
		return err
	case !a.over:
		a.over = true
		close(a.wrong)
	}
	return nil
}

// done says that nobody asks any more: who is somebody else by now gets nothing, though
// it may print the question.
func (a *asked) done() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given, a.over = true, true
}

// cut keeps the end of what was said.
func (a *asked) cut() {
	if more := len(a.said) - maxSaid; more > 0 {
		a.said, a.since = append([]byte(nil), a.said[more:]...), max(a.since-more, 0)
	}
}

// text is what was said, without the questions and the password.
func (a *asked) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := string(a.said)
	if a.prompt != "" {
		text = strings.ReplaceAll(text, a.prompt, "")
	}
	return a.without(text)
}

// rest is what was said after the last question, without the password.
func (a *asked) rest() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.without(string(a.said[a.since:]))
}

// without takes the password out of a text. The lock is held.
func (a *asked) without(text string) string {
	if a.password == "" {
		return text
	}
	return strings.ReplaceAll(text, a.password, "")
}

// openTerminal makes a terminal, for a program that takes a password from nothing else.
// It does not show what is typed.
func openTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		unix.Close(fd)
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	name := fmt.Sprintf("/dev/pts/%d", number)
	slave, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		err = quiet(int(slave.Fd()))
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// quiet turns off that a terminal shows what is typed.
func quiet(fd int) error {
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO | unix.ECHONL
	return unix.IoctlSetTermios(fd, unix.TCSETS, state)
}
