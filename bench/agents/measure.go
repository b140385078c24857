package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/server/api/client"
)

// figures are what was measured. Times are seconds.
type figures struct {
	Agents     int     `json:"agents"`
	Processors int     `json:"processors"`
	Load       float64 `json:"load"` // of the machine before
	At         string  `json:"at"`

	Connected     float64            `json:"connected"` // until all are
	ConnectedCPU  float64            `json:"connected_cpu"`
	PerAgent      float64            `json:"per_agent"` // KB of the server's memory, at rest
	PeakPerAgent  float64            `json:"peak_per_agent"`
	AgentMemory   float64            `json:"agent_memory"` // KB of an agent's process
	Idle          float64            `json:"idle"`         // of a processor, at rest
	Back          float64            `json:"back,omitempty"`
	BackHalf      float64            `json:"back_half,omitempty"`
	Pinged        int                `json:"pinged,omitempty"`
	PingAll       float64            `json:"ping_all,omitempty"`
	Deployed      float64            `json:"deployed,omitempty"`
	DeployedPeak  float64            `json:"deployed_peak,omitempty"` // MB
	Readers       int                `json:"readers,omitempty"`
	Evaluations   int                `json:"evaluations,omitempty"` // of hosts, while some flapped
	FlappingFor   float64            `json:"flapping_for,omitempty"`
	FlappingCPU   float64            `json:"flapping_cpu,omitempty"`   // of a processor
	FlappingPeak  float64            `json:"flapping_peak,omitempty"`  // MB
	FlappingStart float64            `json:"flapping_start,omitempty"` // MB
	Lists         int                `json:"lists,omitempty"`
	ListP50       float64            `json:"list_p50,omitempty"`
	ListP99       float64            `json:"list_p99,omitempty"`
	ListsBy       map[string]float64 `json:"lists_by,omitempty"` // p99 of each
}

// run is what goes on while figures are taken.
type bench struct {
	*options
	ctx     context.Context
	at      setup
	figures *figures
	server  *child
	crowds  []*child
	client  *client.Client
	base    int64 // the server's memory without hosts
}

