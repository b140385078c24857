// Tenet brings machines into a declared state and keeps them there.
package main

import (
	"os"

	"github.com/tenetcm/tenet/internal/cli"
)

func main() {
	cli.CollectLess()
	os.Exit(cli.Main(os.Args[1:], cli.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
	}))
}
