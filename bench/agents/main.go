// Command agents measures a server with many agents: over TLS, with keys of their own, each the agent that runs on hosts, whose host is in memory.
// The server is a process of its own, as are the agents, some thousands in each. See README.md for what it measures.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/bench/readme"
)

// options are those of the command line.
type options struct {
	agents     int
	perProcess int
	readers    int
	flapping   time.Duration
	pings      int
	dir        string
	records    string
	profiles   string
	readme     string
	skip       map[string]bool
	log        func(format string, values ...any)
}

// roleArgument is what this program is started with to be one of its parts.
const roleArgument = "role"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 1 && args[0] == roleArgument {
		return play(ctx, args[1], args[2:])
	}
	o := &options{skip: map[string]bool{}}
	flags := flag.NewFlagSet("agents", flag.ContinueOnError)
	flags.IntVar(&o.agents, "agents", 1000, "how many agents")
	flags.IntVar(&o.perProcess, "per-process", 1500, "how many of them are in one process: each has about eight files open, and some more while it connects")
	flags.IntVar(&o.readers, "readers", 0, "how many hosts read each other, of which 1 % flap; 0: as many as there are, 2000 at most")
	flags.DurationVar(&o.flapping, "flapping", 6*time.Minute, "how long they flap")
	flags.IntVar(&o.pings, "pings", 0, "how many hosts are pinged; 0: all")
	flags.StringVar(&o.dir, "dir", "", "a folder on a disk for the server; empty: a temporary one")
	flags.StringVar(&o.records, "records", "/dev/shm", "a folder in memory for the records of agents")
	flags.StringVar(&o.profiles, "profiles", "", "a folder for profiles of the server")
	flags.StringVar(&o.readme, "readme", "", "the file that gets the table")
	skip := flags.String("skip", "", "what is not measured: restart,ping,deploy,readers,lists")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*skip, ",") {
		o.skip[name] = name != ""
	}
	begun := time.Now()
	o.log = func(format string, values ...any) {
		fmt.Fprintf(os.Stderr, "%7.1f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, values...))
	}
	figures, err := measure(ctx, o)
	if err != nil {
		return err
	}
	text := table(figures)
	if o.readme != "" {
		if err := readme.Write(o.readme, "agents", text); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n%s", data, text)
	return nil
}

// play is one of the parts, until its input ends.
func play(ctx context.Context, role string, args []string) error {
	switch role {
	case "server":
		return playServer(ctx, args)
	case "agents":
		return playAgents(ctx, args)
	case "evaluate":
		return playEvaluate(ctx, args)
	}
	return fmt.Errorf("there is no part %q", role)
}
