package cli

import (
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/runtime/host"
)

type execCmd struct {
	User string   `help:"Run as this user." placeholder:"USER"`
	Dir  string   `help:"Working directory." default:"/" placeholder:"DIR"`
	Argv []string `arg:"" passthrough:"" help:"Program and arguments, behind --."`
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
	if s.onHosts() {
		return s.execHosts(ctx, cmd, argv)
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	c := host.Command{Argv: argv, Dir: cmd.Dir, User: cmd.User}
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
