package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/wire"
)

// execHosts runs a command on hosts. What it prints is shown as it comes, a line at a
// time behind the host's name.
func (s *client) execHosts(ctx context.Context, cmd *execCmd, argv []string, in []byte) error {
	m, err := s.fleetOf(ctx)
	if err != nil {
		return err
	}
	q := question{
		request:   &wire.Request{Op: wire.OpExec, Exec: &wire.Exec{Argv: argv, User: cmd.User, Dir: cmd.Dir, Stdin: in}},
		cancelled: ctx.Done(),
		judged:    func(o fleet.Outcome) fleet.Outcome { return execMeaning(ctx, argv[0], o) },
	}
	var shown error
	show := &prefixed{to: s.streams(), width: widest(m.names()), open: map[stream]*bytes.Buffer{}}
	kept := map[string]*execution{}
	if s.globals.JSON {
		for _, h := range m.hosts {
			kept[h.Name] = &execution{Host: h.Name}
		}
		q.output = func(host, stream string, data []byte) { kept[host].add(stream, data) }
		q.ended = func(a *answer) { // as they come, so that no more is kept than has to be
			if a.failure() == nil && shown == nil {
				shown = s.printLine(kept[a.host.Name].ended(a.outcome.End))
			} else if shown == nil {
				shown = s.printLine(hostError{a.host.Name, a.failure()})
			}
			delete(kept, a.host.Name)
		}
	} else {
		q.output = show.write
		q.ended = func(a *answer) { show.flush(a.host.Name) }
	}
	// The hosts are told at Ctrl-C, and their answers are waited for.
	list, err := s.askHosts(context.WithoutCancel(ctx), m, q)
	if err != nil {
		return err
	}
	if shown == nil {
		shown = failed(unread(show.failure()))
	}
	if shown != nil {
		return shown
	}
	return s.execEnded(ctx, argv[0], list)
}

// execMeaning says of a host where a program did not end by itself what became of it.
func execMeaning(ctx context.Context, program string, o fleet.Outcome) fleet.Outcome {
	said := o.End != nil // by the host
	switch {
	case o.Status != fleet.Interrupted && (o.Status != fleet.Spared || ctx.Err() == nil):
		return o
	case said && ctx.Err() != nil:
		o.Err = errors.New(program + " was interrupted, and has ended")
	case said: // not by us
		o.Status = fleet.Failed
		o.Err = &status{err: errors.New(program + " was ended by somebody there, or since the host goes down"), hint: "see there who has ended the runner"}
	default:
		o.Err = errors.New(program + " was not started: interrupted before that")
	}
	o.End = nil
	return o
}

// execEnded tells on which hosts the program failed, and where it did not run.
func (s *client) execEnded(ctx context.Context, program string, list []*answer) error {
	var ends alike
	var codes []int
	for _, a := range list {
		if a.failure() == nil && a.outcome.End != nil && a.outcome.End.ExitCode != 0 {
			ends.add(a.host.Name, fmt.Sprintf("%s ended with exit status %d", program, a.outcome.End.ExitCode))
			codes = append(codes, exitFailed)
		}
	}
	if ctx.Err() != nil {
		codes = append(codes, exitInterrupted)
	}
	if !s.globals.JSON {
		for _, text := range ends.order {
			fmt.Fprintln(s.Err, s.title(ends.hosts[text]), ui.Line(text))
		}
	}
	return s.concluded(list, codes...)
}

// execution is how a program ended on a host, as JSON.
type execution struct {
	Host      string `json:"host"`
	ExitCode  int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"`

	stdout, stderr []byte
}

// maxKept is how much is kept of what a program prints on a host, for each stream: as
// much as of one on this machine.
const maxKept = 1 << 20

func (e *execution) add(stream string, data []byte) {
	to := &e.stdout
	if stream == "stderr" {
		to = &e.stderr
	}
	if room := maxKept - len(*to); len(data) > room {
		data, e.Truncated = data[:room], true
	}
	*to = append(*to, data...)
}

func (e *execution) ended(end *wire.End) *execution {
	e.Stdout, e.Stderr = string(e.stdout), string(e.stderr)
	if end != nil {
		e.ExitCode = end.ExitCode
	}
	return e
}

// stream is one of a host.
type stream struct{ host, name string }

// prefixed writes what programs print on hosts line by line, each behind the host's
// name, and remembers the first error.
type prefixed struct {
	to    map[string]io.Writer
	width int // of the names

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
func (s *client) streams() map[string]io.Writer {
	return map[string]io.Writer{"stdout": s.Out, "stderr": s.Err}
}

// widest is how wide a column of names is.
func widest(names []string) (width int) {
	for _, name := range names {
		width = max(width, min(len(name), maxPrefix))
	}
	return width
}

func (p *prefixed) write(host, name string, data []byte) {
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
func (p *prefixed) line(s stream, text *bytes.Buffer) {
	if p.err == nil {
		shown := ui.Line(string(bytes.TrimSuffix(text.Bytes(), []byte("\r"))))
		_, p.err = fmt.Fprintf(p.to[s.name], "%-*s | %s\n", p.width, s.host, shown)
	}
	text.Reset()
}

// flush shows what a host has printed last, without the end of a line.
func (p *prefixed) flush(host string) {
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

func (p *prefixed) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
