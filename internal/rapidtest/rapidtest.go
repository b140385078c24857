// Package rapidtest says how many cases the random tests of a package try, unless the command
// line says how many: rapid's hundred are too few where a case costs nothing, and too many
// where it costs much.
package rapidtest

import (
	"flag"
	"os"
	"testing"
)

const (
	name   = "rapid.checks"
	noFile = "rapid.nofailfile"
)

// Main is a TestMain: it runs the tests with so many cases for each property, or if that is
// empty as many as rapid does. A property that fails leaves no file, which later runs
// would try again and fail by: its seed is enough to see it fail. Who wants the file gives
// -rapid.nofailfile=false.
func Main(m *testing.M, checks string) {
	flag.Parse()
	if checks != "" && !isFlagGiven(name) {
		set(name, checks)
	}
	if !isFlagGiven(noFile) {
		set(noFile, "true")
	}
	os.Exit(m.Run())
}

// For is about one test alone.
func For(t testing.TB, checks string) {
	if isFlagGiven(name) {
		return
	}
	former := flag.Lookup(name).Value.String()
	set(name, checks)
	t.Cleanup(func() { set(name, former) })
}

// isFlagGiven reports whether the command line has a flag.
func isFlagGiven(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// set goes by the value: a flag that is set counts as given.
func set(name, value string) {
	if err := flag.Lookup(name).Value.Set(value); err != nil {
		panic(err)
	}
}
