package cli

import (
	"fmt"
	goruntime "runtime"

	"github.com/alecthomas/kong"

	vers "github.com/tenetcm/tenet/internal/version"
)

type versionCmd struct{}

// versionFlag shows the version in place of what the command line asks for.
type versionFlag bool

// BeforeReset is called by kong where the flag is given.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, versionLine())
	app.Exit(exitDone)
	return nil
}

func versionLine() string {
	return fmt.Sprintf("tenet %s (%s, %s/%s)", version(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}

func version() string { return vers.String() }

// Run shows the version.
func (cmd *versionCmd) Run(_ runContext, s *client) error {
	if s.globals.JSON {
		return s.printJSON(map[string]string{"version": version(), "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH})
	}
	return s.print(versionLine())
}