// measure takes all figures.
func measure(ctx context.Context, o *options) (_ *figures, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{options: o, ctx: ctx, figures: &figures{Agents: o.agents, Processors: runtime.GOMAXPROCS(0), Load: machineLoad(), At: time.Now().UTC().Format(time.DateTime)}}
	dir, err := os.MkdirTemp(o.dir, "tenet-bench-")
	if err != nil {
		return nil, err
	}
	b.records, err = os.MkdirTemp(o.records, "tenet-bench-")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, b.end(), os.RemoveAll(dir), os.RemoveAll(b.records)) }()
	if err := b.prepare(dir); err != nil {
		return nil, err
	}
	steps := []struct {
		name string
		do   func() error
	}{{"", b.connect}, {"restart", b.restart}, {"ping", b.ping}, {"deploy", b.deploy}, {"lists", b.lists}, {"readers", b.readersFlap}}
	for _, s := range steps {
		if b.skip[s.name] {
			continue
		}
		if err := s.do(); err != nil {
			return b.figures, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return b.figures, nil
}

// end ends all parts.
func (b *bench) end() error {
	var errs []error
	for _, c := range b.crowds {
		errs = append(errs, c.kill())
	}
	if b.server != nil {
		errs = append(errs, b.server.kill())
	}
	return errors.Join(errs...)
}

// prepare makes a server, looks at its memory without hosts, and enrols hosts.
func (b *bench) prepare(dir string) (err error) {
	b.at = setup{dir: filepath.Join(dir, "server")}
	for _, to := range []*string{&b.at.listen, &b.at.agents} {
		if *to, err = freeAddress("127.0.0.1"); err != nil {
			return err
		}
	}
	_, port := splitAddress(b.at.agents)
	b.at.agents = "0.0.0.0:" + port
	if err := b.serve(); err != nil {
		return err
	}
	var ok bool
	if err := b.server.ask(&ok, "free"); err != nil { // what the first password has taken
		return err
	}
	if b.base, _, err = b.server.memory(); err != nil {
		return err
	}
	if err := b.server.stop(); err != nil {
		return err
	}
	b.server = nil
	b.log("the server takes %.0f MB without hosts; %d are enrolled", mega(b.base), b.agents)
	return enrol(b.ctx, b.at, b.records, b.agents)
}

// serve starts the server.
func (b *bench) serve() (err error) {
	var r readiness
	if b.server, err = start(b.ctx, &r, "server", b.at.words()...); err != nil {
		return err
	}
	if b.client != nil {
		return nil // the session goes on
	}
	password, err := os.ReadFile(filepath.Join(b.at.dir, "admin.txt"))
	if err != nil {
		return err
	}
	b.client, err = client.Login(b.ctx, filepath.Join(b.at.dir, "login"), client.Credentials{URL: r.URL, Authority: r.Authority, Name: "admin", Password: strings.TrimSpace(string(password))})
	return err
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// connect starts the agents.
func (b *bench) connect() error {
	if err := b.serve(); err != nil {
		return err
	}
	for from := 0; from < b.agents; from += b.perProcess {
		var hosts int
		c, err := start(b.ctx, &hosts, "agents", b.records, strconv.Itoa(from), strconv.Itoa(min(from+b.perProcess, b.agents)))
		if err != nil {
			return err
		}
		b.crowds = append(b.crowds, c)
	}
	b.log("the agents start")
	if err := b.profile("connect", 30*time.Second); err != nil {
		return err
	}
	begun := time.Now()
	for _, c := range b.crowds {
		var hosts int
		if err := c.ask(&hosts, "run"); err != nil {
			return err
		}
	}
	l, err := b.awaitAll(begun, nil)
	if err != nil {
		return err
	}
	b.figures.Connected, b.figures.ConnectedCPU = time.Since(begun).Seconds(), l.CPU
	b.log("%d are connected", b.agents)
	return b.rest()
}

// awaitAll waits until all agents are connected.
func (b *bench) awaitAll(begun time.Time, half *float64) (*load, error) {
	shown := time.Now()
	for {
		var l load
		if err := b.server.ask(&l, "load"); err != nil {
			return nil, err
		}
		if half != nil && *half == 0 && 2*l.Connected >= b.agents {
			*half = time.Since(begun).Seconds()
		}
		if l.Connected == b.agents {
			return &l, nil
		}
		if time.Since(shown) > 10*time.Second {
			shown = time.Now()
			b.log("%d are connected", l.Connected)
		}
		if err := b.wait(200 * time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// wait waits for a while.
func (b *bench) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	case <-timer.C:
		return nil
	}
}

// atRest is how long the server is left alone before its memory is looked at, up to this.
const atRest = 2 * time.Minute

// rest looks at the server's memory once little happens, and at what it does then.
func (b *bench) rest() error {
	long := min(atRest, time.Duration(b.agents)*20*time.Millisecond)
	if err := b.wait(long / 2); err != nil {
		return err
	}
	var before, after load
	if err := b.server.ask(&before, "load"); err != nil {
		return err
	}
	begun := time.Now()
	if err := b.wait(long / 2); err != nil {
		return err
	}
	if err := b.server.ask(&after, "load"); err != nil {
		return err
	}
	now, peak, err := b.server.memory()
	if err != nil {
		return err
	}
	var agents int64
	for _, c := range b.crowds {
		one, _, err := c.memory()
		if err != nil {
			return err
		}
		agents += one
	}
	if err := b.profile("rest", time.Second); err != nil {
		return err
	}
	f := b.figures
	f.PerAgent, f.PeakPerAgent = float64(now-b.base)/1e3/float64(b.agents), float64(peak-b.base)/1e3/float64(b.agents)
	f.AgentMemory = float64(agents) / 1e3 / float64(b.agents)
	f.Idle = (after.CPU - before.CPU) / time.Since(begun).Seconds()
	b.log("the server takes %.0f MB (%.1f KB for each agent), at most %.0f MB; heap %d MB, %d goroutines, %.2f of a processor; an agent %.0f KB", mega(now), f.PerAgent, mega(peak), after.Heap/1e6, after.Goroutines, f.Idle, f.AgentMemory)
	return nil
}

// restart kills the server, and starts it again.
func (b *bench) restart() error {
	begun := time.Now()
	if err := b.server.kill(); err != nil {
		return err
	}
	if err := b.serve(); err != nil {
		return err
	}
	b.log("the server serves again after %.1f s", time.Since(begun).Seconds())
	if err := b.profile("restart", 30*time.Second); err != nil {
		return err
	}
	if _, err := b.awaitAll(begun, &b.figures.BackHalf); err != nil {
		return err
	}
	b.figures.Back = time.Since(begun).Seconds()
	b.log("all are back after %.1f s", b.figures.Back)
	return nil
}

// profile has the server write a profile.
func (b *bench) profile(name string, long time.Duration) error {
	if b.profiles == "" {
		return nil
	}
	var ok bool
	return b.server.ask(&ok, "profile", filepath.Join(b.profiles, name), strconv.Itoa(int(long.Seconds())))
}

// percentile gives the value below which so many of a hundred are.
func percentile(times []time.Duration, of int) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)*of/100, len(times)-1)].Seconds()
}

// machineLoad is the load of the machine over the last minute.
func machineLoad() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, _ := strconv.ParseFloat(first, 64) // only for the text
	return load
}
