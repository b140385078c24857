package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
)

type execCmd struct {
	User  string   `help:"Run as this user." placeholder:"USER"`
	Dir   string   `help:"Working directory." default:"/" placeholder:"DIR"`
	Stdin bool     `help:"Give the command what comes on standard input, on each host all of it: at most 1 MiB."`
	Argv  []string `arg:"" passthrough:"" help:"Program and arguments, behind --."`
}

// Run runs a command, and shows what it prints as it comes: of several hosts a line at a
// time behind the host's name.
func (cmd *execCmd) Run(ctx runContext, s *client) error {
	argv := cmd.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return usage("write tenet exec -- PROGRAM ARGUMENT…", "there is no command to run")
	}
	if err := s.mayExecHere(ctx); err != nil {
		return err
	}
	var in []byte
	if cmd.Stdin {
		var err error
		if in, err = s.input(ctx); err != nil {
			return err
		}
	}
	t, err := s.targets(ctx)
	if err != nil {
		return err
	}
	what := machine.Exec{Argv: argv, User: cmd.User, Dir: cmd.Dir, Stdin: in}
	q := execQuestion{
		Question: fleet.Question[int]{Task: "exec", Ask: func(ctx context.Context, m *fleet.Member, o machine.Observer, _ machine.RunRef) (int, error) {
			return m.Exec(ctx, what, o)
		}},
		cancel: ctx.Done(),
	}
	if t.hasNames {
		q.interpretOutcome = func(o fleet.Outcome, _ int) fleet.Outcome { return execOutcome(ctx, argv[0], o) }
	}
	show := s.execOutput(&q, t)
	// Machines are told at Ctrl-C, and their answers are waited for.
	list, err := ask(context.WithoutCancel(ctx), s, t, q)
	if err != nil {
		return err
	}
	if err := show(); err != nil {
		return err
	}
	return s.showExecEnds(ctx, t, argv[0], list)
}

// execQuestion asks for the exit status of a program.
type execQuestion = question[int]

// execOutput has what programs print shown. The result gives the error of that.
func (c *console) execOutput(q *execQuestion, t *targets) func() error {
	switch {
	case c.globals.JSON:
		return c.execJSON(q, t)
	case !t.hasNames:
		show := &output{writers: c.streams()}
		q.output = func(_, stream string, data []byte) { show.write(stream, data) }
		return func() error { return failure(unread(show.failure())) }
	}
	show := &prefixWriter{writers: c.streams(), width: widest(t.names()), open: map[stream]*bytes.Buffer{}}
	q.output = show.write
	q.onEnd = func(a *answer[int]) { show.flush(a.host.Name) }
	return func() error { return failure(unread(show.failure())) }
}

// execJSON keeps what programs print until they have ended.
func (c *console) execJSON(q *execQuestion, t *targets) func() error {
	var shown error
	kept := map[string]*execution{}
	for _, h := range t.hosts {
		kept[h.Name] = &execution{}
	}
	q.output = func(host, stream string, data []byte) { kept[host].add(stream, data) }
	q.onEnd = func(a *answer[int]) { // as they come, so that no more is kept than has to be
		name := a.host.Name
		switch replied := a.replied(); {
		case shown != nil:
		case t.hasNames && replied:
			shown = c.printLine(hostExecution{name, kept[name].withExitCode(a.value)})
		case t.hasNames:
			shown = c.printLine(hostError{name, a.failure()})
		case replied:
			shown = c.printJSON(kept[name].withExitCode(a.value))
		}
		delete(kept, name)
	}
	return func() error { return shown }
}

// maxInput is how much of standard input a command gets: it is kept once here, and
// goes to each host in one frame.
const maxInput = 1 << 20

// input reads what a command is to get. It is asked for, and not just there: what runs tenet
// in a loop would find its own input gone.
func (c *console) input(ctx context.Context) ([]byte, error) {
	if _, tty := terminal(c.In); tty {
		return nil, usage("tenet exec --stdin -- PROGRAM < FILE", "--stdin takes a file or a pipe, and standard input is a terminal")
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	fault.Go(func() {
		data, err := io.ReadAll(io.LimitReader(c.In, maxInput+1))
		done <- read{data, err}
	})
	select {
	case <-ctx.Done(): // whoever writes may never end
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	case r := <-done:
		switch {
		case r.err != nil:
			return nil, failure(fmt.Errorf("standard input cannot be read: %w", r.err))
		case len(r.data) > maxInput:
			return nil, usage("a file part brings more: tenet do file PATH source=FILE", "more than 1 MiB comes on standard input")
		}
		return r.data, nil
	}
}

// output writes what a program prints, and remembers the first error.
type output struct {
	writers map[string]io.Writer
	mu      sync.Mutex
	err     error
}

func (o *output) write(stream string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		_, o.err = o.writers[stream].Write(data)
	}
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// execOutcome says of a host where a program did not end by itself what became of it.
func execOutcome(ctx context.Context, program string, o fleet.Outcome) fleet.Outcome {
	said := o.Refused() // by the host
	switch {
	case o.Status != fleet.Interrupted && (o.Status != fleet.Skipped || ctx.Err() == nil):
		return o
	case said && ctx.Err() != nil:
		o.Err = errors.New(program + " was interrupted, and has ended")
	case said: // not by us
		o.Status = fleet.Failed
		o.Err = newStatus(0, errors.New(program+" was ended by somebody there, or since the host goes down"), "see there who has ended the runner")
	default:
		o.Err = errors.New(program + " was not started: interrupted before that")
	}
	return o
}

// showExecEnds tells on which machines the program failed, and where it did not run.
func (s *client) showExecEnds(ctx context.Context, t *targets, program string, list []*answer[int]) error {
	var ends hostGroups
	var codes []int
	for _, a := range list {
		if a.replied() && a.value != 0 {
			ends.add(a.host.Name, fmt.Sprintf("%s ended with exit status %d", program, a.value))
			codes = append(codes, exitFailed)
		}
	}
	if ctx.Err() != nil {
		codes = append(codes, exitInterrupted)
	}
	if !t.hasNames {
		switch {
		case ctx.Err() != nil:
			return &status{code: exitInterrupted, err: errInterrupted}
		case len(ends.order) > 0:
			return failure(errors.New(ends.order[0]))
		}
	}
	if !s.globals.JSON {
		for _, text := range ends.order {
			fmt.Fprintln(s.Err, s.title(ends.hosts[text]), ui.Line(text))
		}
	}
	return s.showFailures(t, common(list), codes...)
}

// hostExecution is how a program ended on a host, as JSON.
type hostExecution struct {
	Host string `json:"host"`
	*execution
}

// execution is how a program ended, as JSON.
type execution struct {
	ExitCode  int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"`

	stdout, stderr []byte
}

// maxOutput is how much is kept of what a program prints on a host, for each stream: as
// much as of one on this machine.
const maxOutput = 1 << 20

func (e *execution) add(stream string, data []byte) {
	to := &e.stdout
	if stream == "stderr" {
		to = &e.stderr
	}
	if room := maxOutput - len(*to); len(data) > room {
		data, e.Truncated = data[:room], true
	}
	*to = append(*to, data...)
}

func (e *execution) withExitCode(code int) *execution {
	e.ExitCode, e.Stdout, e.Stderr = code, string(e.stdout), string(e.stderr)
	return e
}
