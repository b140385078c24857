// Package process starts programs for modules and puts what went wrong into
// words.
package process

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// ExitError says that a program ended with a status other than 0.
type ExitError struct {
	Program string
	Result  host.Result
}

// tailLines is how much of a program's output stands in an error.
const tailLines = 10

// Error gives the program, its exit status and the first and last lines that it
// said: of stderr or, where that is empty, of stdout.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s ended with exit status %d", path.Base(e.Program), e.Result.ExitCode)
	said := excerpt(e.whole(e.Result.Stderr))
	if said == "" {
		said = excerpt(e.whole(e.Result.Stdout))
	}
	switch {
	case said == "":
		return text
	case strings.Contains(said, "\n"):
		return text + ":\n" + said
	}
	return text + ": " + said
}

// Run is Host.Run with an exit status other than 0 as an *ExitError.
func Run(ctx context.Context, h host.Processes, c host.Command) (host.Result, error) {
	r, err := h.Run(ctx, c)
	return result(c, r, err)
}

// Query is Host.Query with an exit status other than 0 as an *ExitError.
func Query(ctx context.Context, h host.Processes, q host.Query) (host.Result, error) {
	r, err := h.Query(ctx, q)
	return result(q.Command, r, err)
}

func result(c host.Command, r host.Result, err error) (host.Result, error) {
	if err == nil && r.ExitCode != 0 {
		err = &ExitError{Program: c.Argv[0], Result: r}
	}
	return r, err
}

// cutLength is the length from which what was kept of an output may be all that is kept;
// the end of a longer line is looked at by whoever hides secrets.
const cutLength = 64 << 10

// whole is an output without a last line of which only the beginning was kept, maybe: half
// of a secret that stands there would not be recognised.
func (e *ExitError) whole(output []byte) []byte {
	end := bytes.LastIndexByte(output, '\n') + 1
	if !e.Result.Truncated || len(output) < cutLength || len(output)-end >= cutLength {
		return output
	}
	return output[:end]
}

// excerpt gives the output's last lines, and its first where that is not among
// them: many programs say what is wrong, and then how they are used.
func excerpt(output []byte) string {
	all := Tail(output, len(output))
	tail := Tail(output, tailLines)
	if all == tail {
		return all
	}
	first, _, _ := strings.Cut(all, "\n")
	return first + "\n…\n" + tail
}

// Tail gives the last n lines of a program's output, without what a terminal
// would hide.
func Tail(output []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(output, []byte("?")))), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = diag.Safe(strings.TrimRight(line, " \t\r"))
	}
	return strings.Join(lines, "\n")
}
