package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// logsOfHosts shows what a run, or an execution, did on hosts: of one host after the
// other, or, as programs and those who follow it want it, as it comes.
func (s *client) logsOfHosts(ctx context.Context, cmd *logsCmd, m *meant) error {
	q := question{request: &wire.Request{Op: wire.OpLogs, ID: cmd.ID, Follow: cmd.Follow}}
	var done func(list []*answer) error
	switch {
	case s.globals.JSON:
		done = s.logLines(&q)
	case cmd.Follow:
		done = s.logsAsTheyCome(&q, m)
	default:
		done = s.logsInTurn(&q, m)
	}
	list, err := s.askHosts(ctx, m, q)
	if err != nil {
		return err
	}
	err = done(list)
	if ctx.Err() != nil && err == nil { // the runs go on
		return &status{code: exitInterrupted}
	}
	return errors.Join(err, s.concluded(list))
}

// logLines prints events as JSON, each with its host.
func (s *client) logLines(q *question) (done func([]*answer) error) {
	var shown error
	q.event = func(host string, ev states.Event) {
		if ev.Host = host; shown == nil {
			shown = s.printLine(ev)
		}
	}
	return func(list []*answer) error {
		for _, a := range list {
			if f := a.failure(); f != nil && shown == nil {
				shown = s.printLine(hostError{a.host.Name, f})
			}
		}
		return shown
	}
}

// logsAsTheyCome shows what hosts do in lines that begin with their names.
func (s *client) logsAsTheyCome(q *question, m *meant) (done func([]*answer) error) {
	show := &prefixed{to: s.streams(), width: widest(m.names()), open: map[stream]*bytes.Buffer{}}
	texts := map[string]ui.Renderer{}
	q.event = func(host string, ev states.Event) {
		if texts[host] == nil {
			texts[host] = ui.Text(&hostLines{show, host}, ui.TextOptions{Verbose: s.globals.Verbose, Quiet: s.globals.Quiet})
		}
		texts[host].Event(ev)
	}
	q.ended = func(a *answer) {
		if r := texts[a.host.Name]; r != nil {
			r.Close() // whose error is that of show
		}
		show.flush(a.host.Name)
	}
	return func([]*answer) error { return failed(unread(show.failure())) }
}

// hostLines writes behind the name of a host.
type hostLines struct {
	to   *prefixed
	host string
}

// Write never fails: what it writes to remembers.
func (h *hostLines) Write(data []byte) (int, error) {
	h.to.write(h.host, "stdout", data)
	return len(data), nil
}

// logsInTurn shows what one host after the other did, and what its programs printed. Of
// those that answer before it is their turn it is kept.
func (s *client) logsInTurn(q *question, m *meant) (done func([]*answer) error) {
	texts := map[string]*logText{}
	for _, h := range m.hosts {
		t := &logText{}
		t.renderer = ui.Text(&t.shown, ui.TextOptions{Color: s.color(s.Out), Verbose: s.globals.Verbose, Quiet: s.globals.Quiet})
		texts[h.Name] = t
	}
	next := 0
	var shown error
	q.event = func(host string, ev states.Event) { texts[host].renderer.Event(ev) }
	q.ended = func(a *answer) {
		t := texts[a.host.Name]
		t.over = true
		t.err = errors.Join(t.renderer.Close(), t.outputs(s, a))
		for next < len(m.hosts) && texts[m.hosts[next].Name].over {
			name := m.hosts[next].Name
			if shown == nil {
				shown = s.printLog(name, texts[name], len(m.hosts) > 1, next > 0)
			}
			texts[name].shown = bytes.Buffer{}
			next++
		}
	}
	return func([]*answer) error { return shown }
}

// logText is what a host did.
type logText struct {
	renderer ui.Renderer
	shown    bytes.Buffer
	over     bool
	err      error
}

// outputs adds what programs have printed.
func (t *logText) outputs(s *client, a *answer) error {
	if a.failure() != nil || s.globals.Quiet || len(a.data) == 0 {
		return nil
	}
	var list []runner.Output
	if err := a.decode(&list); err != nil {
		a.outcome.End, a.outcome.Err, a.outcome.Status = nil, err, fleet.Failed
		return nil
	}
	for _, o := range list {
		fmt.Fprintln(&t.shown, printed(o))
	}
	return nil
}

func (s *client) printLog(host string, t *logText, several, below bool) error {
	if t.err != nil || t.shown.Len() == 0 {
		return t.err
	}
	if several {
		title := host + ":"
		if below {
			title = "\n" + title
		}
		if err := s.print(title); err != nil {
			return unread(err)
		}
	}
	return failed(unread(s.printText(t.shown.String())))
}
