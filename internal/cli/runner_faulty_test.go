package cli_test

import (
	"context"
	"os"
	"path"

	"github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// faultyRunner is a runner that panics as it writes some files: at once, or in a goroutine that
// nobody waits for.
func faultyRunner() {
	standard := modules.Standard()
	var list []*states.Module
	for _, name := range standard.Names() {
		m := *standard.Lookup(name)
		if write := m.Write; name == "file" {
			m.Write = func(ctx context.Context, h host.Host, have, want any) error {
				switch file, _ := m.Encode(want)["path"].(string); path.Base(file) {
				case "panics":
					panic("no file")
				case "ends":
					fault.Go(func() { panic("no process") })
					select {}
				}
				return write(ctx, h, have, want)
			}
		}
		list = append(list, &m)
	}
	os.Exit(runner.Main(os.Args[2:], runner.Process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		Registry: states.NewRegistry(list...), Version: version.String(), Arguments: []string{"runner"},
	}))
}
