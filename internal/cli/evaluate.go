package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/server/evaluate"
)

// evaluateForServer is the process in which a server has sites evaluated.
func evaluateForServer(env Environment) int {
	exit := env.Exit
	if exit == nil {
		exit = os.Exit
	}
	if err := evaluate.Serve(context.Background(), env.In, env.Out, exit); err != nil {
		fmt.Fprintln(env.Err, "tenet:", err)
		return exitFailed
	}
	return exitDone
}
