// Tenet-runner is what acts on hosts: it is brought there, started, and told what to do
// over its standard streams. It carries no language and no command line for people.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // hosts need not have time zones of their own

	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/runner"
)

func main() {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "version" {
		fmt.Println("tenet-runner " + version.String())
		return
	}
	if len(args) > 0 && args[0] == "runner" {
		args = args[1:]
	}
	os.Exit(runner.Main(args, runner.Process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		Registry: modules.Standard(), Version: version.String(), Arguments: []string{"runner"},
	}))
}
