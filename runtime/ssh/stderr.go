package ssh

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// stderr keeps the end of what a client and its host say there.
type stderr struct {
	prompt string          // empty: none is waited for
	asked  func(times int) // how often it has come

	mu    sync.Mutex
	text  []byte
	times int
}

// maxStderr is how much is kept. Who prints more is no longer explaining an error.
const maxStderr = 8 << 10

// Write takes what comes.
func (s *stderr) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, data...)
	if s.prompt != "" {
		for {
			before, after, found := bytes.Cut(s.text, []byte(s.prompt))
			if !found {
				break
			}
			s.text = append(before, after...)
			s.times++
			s.asked(s.times)
		}
	}
	if over := len(s.text) - maxStderr; over > 0 {
		s.text = append(s.text[:0], s.text[over:]...)
	}
	return len(data), nil
}

// String gives what was said, fit for a terminal.
func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printable(string(s.text))
}

// last gives the last line, if it is tenet's own word.
func (s *stderr) last() (line string, ok bool) {
	text := strings.TrimSpace(s.String())
	return strings.CutPrefix(text[strings.LastIndexByte(text, '\n')+1:], "tenet: ")
}

// lastWords reads what a runner sends, and at its end says what that one has said of it.
type lastWords struct {
	*process
	known bool // it is the runner that speaks
}

// Read reads.
func (l *lastWords) Read(data []byte) (int, error) {
	n, err := l.in.Read(data)
	if err != io.EOF || !l.known {
		return n, err
	}
	select {
	case <-l.ended:
	case <-time.After(farewell):
	}
	if line, ok := l.stderr.last(); ok {
		err = errors.New("tenet there says: " + line)
	}
	return n, err
}

// printable keeps what comes from a host from meaning something to a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\r':
			return -1
		case r == '\t':
			return ' '
		case diag.Unsafe(r):
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// lastLine is the last line of a text that says something, and not too much of it.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if r := []rune(line); len(r) > maxLine {
		line = string(r[:maxLine]) + "…"
	}
	return line
}

const maxLine = 300
