package cli

import (
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/runner"
)

// runs reports whether the program is started as what acts on a host: by a controller,
// or as the machine starts. That is no command for people.
func runs(args []string) bool {
	if len(args) < 2 || args[0] != "runner" {
		return false
	}
	switch args[1] {
	case "serve", "resume", "become", "relay":
		return true
	}
	return false
}

// serveHost acts on this machine for a controller.
func serveHost(args []string, env Environment) int {
	return runner.Main(args, runner.Process{
		In: env.In, Out: env.Out, Err: env.Err, Environ: env.Environ,
		Registry: modules.Standard(), Version: version(), Arguments: []string{"runner"},
	})
}
