package graph_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises the number of random sites from a hundred to a thousand. More are tried by
// .ci/run crash.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "1000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
