// Command api times what pages of a server ask of its API, with a store of many hosts and runs: as an administrator, and as people who may read a few hosts.
//
// What would take hours in the ways of the packages is written into the tables as these write it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/tenetcm/tenet/bench/readme"
)

func main() {
	var size sizes
	dir := flag.String("dir", "", "folder for the store, which is kept, and used again if it is there (default: one that is removed)")
	readme := flag.String("readme", "", "file with a place for the table")
	rounds := flag.Int("rounds", 15, "how often each operation is timed")
	only := flag.String("only", "", "time only operations whose path has this")
	profile := flag.String("profile", "", "file for a profile of the processor while it is timed")
	flag.IntVar(&size.hosts, "hosts", 50_000, "hosts")
	flag.IntVar(&size.runs, "runs", 1_000_000, "runs of all hosts")
	flag.IntVar(&size.lines, "lines", 1_000_000, "events of one run")
	flag.Parse()
	if err := run(context.Background(), options{*dir, *readme, *only, *profile, *rounds, size}); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// sizes says how much there is.
type sizes struct{ hosts, runs, lines int }

// options are those of the command line.
type options struct {
	dir, readme, only, profile string
	rounds                     int
	sizes
}

func run(ctx context.Context, o options) (err error) {
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tenet-api-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	begin := time.Now()
	w, err := open(ctx, dir, o.sizes)
	if err != nil {
		return err
	}
	defer w.close()
	fmt.Fprintf(os.Stderr, "the store is filled and opened after %s\n", time.Since(begin).Round(time.Second))
	if o.profile != "" {
		out, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer out.Close()
		if err := pprof.StartCPUProfile(out); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	list, err := w.measure(ctx, o.rounds, o.only)
	if err != nil {
		return err
	}
	text := table(o.sizes, list)
	fmt.Print(text)
	if o.readme == "" {
		return nil
	}
	return readme.Write(o.readme, "api", text)
}
