package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tenetcm/tenet/internal/ui"
)

// reportFault is the last resort for a fault of the program: it says so in one line, with the
// file that holds the stack, and gives the exit status.
func reportFault(w io.Writer, fault any, stack []byte) int {
	what := ui.Line(strings.SplitN(fmt.Sprint(fault), "\n", 2)[0])
	where, err := writeStack(fmt.Sprintf("tenet %s: %v\n\n%s", version(), fault, stack))
	if err != nil {
		where = "its stack could not be written: " + err.Error()
	}
	fmt.Fprintf(w, "tenet: this is a fault of tenet itself, not of what it was given: %s; please report it to the maintainers of tenet (%s)\n", what, where)
	return exitFailed
}

// writeStack writes where the fault came from into a file of its own, for the user alone.
func writeStack(text string) (where string, err error) {
	file, err := os.CreateTemp("", "tenet-fault-*.txt")
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(file, text)
	return "where it happened is in " + file.Name(), errors.Join(err, file.Close())
}
