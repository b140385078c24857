// Tenet brings machines into a declared state and keeps them there.
package main

import (
	"os"
	_ "time/tzdata" // hosts need not have time zones of their own

	"github.com/tenetcm/tenet/internal/cli"
	"github.com/tenetcm/tenet/internal/collection"
	"github.com/tenetcm/tenet/internal/services"
)

func main() {
	collector := collection.Start(collection.Command())
	os.Exit(cli.Main(os.Args[1:], cli.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Services: services.Services{Collector: collector},
	}))
}
