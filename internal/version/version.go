// Package version tells the version of the program, which its parts on other
// machines must have too.
package version

import "runtime/debug"

// stamp is the version of the program that a runner was built for, where that has built it: the
// linker sets it. Of two programs of one source, Go may tell the version of one alone.
var stamp string

// String is the module's version, or the revision that it was built from.
func String() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return Of(info)
}

// Of is the version of the program that info is about.
func Of(info *debug.BuildInfo) string {
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
