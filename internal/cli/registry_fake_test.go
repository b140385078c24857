package cli_test

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenetcm/tenet/packages/oci/registrytest"
)

// startRegistry starts a registry for a script, whose host and port are in $REGISTRY. With NAME and PASSWORD it lets nobody else do anything.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	options := registrytest.Options{NoReferrers: true}
	switch {
	case neg || len(args) != 0 && len(args) != 2:
		ts.Fatalf("usage: registry [NAME PASSWORD]")
	case len(args) == 2:
		options.User, options.Password = args[0], args[1]
	}
	ts.Setenv("REGISTRY", registrytest.New(deferrer{ts}, options).Host)
}

type deferrer struct{ *testscript.TestScript }

// Cleanup has something done at the end of the script.
func (d deferrer) Cleanup(f func()) { d.Defer(f) }
