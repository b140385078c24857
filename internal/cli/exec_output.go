package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/internal/ui"
)

// stream is one of a host.
type stream struct{ host, name string }

// prefixWriter writes what programs print on hosts line by line, each behind the host's
// name, and remembers the first error.
type prefixWriter struct {
	writers map[string]io.Writer
	width   int // of the names

	mu   sync.Mutex
	open map[stream]*bytes.Buffer // lines that have not ended
	err  error
}

// maxPrefix is how wide the column of names is at most, and maxLine how long a line may
// get before it is shown though it has not ended.
const (
	maxPrefix = 30
	maxLine   = 64 << 10
)

// streams are ours, by the names of a program's.
func (c *console) streams() map[string]io.Writer {
	return map[string]io.Writer{"stdout": c.Out, "stderr": c.Err}
}

// widest is how wide a column of names is.
func widest(names []string) (width int) {
	for _, name := range names {
		width = max(width, min(len(name), maxPrefix))
	}
	return width
}

func (p *prefixWriter) write(host, name string, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := stream{host, name}
	if p.open[s] == nil {
		p.open[s] = &bytes.Buffer{}
	}
	line := p.open[s]
	for len(data) > 0 {
		piece, rest, whole := bytes.Cut(data, []byte("\n"))
		line.Write(piece)
		if whole || line.Len() > maxLine {
			p.line(s, line)
		}
		data = rest
	}
}

// line writes a line and begins another.
func (p *prefixWriter) line(s stream, text *bytes.Buffer) {
	if p.err == nil {
		shown := ui.Line(string(bytes.TrimSuffix(text.Bytes(), []byte("\r"))))
		_, p.err = fmt.Fprintf(p.writers[s.name], "%-*s | %s\n", p.width, s.host, shown)
	}
	text.Reset()
}

// flush shows what a host has printed last, without the end of a line.
func (p *prefixWriter) flush(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range []string{"stdout", "stderr"} {
		s := stream{host, name}
		if line := p.open[s]; line != nil && line.Len() > 0 {
			p.line(s, line)
		}
		delete(p.open, s)
	}
}

func (p *prefixWriter) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
