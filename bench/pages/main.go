// Command pages measures how long the pages of a server take to make with many hosts and runs in its store.
//
//	go run ./bench/pages -hosts 50000 -runs 1000000
//
// A demo gives some hosts that are real in every row of the store; their rows are written again for
// as many others, and a server is started with them. What is measured is a request over HTTPS, from
// its first byte to the last one of the answer, for who may read all and for who may read little.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// options are those of the command line.
type options struct {
	hosts, runs, times int
	dir, readme        string
	live               int
}

func main() {
	var o options
	flag.IntVar(&o.hosts, "hosts", 50_000, "so many hosts are in the store")
	flag.IntVar(&o.runs, "runs", 1_000_000, "and so many runs")
	flag.IntVar(&o.times, "times", 20, "each page is asked for so often")
	flag.StringVar(&o.dir, "dir", "", "the directory of the server: it is filled once, and kept (default: one that is removed)")
	flag.StringVar(&o.readme, "readme", "", "write the table into this file")
	flag.IntVar(&o.live, "live", 0, "in place of that, see for so many seconds each what a page that is open costs the server of a demo, in Debian's chromium")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// measure fills a store, and asks for pages.
func measure(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "tenet-pages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "tenet")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/tenet").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	if o.live > 0 {
		return watchLive(ctx, program, work, o.live)
	}
	if o.dir == "" {
		o.dir = filepath.Join(work, "server")
	}
	if _, err := os.Stat(o.dir); os.IsNotExist(err) {
		begin := time.Now()
		if err := webtest.MakeFilled(program, work, o.dir, o.hosts, o.runs); err != nil {
			return err
		}
		fmt.Printf("%d hosts and %d runs were written in %.0f s\n", o.hosts, o.runs, time.Since(begin).Seconds())
	}
	return askPages(ctx, program, work, o)
}
