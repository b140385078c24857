package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/api/client"
)

// forks is how many calls are under way at once.
const forks = 64

// ping asks hosts who they are, each over a connection of its own, as tenet ping does.
func (b *bench) ping() error {
	count := b.agents
	if b.pings > 0 {
		count = min(count, b.pings)
	}
	if err := b.profile("ping", 15*time.Second); err != nil {
		return err
	}
	begun := time.Now()
	err := each(count, forks, func(n int) error {
		m := &remote.Machine{Name: hostName(n), Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
			return b.client.Dial(ctx, hostName(n), o)
		}}
		_, err := m.Ping(b.ctx)
		return errors.Join(err, m.Close())
	})
	b.figures.Pinged, b.figures.PingAll = count, time.Since(begun).Seconds()
	b.log("%d are pinged in %.1f s", count, b.figures.PingAll)
	return err
}

// each calls a function for all numbers below one, several at a time.
func each(count, atOnce int, call func(n int) error) error {
	var wait fault.Group
	var mu sync.Mutex
	var errs []error
	next := 0
	for range min(atOnce, count) {
		wait.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= count {
					return
				}
				if err := call(n); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	if len(errs) > 3 {
		errs = append(errs[:3], fmt.Errorf("and %d more", len(errs)-3))
	}
	return errors.Join(errs...)
}

// site is one with a file on each of so many hosts.
func site(name string, hosts int, content string) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "site {\n  name = %q\n}\n\n", name)
	for n := range hosts {
		fmt.Fprintf(&text, "host %q {\n  executor = \"agent\"\n}\n", hostName(n))
	}
	fmt.Fprintf(&text, "\nstate \"it\" {\n  file \"one\" {\n    path    = \"/srv/%s\"\n    content = %s\n  }\n}\n", name, content)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	// A buffer takes everything.
	_ = w.WriteHeader(&tar.Header{Name: "site.hcl", Mode: 0o644, Size: int64(text.Len()), Typeflag: tar.TypeReg})
	_, _ = w.Write([]byte(text.String()))
	_ = w.Close()
	return archive.Bytes()
}

// bring deploys a site, and waits until it is done.
func (b *bench) bring(name string, hosts int, content string) error {
	r, err := b.client.Upload(b.ctx, name, site(name, hosts, content), "a measurement")
	if err != nil {
		return err
	}
	b.log("the site %s is uploaded", name)
	d, err := b.client.Deploy(b.ctx, client.DeployRequest{Site: name, Revision: r.Number, Message: "a measurement"})
	if err != nil {
		return err
	}
	shown := time.Now()
	for {
		list, err := client.Call[client.List[client.Deployment]](b.ctx, b.client, http.MethodGet, "/v1/deployments", url.Values{"site": {name}, "limit": {"1"}}, nil)
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("there is no deployment of %s", name)
		}
		phase, why := list.Items[0].Phase, ""
		if w := list.Items[0].Why; w != nil {
			why = w.Text
		}
		switch phase {
		case "done":
			return nil
		case "planned", "rolling":
		default:
			return fmt.Errorf("deployment %d is %s: %s", d.ID, phase, why)
		}
		if time.Since(shown) > 15*time.Second {
			shown = time.Now()
			now, _, err := b.server.memory()
			if err != nil {
				return err
			}
			b.log("the deployment is %s: %s; %.0f MB", phase, why, mega(now))
		}
		if err := b.wait(500 * time.Millisecond); err != nil {
			return err
		}
	}
}

// deploy brings one file to all.
func (b *bench) deploy() error {
	if err := b.profile("deploy", 30*time.Second); err != nil {
		return err
	}
	begun := time.Now()
	if err := b.bring("one", b.agents, `"Hello from ${fact.hostname}\n"`); err != nil {
		return err
	}
	b.figures.Deployed = time.Since(begun).Seconds()
	_, peak, err := b.server.memory()
	b.figures.DeployedPeak = mega(peak)
	b.log("one file is deployed to all in %.1f s; the server took at most %.0f MB", b.figures.Deployed, mega(peak))
	return err
}

