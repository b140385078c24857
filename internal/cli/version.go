package cli

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
)

type versionCmd struct{}

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
func (cmd *versionCmd) Run(_ runContext, s *session) error {
	if s.globals.JSON {
		return s.printJSON(map[string]string{"version": version(), "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH})
	}
	return s.print(fmt.Sprintf("tenet %s (%s, %s/%s)", version(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH))
}
