package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

type runArg struct {
	ID string `arg:"" optional:"" help:"ID of a run, or its beginning (default: the latest)."`
}

type logsCmd struct {
	runArg
	Follow bool `short:"f" help:"Go on until the run ends."`
}

// logQuestion asks for the events of a run, and what its programs have printed.
type logQuestion = question[[]machine.Output]

// logAnswers are what machines say to that.
type logAnswers = []*answer[[]machine.Output]

// Run shows what a run, or an execution, did: of one machine after the other, or, as
// programs and those who follow it want it, as it comes.
func (cmd *logsCmd) Run(ctx runContext, s *client) error {
	var err error
	if cmd.ID, err = s.runID(cmd.ID); err != nil {
		return err
	}
	t, _, err := s.recordTargets(ctx, cmd.ID)
	if err != nil {
		return err
	}
	q := logQuestion{Question: fleet.Question[[]machine.Output]{Task: "logs", Resumable: true,
		Ask: func(ctx context.Context, m *fleet.Member, o machine.Observer, run machine.RunRef) ([]machine.Output, error) {
			run.ID = cmp.Or(run.ID, cmd.ID)
			return m.Logs(ctx, machine.LogRequest{Run: run, Follow: cmd.Follow}, o)
		}}}
	var done func(list logAnswers) error
	switch {
	case s.globals.JSON:
		done = s.logLines(&q, t)
	case !t.hasNames:
		done = s.logsHere(&q)
	case cmd.Follow:
		done = s.logsAsTheyCome(&q, t)
	default:
		done = s.logsInTurn(&q, t)
	}
	list, err := ask(ctx, s, t, q)
	if err != nil {
		return err
	}
	err = done(list)
	if ctx.Err() != nil && err == nil { // the runs go on
		return &status{code: exitInterrupted}
	}
	return errors.Join(err, s.showFailures(t, common(list)))
}

// logLines prints events as JSON, each with its host.
func (c *console) logLines(q *logQuestion, t *targets) (done func(logAnswers) error) {
	var shown error
	q.event = func(_ string, ev states.Event) {
		if shown == nil {
			shown = c.printLine(ev)
		}
	}
	return func(list logAnswers) error {
		for _, a := range list {
			if f := a.failure(); f != nil && t.hasNames && shown == nil {
				shown = c.printLine(hostError{a.host.Name, f})
			}
		}
		return shown
	}
}

// logsHere shows what this machine does as it comes, and then what its programs printed.
func (s *client) logsHere(q *logQuestion) (done func(logAnswers) error) {
	r := ui.Text(s.Out, ui.TextOptions{Color: s.color(s.Out), Verbose: s.globals.Verbose, Quiet: s.globals.Quiet})
	q.event = func(_ string, ev states.Event) { r.Event(ev) }
	return func(list logAnswers) error {
		if err := r.Close(); err != nil || s.globals.Quiet {
			return failure(unread(err))
		}
		for _, o := range list[0].value {
			if err := s.print(outputText(o)); err != nil {
				return err
			}
		}
		return nil
	}
}

// logsAsTheyCome shows what hosts do in lines that begin with their names.
func (c *console) logsAsTheyCome(q *logQuestion, t *targets) (done func(logAnswers) error) {
	show := &prefixWriter{writers: c.streams(), width: widest(t.names()), open: map[stream]*bytes.Buffer{}}
	texts := map[string]ui.Renderer{}
	q.event = func(host string, ev states.Event) {
		if texts[host] == nil {
			texts[host] = ui.Text(&hostLines{show, host}, ui.TextOptions{Verbose: c.globals.Verbose, Quiet: c.globals.Quiet})
		}
		texts[host].Event(ev)
	}
	q.onEnd = func(a *answer[[]machine.Output]) {
		if r := texts[a.host.Name]; r != nil {
			r.Close() // whose error is that of show
		}
		show.flush(a.host.Name)
	}
	return func(logAnswers) error { return failure(unread(show.failure())) }
}

// hostLines writes behind the name of a host.
type hostLines struct {
	writer *prefixWriter
	host   string
}

// Write never fails: what it writes to remembers.
func (h *hostLines) Write(data []byte) (int, error) {
	h.writer.write(h.host, "stdout", data)
	return len(data), nil
}

// logsInTurn shows what one host after the other did, and what its programs printed. Of
// those that answer before it is their turn it is kept.
func (s *client) logsInTurn(q *logQuestion, t *targets) (done func(logAnswers) error) {
	texts := map[string]*logText{}
	for _, h := range t.hosts {
		text := &logText{}
		text.renderer = ui.Text(&text.text, ui.TextOptions{Color: s.color(s.Out), Verbose: s.globals.Verbose, Quiet: s.globals.Quiet})
		texts[h.Name] = text
	}
	next := 0
	var shown error
	q.event = func(host string, ev states.Event) { texts[host].renderer.Event(ev) }
	q.onEnd = func(a *answer[[]machine.Output]) {
		text := texts[a.host.Name]
		text.isFull = true
		text.err = errors.Join(text.renderer.Close(), text.outputs(s, a))
		for next < len(t.hosts) && texts[t.hosts[next].Name].isFull {
			name := t.hosts[next].Name
			if shown == nil {
				shown = s.printLog(name, texts[name], len(t.hosts) > 1, next > 0)
			}
			texts[name].text = bytes.Buffer{}
			next++
		}
	}
	return func(logAnswers) error { return shown }
}

// logText is what a host did.
type logText struct {
	renderer ui.Renderer
	text     bytes.Buffer
	isFull   bool
	err      error
}

// outputs adds what programs have printed.
func (t *logText) outputs(s *client, a *answer[[]machine.Output]) error {
	if s.globals.Quiet {
		return nil
	}
	for _, o := range a.value {
		fmt.Fprintln(&t.text, outputText(o))
	}
	return nil
}

// outputText is what a part's program has printed, below its name.
func outputText(o machine.Output) string {
	return "\n" + ui.Clean(o.Name) + ":\n" + strings.TrimSuffix(ui.Clean(o.Text), "\n")
}

func (c *console) printLog(host string, t *logText, several, below bool) error {
	if t.err != nil || t.text.Len() == 0 {
		return t.err
	}
	if several {
		title := host + ":"
		if below {
			title = "\n" + title
		}
		if err := c.print(title); err != nil {
			return unread(err)
		}
	}
	return failure(unread(c.printText(t.text.String())))
}
