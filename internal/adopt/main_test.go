package adopt_test

import (
	"flag"
	"os"
	"testing"
)

// Each case plans a machine, twice: fewer than usual are enough, unless more are asked
// for.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
