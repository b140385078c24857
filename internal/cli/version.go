package cli

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
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

// version is the module's version, or the revision that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "devel-" + setting.Value[:min(12, len(setting.Value))]
		}
	}
	return "devel"
}

// Run shows the version.
func (cmd *versionCmd) Run(_ runContext, s *client) error {
	if s.globals.JSON {
		return s.printJSON(map[string]string{"version": version(), "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH})
	}
	return s.print(versionLine())
}
