package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/lang/diag"
)

// codeNotExecutable is the word for programs for what cannot be started as a program.
const codeNotExecutable = "not_executable"

// explain says why a program could not be started: the kernel's answer alone
// does not tell a missing program from a missing directory or interpreter.
func (l *Local) explain(cmd *exec.Cmd, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return l.explainDenial(cmd, withoutPath(err))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return withoutPath(err)
	}
	if info, dirErr := l.follow(cmd.Dir); dirErr != nil || info.Kind != Directory {
		return fmt.Errorf("the working directory %s is not there: %w", cmd.Dir, withoutPath(err))
	}
	program := cmd.Path
	if !strings.HasPrefix(program, "/") {
		program = joinPath(cmd.Dir, program)
	}
	if l.executable(program) {
		return fmt.Errorf("the interpreter of %s is not there: %w", program, withoutPath(err))
	}
	return &NoProgramError{cmd.Path}
}

// explainDenial says what of a program keeps everybody, root included, from starting it.
func (l *Local) explainDenial(cmd *exec.Cmd, err error) error {
	info, lookErr := l.follow(cmd.Path)
	switch {
	case lookErr != nil:
		return err
	case info.Kind != Regular:
		return &diag.HintError{Code: codeNotExecutable, Err: err, Message: fmt.Sprintf("it is a %s, not a program", info.Kind), Hint: "give the path of the program"}
	case info.Mode&0o111 == 0:
		return &diag.HintError{Code: codeNotExecutable, Err: err, Message: fmt.Sprintf("it may not be executed: its mode is %04o", info.Mode.Perm()),
			Hint: "give the file a mode such as \"0755\", or let its interpreter read it, as with argv = [\"sh\", \"" + cmd.Path + "\"]"}
	}
	var mounted unix.Statfs_t
	if unix.Statfs(cmd.Path, &mounted) == nil && mounted.Flags&unix.ST_NOEXEC != 0 && l.root == nil {
		return &diag.HintError{Code: codeNotExecutable, Err: err, Message: "it is on a file system that is mounted noexec", Hint: "put it elsewhere, such as into /usr/local/bin, or let its interpreter read it"}
	}
	return err
}
