// Package often says how many cases the random tests of a package try, unless the command
// line says how many: rapid's hundred are too few where a case costs nothing, and too many
// where it costs much.
package often

import (
	"flag"
	"os"
	"testing"
)

const name = "rapid.checks"

// Main is a TestMain: it runs the tests with so many cases for each property.
func Main(m *testing.M, checks string) {
	flag.Parse()
	if !given() {
		set(checks)
	}
	os.Exit(m.Run())
}

// For is about one test alone.
func For(t testing.TB, checks string) {
	if given() {
		return
	}
	former := flag.Lookup(name).Value.String()
	set(checks)
	t.Cleanup(func() { set(former) })
}

// given reports whether the command line says how many.
func given() bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// set goes by the value: a flag that is set counts as given.
func set(checks string) {
	if err := flag.Lookup(name).Value.Set(checks); err != nil {
		panic(err)
	}
}
