package cli

import (
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/runtime/host"
)

type execCmd struct {
	Argv []string `arg:"" passthrough:"" help:"Program and arguments, behind --."`
	User string   `help:"Run as this user."`
	Dir  string   `help:"Working directory." default:"/"`
}

// maxExecOutput is how much of each output stream is shown, in bytes.
const maxExecOutput = 64 << 20

// Run runs a command on this machine.
func (cmd *execCmd) Run(ctx runContext, s *session) error {
	argv := cmd.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return usage("write tenet exec -- PROGRAM ARGUMENT…", "there is no command to run")
	}
	h, err := s.newHost()
	if err != nil {
		return err
	}
	result, err := h.Run(ctx, host.Command{Argv: argv, Dir: cmd.Dir, User: cmd.User, MaxOutput: maxExecOutput})
	if ctx.Err() != nil {
		return &status{code: exitInterrupted}
	}
	if err != nil {
		return failed(err)
	}
	if s.globals.JSON {
		err = s.printJSON(map[string]any{
			"exit_code": result.ExitCode, "stdout": string(result.Stdout), "stderr": string(result.Stderr), "truncated": result.Truncated,
		})
	} else {
		_, outErr := s.Out.Write(result.Stdout)
		_, errErr := s.Err.Write(result.Stderr)
		err = failed(errors.Join(outErr, errErr))
	}
	if err == nil && result.ExitCode != 0 {
		err = failed(fmt.Errorf("%s ended with exit status %d", argv[0], result.ExitCode))
	}
	return err
}