// listings are the lists that are asked for, from any place in them.
func listings(agents int) map[string]func() (string, url.Values) {
	anywhere := func() string { return hostName(rand.N(agents)) }
	return map[string]func() (string, url.Values){
		"hosts":       func() (string, url.Values) { return "/v1/hosts", url.Values{"prefix": {anywhere()[:7]}} },
		"hosts, all":  func() (string, url.Values) { return "/v1/hosts", url.Values{"limit": {"100"}} },
		"host":        func() (string, url.Values) { return "/v1/hosts/" + anywhere(), nil },
		"status":      func() (string, url.Values) { return "/v1/hosts/" + anywhere() + "/status", nil },
		"runs":        func() (string, url.Values) { return "/v1/hosts/" + anywhere() + "/runs", nil },
		"deployments": func() (string, url.Values) { return "/v1/deployments", nil },
		"audit":       func() (string, url.Values) { return "/v1/audit", url.Values{"host": {anywhere()}} },
	}
}

// lists asks for lists, four at a time.
func (b *bench) lists() error {
	const rounds = 300
	var mu sync.Mutex
	var all []time.Duration
	b.figures.ListsBy = map[string]float64{}
	for name, question := range listings(b.agents) {
		var times []time.Duration
		err := each(rounds, 4, func(int) error {
			path, query := question()
			begun := time.Now()
			_, err := client.Call[any](b.ctx, b.client, http.MethodGet, path, query, nil)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(begun))
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.figures.ListsBy[name] = percentile(times, 99)
		all = append(all, times...)
	}
	b.figures.Lists, b.figures.ListP50, b.figures.ListP99 = len(all), percentile(all, 50), percentile(all, 99)
	b.log("lists: p50 %.1f ms, p99 %.1f ms: %v", 1000*b.figures.ListP50, 1000*b.figures.ListP99, b.figures.ListsBy)
	return nil
}

// readersFlap has hosts read each other, of which some flap.
func (b *bench) readersFlap() error {
	hosts := b.readers
	if hosts == 0 {
		hosts = min(b.agents, 2000)
	}
	hosts = min(hosts, b.perProcess, b.agents) // those that flap are in the first process
	if err := b.bring("each", hosts, `join("", [for h in hosts("*") : "${h.facts.hostname}\n"])`); err != nil {
		return err
	}
	b.log("%d hosts read each other: %d of them flap for %v", hosts, max(hosts/100, 1), b.flapping)
	if err := b.profile("readers", 30*time.Second); err != nil {
		return err
	}
	before, err := b.evaluations()
	if err != nil {
		return err
	}
	f := b.figures
	var first, last load
	if err := b.server.ask(&first, "load"); err != nil {
		return err
	}
	begun := time.Now()
	memory, _, err := b.server.memory()
	if err != nil {
		return err
	}
	f.FlappingStart, f.FlappingPeak = mega(memory), mega(memory)
	for time.Since(begun) < b.flapping {
		var count int
		if err := b.crowds[0].ask(&count, "flap", strconv.Itoa(max(hosts/100, 1))); err != nil {
			return err
		}
		if err := b.wait(min(10*time.Second, b.flapping/4)); err != nil {
			return err
		}
		now, _, err := b.server.memory()
		if err != nil {
			return err
		}
		f.FlappingPeak = max(f.FlappingPeak, mega(now))
	}
	if err := b.server.ask(&last, "load"); err != nil {
		return err
	}
	after, err := b.evaluations()
	f.Readers, f.Evaluations, f.FlappingFor = hosts, after-before, time.Since(begun).Seconds()
	f.FlappingCPU = (last.CPU - first.CPU) / f.FlappingFor
	b.log("%d evaluations of hosts in %.0f s, %.2f of a processor, from %.0f MB to at most %.0f MB", f.Evaluations, f.FlappingFor, f.FlappingCPU, f.FlappingStart, f.FlappingPeak)
	return err
}

// evaluations is how many evaluations of a host there were.
func (b *bench) evaluations() (sum int, err error) {
	data, err := os.ReadFile(filepath.Join(b.at.dir, "evaluations"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		count, err := strconv.Atoi(first)
		if err != nil {
			return 0, err
		}
		sum += count
	}
	return sum, nil
}
