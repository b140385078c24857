// Command cmd cares for the lab: "clean" ends what crashed runs have left,
// "build" makes the base system.
//
//	go run ./internal/lab/cmd clean
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/internal/lab"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: go run ./internal/lab/cmd clean|build")
	}
	switch args[0] {
	case "clean":
		runs, err := lab.Clean()
		for _, name := range runs {
			fmt.Println("cleaned", name)
		}
		return err
	case "build":
		dir, err := lab.Build(context.Background())
		if err == nil {
			fmt.Println(dir)
		}
		return err
	}
	return fmt.Errorf("unknown command %q: clean or build", args[0])
}
