package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
)

// crowd is the agents of one process.
type crowd struct {
	ctx     context.Context
	records string
	from    int
	hosts   []*host.Memory
	ends    []func() // of the agents that run
	flaps   int
	ended   atomic.Int64
	said    atomic.Int64
	wait    fault.Group
}

// maxSaid is how many messages of agents are shown: thousands say the same of one server.
const maxSaid = 20

// playAgents runs agents.
func playAgents(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("agents are given a folder, the number of the first, and of the one after the last")
	}
	from, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	to, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &crowd{ctx: ctx, records: args[0], from: from}
	for n := from; n < to; n++ {
		h, err := simulated.New(ctx, simulated.Machine{Name: hostName(n)})
		if err != nil {
			return err
		}
		c.hosts, c.ends = append(c.hosts, h), append(c.ends, nil)
	}
	err = serveCommands(len(c.hosts), c.answer)
	cancel()
	c.wait.Wait()
	return err
}

func (c *crowd) answer(words []string) (any, error) {
	switch {
	case len(words) == 1 && words[0] == "run":
		for n := range c.hosts {
			c.run(n)
		}
		return len(c.hosts), nil
	case len(words) == 2 && words[0] == "flap":
		count, err := strconv.Atoi(words[1])
		if err != nil {
			return nil, err
		}
		return count, c.flap(min(count, len(c.hosts)))
	}
	return nil, fmt.Errorf("there is no command %q", words)
}

// run runs an agent.
func (c *crowd) run(n int) {
	ctx, cancel := context.WithCancel(c.ctx)
	over := make(chan struct{})
	c.ends[n] = func() { cancel(); <-over }
	c.wait.Go(func() {
		defer close(over)
		name := hostName(c.from + n)
		err := daemon.Run(ctx, daemon.Options{StateDir: stateDir(c.records, c.from+n), Host: c.hosts[n], Registry: modules.Standard(), Version: "bench", Volatile: true,
			Log: func(text string) { c.say(name + ": " + text) }})
		if err != nil && ctx.Err() == nil {
			c.say(name + ": " + err.Error())
		}
		c.ended.Add(1)
	})
}

func (c *crowd) say(text string) {
	if strings.Contains(text, "the connection to the server:") { // it is ended on purpose
		return
	}
	if c.said.Add(1) <= maxSaid {
		fmt.Fprintln(os.Stderr, text)
	}
}

// flap has some agents start anew, on hosts that are called otherwise meanwhile: a fact of theirs has changed.
func (c *crowd) flap(count int) error {
	c.flaps++
	for n := range count {
		c.ends[n]()
		if err := simulated.WriteFile(c.ctx, c.hosts[n], "/etc/hostname", fmt.Sprintf("%s-%d\n", hostName(c.from+n), c.flaps), host.Meta{}); err != nil {
			return err
		}
		c.run(n)
	}
	return nil
}
