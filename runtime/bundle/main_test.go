package bundle_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lowers the number of random bundles, each of which is many files on the
// disk.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
