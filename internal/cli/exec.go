package cli

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
)

type execCmd struct {
	User  string   `help:"Run as this user." placeholder:"USER"`
	Dir   string   `help:"Working directory." default:"/" placeholder:"DIR"`
	Stdin bool     `help:"Give the command what comes on standard input, on each host all of it: at most 1 MiB."`
	Argv  []string `arg:"" passthrough:"" help:"Program and arguments, behind --."`
}

// Run runs a command on this machine, and shows what it prints as it comes.
func (cmd *execCmd) Run(ctx runContext, s *client) error {
	argv := cmd.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return usage("write tenet exec -- PROGRAM ARGUMENT…", "there is no command to run")
	}
	var in []byte
	if cmd.Stdin {
		var err error
		if in, err = s.input(ctx); err != nil {
			return err
		}
	}
	if s.onHosts() {
		return s.execHosts(ctx, cmd, argv, in)
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	c := host.Command{Argv: argv, Dir: cmd.Dir, User: cmd.User, Stdin: in}
	show := &output{to: map[string]io.Writer{"stdout": s.Out, "stderr": s.Err}}
	if !s.globals.JSON {
		c.Watch, c.MaxOutput = show.write, 1
	}
	result, err := h.Run(ctx, c)
	switch {
	case ctx.Err() != nil:
		return &status{code: exitInterrupted, err: errInterrupted}
	case err != nil:
		return failed(err)
	case s.globals.JSON:
		err = s.printJSON(map[string]any{
			"exit_code": result.ExitCode, "stdout": string(result.Stdout), "stderr": string(result.Stderr), "truncated": result.Truncated,
		})
	default:
		err = failed(unread(show.failure()))
	}
	if err == nil && result.ExitCode != 0 {
		err = failed(fmt.Errorf("%s ended with exit status %d", argv[0], result.ExitCode))
	}
	return err
}

// maxInput is how much of standard input a command gets: it is kept once here, and
// goes to each host in one frame.
const maxInput = 1 << 20

// input reads what a command is to get. It is asked for, and not just there: what runs tenet
// in a loop would find its own input gone.
func (s *client) input(ctx context.Context) ([]byte, error) {
	if _, tty := terminal(s.In); tty {
		return nil, usage("tenet exec --stdin -- PROGRAM < FILE", "--stdin takes a file or a pipe, and standard input is a terminal")
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	fault.Go(func() {
		data, err := io.ReadAll(io.LimitReader(s.In, maxInput+1))
		done <- read{data, err}
	})
	select {
	case <-ctx.Done(): // whoever writes may never end
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	case r := <-done:
		switch {
		case r.err != nil:
			return nil, failed(fmt.Errorf("standard input cannot be read: %w", r.err))
		case len(r.data) > maxInput:
			return nil, usage("a file part brings more: tenet do file PATH source=FILE", "more than 1 MiB comes on standard input")
		}
		return r.data, nil
	}
}

// output writes what a program prints, and remembers the first error.
type output struct {
	to  map[string]io.Writer
	mu  sync.Mutex
	err error
}

func (o *output) write(stream string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		_, o.err = o.to[stream].Write(data)
	}
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
