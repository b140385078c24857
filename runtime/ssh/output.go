package ssh

import (
	"errors"
	"io"
	"strings"
	"time"
)

// ownLine gives the last line that was said, if it is tenet's own word.
func (p *process) ownLine() (line string, ok bool) {
	text := strings.TrimSpace(p.stderr.Text())
	return strings.CutPrefix(text[strings.LastIndexByte(text, '\n')+1:], "tenet: ")
}

// runnerOutput reads what a runner sends, and at its end says what that one has said of it.
type runnerOutput struct {
	*process
	isRunner bool // it is the runner that speaks
}

// Read reads.
func (l *runnerOutput) Read(data []byte) (int, error) {
	n, err := l.in.Read(data)
	if err != io.EOF || !l.isRunner {
		return n, err
	}
	select {
	case <-l.done:
	case <-time.After(farewell):
	}
	if line, ok := l.ownLine(); ok {
		err = errors.New("tenet there says: " + line)
	}
	return n, err
}
