package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/tenetcm/tenet/internal/collection"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/evaluate"
)

// setup is where a server is, in words that a part is started with.
type setup struct {
	dir, listen, agents string
}

func (s setup) words() []string { return []string{s.dir, s.listen, s.agents} }

// config is that of the server.
func (s setup) config() (server.Config, error) {
	own, err := os.Executable()
	return server.Config{
		Dir: s.dir, Listen: s.listen, Agents: s.agents, Names: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}, Version: "bench",
		Evaluator: []string{own, roleArgument, "evaluate", filepath.Join(s.dir, "evaluations")}, Recovery: func(string) error { return nil },
		Failed: func(err error) { fmt.Fprintln(os.Stderr, "server:", diagText(err)) },
	}, err
}

// readiness is what a server says once it serves.
type readiness struct {
	URL       string       `json:"url"`
	Authority trust.Digest `json:"authority"`
}

// load is how a server is doing.
type load struct {
	Connected  int     `json:"connected"`
	Goroutines int     `json:"goroutines"`
	Heap       uint64  `json:"heap"`
	CPU        float64 `json:"cpu"` // seconds
}

// playServer runs a server.
func playServer(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("a server is given a folder and two addresses")
	}
	collector := collection.Start(collection.Server())
	c, err := setup{args[0], args[1], args[2]}.config()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fault.Go(func() { collector.Settle(ctx) })
	s, err := server.Open(ctx, c)
	if err != nil {
		return err
	}
	ready := make(chan server.Ready, 1)
	var wait fault.Group
	var served error
	wait.Go(func() { served = s.Serve(ctx, func(r server.Ready) { ready <- r }) })
	r := <-ready
	err = serveCommands(readiness{r.URL, r.Authority}, func(words []string) (any, error) { return answerFor(s, words) })
	cancel()
	wait.Wait()
	return errors.Join(err, served, s.Close())
}

func answerFor(s *server.Server, words []string) (any, error) {
	switch {
	case len(words) == 1 && words[0] == "load":
		return loadOf(s)
	case len(words) == 1 && words[0] == "free":
		debug.FreeOSMemory()
		return true, nil
	case len(words) == 3 && words[0] == "profile":
		seconds, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, err
		}
		return true, profile(words[1], time.Duration(seconds)*time.Second)
	}
	return nil, fmt.Errorf("there is no command %q", words)
}

func loadOf(s *server.Server) (*load, error) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	l := &load{Goroutines: runtime.NumGoroutine(), Heap: memory.HeapAlloc, CPU: processorTime()}
	for _, id := range s.Hosts.Select(func(access.Target) bool { return true }) {
		if s.Sessions.Status(id).Reachability.Connected {
			l.Connected++
		}
	}
	return l, nil
}

// profile writes what the processors and the memory are used for: NAME.cpu for a while, and NAME.heap.
func profile(name string, long time.Duration) error {
	heap, err := os.Create(name + ".heap")
	if err != nil {
		return err
	}
	if err := errors.Join(pprof.Lookup("heap").WriteTo(heap, 0), heap.Close()); err != nil {
		return err
	}
	cpu, err := os.Create(name + ".cpu")
	if err != nil {
		return err
	}
	pprof.StopCPUProfile() // of what was before
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return errors.Join(err, cpu.Close())
	}
	fault.Go(func() {
		time.Sleep(long)
		pprof.StopCPUProfile()
	})
	return nil
}

// playEvaluate answers one question of the server's, and notes for how many hosts.
func playEvaluate(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("an evaluation is given a file for its notes")
	}
	notes, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.Close()) }()
	out := &countingWriter{to: os.Stdout}
	err = evaluate.Serve(ctx, os.Stdin, out, os.Exit)
	_, noted := fmt.Fprintln(notes, out.results(), time.Now().UnixMilli())
	return errors.Join(err, noted)
}
