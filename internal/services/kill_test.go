package services

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/open"
)

var (
	kills = flag.Int("kills", 0, "how often processes are killed during deployments; 0: a few times")
	seed  = flag.Uint64("seed", 0, "of these kills; 0: a new one")
)

// The server and agents are killed at any time while one version after the other is deployed. Each deployment ends well, nothing is done twice
// but what an agent was killed in the midst of, what is stored of a host's stream never falls, and each target has its entry in the audit.
func TestKilledDeployments(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "", 3, "127.0.0.1")
	f.survives(filepath.Join(f.serverDir(0), "store"), cmp.Or(*kills, 2), nil)
}

// survives kills processes, n in all, and looks at what comes of it. The victims are the server, the agents, and more.
func (f *farm) survives(storeName string, n int, more []func()) {
	f.Helper()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	f.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	e := &evidence{farm: f, name: storeName, stored: map[string]uint64{}}
	begun, deployments, killed := time.Now(), 0, map[string]int{}
	for done := 0; done < n; {
		id := f.deploy()
		deployments++
		for range 1 + random.IntN(4) {
			time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
			switch victim := random.IntN(2 + len(f.hosts) + len(more)); {
			case victim < 2:
				f.servers[0].end()
				f.servers[0].start()
				killed["server"]++
			case victim < 2+len(f.hosts):
				h := f.hosts[victim-2]
				h.end()
				h.killed++
				h.start()
				killed["agents"]++
			default:
				more[victim-2-len(f.hosts)]()
				killed["others"]++
			}
			done++
			e.look(false)
		}
		f.settle(e, id)
		if f.Failed() {
			break
		}
	}
	f.Logf("%d deployments in %s, killed: %v", deployments, time.Since(begun).Round(time.Second), killed)
	if _, err := f.client.VerifyAudit(f.Context(), nil); err != nil {
		f.Error(err)
	}
}

// settle waits until a deployment is done, and looks at what has come of it.
func (f *farm) settle(e *evidence, id int64) {
	f.Helper()
	f.done(id)
	e.look(true)
	for _, h := range f.hosts {
		f.check(h)
	}
}

// done waits until a deployment is, on all hosts.
func (f *farm) done(id int64) {
	f.Helper()
	f.eventually(func(ctx context.Context) error {
		d, err := f.client.Deployment(ctx, id)
		if err != nil {
			return err
		}
		ready := 0
		for _, m := range d.Members {
			if m.State == "ready" {
				ready++
			}
			if m.State == "failed" {
				f.Fatalf("%s has failed: %+v", m.Name, m.Why)
			}
		}
		if d.Phase != "done" || ready != len(f.hosts) {
			return fmt.Errorf("deployment %d stands as %+v", id, d)
		}
		return nil
	})
}

// check looks at what was done on a host.
func (f *farm) check(h *farmHost) {
	f.Helper()
	read := func(name string) []string {
		data, err := os.ReadFile(filepath.Join(h.root, name))
		if err != nil {
			f.Error(err)
		}
		return strings.Fields(string(data))
	}
	version := fmt.Sprint(f.version)
	if got := read("conf"); !slices.Equal(got, []string{version}) {
		f.Errorf("%s has %q, want %s", h.name, got, version)
	}
	loads := read("loads")
	if loads[len(loads)-1] != version {
		f.Errorf("%s has loaded %q last, want %s: a notification was lost", h.name, loads[len(loads)-1], version)
	}
	steps := read("steps." + version)
	for _, step := range []string{"a", "b", "c", "d"} {
		if n := count(steps, step); n < 1 || n > 1+h.killed {
			f.Errorf("%s has done step %s %d times, and its agent was killed %d times", h.name, step, n, h.killed)
		}
	}
	if n := count(loads, version); n < 1 || n > 1+h.killed {
		f.Errorf("%s has loaded %d times, and its agent was killed %d times", h.name, n, h.killed)
	}
}

func count(list []string, what string) (n int) {
	for _, one := range list {
		if one == what {
			n++
		}
	}
	return n
}

// evidence is what the store has told so far.
type evidence struct {
	*farm
	name   string
	engine store.Engine
	stored map[string]uint64 // by host and stream
}

// look reads the store beside the server. It may be away; not so where it must be there.
func (e *evidence) look(must bool) {
	e.Helper()
	err := e.read()
	if must {
		eventually(e, func() error {
			if err != nil {
				err = e.read()
			}
			return err
		})
		e.audited()
	}
}

func (e *evidence) read() (err error) {
	if e.engine, err = open.Engine(e.Context(), e.name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.engine.Close()) }()
	return e.engine.Snapshot(e.Context(), func(q store.Querier) error {
		return q.Query(e.Context(), `SELECT host, streams FROM sessions_hosts`, nil, func(row store.Row) error {
			var host string
			var data []byte
			if err := row.Scan(&host, &data); err != nil {
				return err
			}
			var streams []struct {
				ID     string
				Stored uint64
			}
			if err := json.Unmarshal(data, &streams); err != nil {
				return err
			}
			for _, s := range streams {
				if key := host + s.ID; s.Stored < e.stored[key] {
					e.Errorf("stored of %s falls from %d to %d", key, e.stored[key], s.Stored)
				} else {
					e.stored[key] = s.Stored
				}
			}
			if len(streams) > 1 {
				e.Errorf("the host %s has begun %d streams", host, len(streams))
			}
			return nil
		})
	})
}

// audited wants an entry for each position of a target, and no other.
func (e *evidence) audited() {
	e.Helper()
	entries, positions := map[string][]string{}, map[string]string{}
	e.eventually(func(ctx context.Context) error {
		clear(entries)
		for one, err := range e.client.Audit(ctx, client.AuditFilter{Action: "target.assign"}) {
			if err != nil {
				return err
			}
			entries[one.Host] = append(entries[one.Host], one.Detail["position"])
		}
		for _, h := range e.hosts {
			type answer struct {
				ID    string
				Sites map[string]struct {
					Delivery struct{ Target struct{ Epoch, N int } }
				}
			}
			a, err := client.Call[answer](ctx, e.client, "GET", "/v1/hosts/"+h.name+"/status", nil, nil)
			if err != nil {
				return err
			}
			at := a.Sites["farm"].Delivery.Target
			positions[a.ID] = fmt.Sprintf("%d.%d", at.Epoch, at.N)
		}
		return nil
	})
	for _, host := range slices.Sorted(maps.Keys(positions)) {
		list := entries[host]
		if len(list) == 0 || list[0] != positions[host] {
			e.Errorf("the target of %s is %s, and the newest entry of the audit is of %q", host, positions[host], list)
		}
		slices.Sort(list)
		if n := len(slices.Compact(list)); n != len(entries[host]) {
			e.Errorf("the targets of %s have %d entries of %d positions", host, len(entries[host]), n)
		}
	}
}
