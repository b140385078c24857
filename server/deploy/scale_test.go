package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
)

// BenchmarkDeploy brings a revision to many hosts, each of which takes it up at once, where evaluations cost nothing:
//
//	go test ./server/deploy -run - -bench Deploy -benchtime 1x -timeout 1h
func BenchmarkDeploy(b *testing.B) {
	for _, n := range []int{1000, 8000, 50000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFleet(b, n)
			f.finish(f.deploy("former").ID)
			rounds := 0
			f.engine.since()
			used := processorTime(b)
			b.ResetTimer()
			for i := range b.N {
				rounds += f.finish(f.deploy(fmt.Sprint("new ", i)).ID)
			}
			b.ReportMetric((processorTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(rounds)/float64(b.N), "rounds/op")
			c := f.engine.since()
			b.ReportMetric(float64(c.statements)/float64(b.N), "statements/op")
			b.ReportMetric(float64(c.rows)/float64(b.N), "rows/op")
		})
	}
}

// BenchmarkRound has rounds go on after that: idle ones, and such before which a host has told something.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{1000, 8000, 50000} {
		f := newFleet(b, n)
		f.finish(f.deploy("one").ID)
		round := func(b *testing.B) {
			_, err := f.Round(b.Context())
			f.must(err)
		}
		round(b)
		b.Run(fmt.Sprint("idle/", n), func(b *testing.B) {
			used := processorTime(b)
			for range b.N {
				round(b)
			}
			b.ReportMetric((processorTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
		})
		b.Run(fmt.Sprint("told/", n), func(b *testing.B) {
			used := processorTime(b)
			for i := range b.N {
				loop := f.loops[f.hosts[i%n].ID]
				loop.Next = time.Unix(int64(i), 0).UTC()
				f.loops[f.hosts[i%n].ID] = loop
				f.Told(f.hosts[i%n].ID, []*control.Item{{Loop: &loop}})
				round(b)
			}
			b.ReportMetric((processorTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// BenchmarkShow asks what became of a deployment, as sources do, and for a revision, as its page does.
func BenchmarkShow(b *testing.B) {
	for _, n := range []int{1000, 50000} {
		f := newFleet(b, n)
		d := f.deploy("one")
		f.finish(d.ID)
		for name, ask := range map[string]func() error{
			"outcome":  func() error { _, err := f.Outcome(b.Context(), d.ID); return err },
			"revision": func() error { _, err := f.ShowRevision(b.Context(), f.ann, "shop", d.Number); return err },
		} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				used := processorTime(b)
				for range b.N {
					f.must(ask())
				}
				b.ReportMetric((processorTime(b)-used).Seconds()/float64(b.N), "cpu-s/op")
			})
		}
	}
}

// BenchmarkAct has people do what is about all hosts, and tells for how long a transaction holds up others that write, at most.
func BenchmarkAct(b *testing.B) {
	for _, n := range []int{1000, 50000} {
		f := newFleet(b, n)
		f.finish(f.deploy("one").ID)
		f.finish(f.deploy("two").ID)
		var d *Deployment
		for _, act := range []struct {
			name string
			do   func() error
		}{
			{"create", func() (err error) { d, err = f.Create(b.Context(), f.ann, Request{Site: "shop"}); return err }},
			{"begin", func() error { _, err := f.Round(b.Context()); return err }},
			{"pause", func() error { _, err := f.Pause(b.Context(), f.ann, d.ID, ""); return err }},
			{"abort", func() error { _, err := f.Abort(b.Context(), f.ann, d.ID, ""); return err }},
			{"rollback", func() error {
				_, err := f.Rollback(b.Context(), f.ann, Return{Site: "shop", Hosts: "*", To: 0, Why: ""})
				return err
			}},
			{"unpin", func() error { _, err := f.Unpin(b.Context(), f.ann, "shop", "*", ""); return err }},
		} {
			b.Run(fmt.Sprint(act.name, "/", n), func(b *testing.B) {
				used := processorTime(b)
				f.engine.since()
				f.must(act.do())
				f.engine.mu.Lock()
				held := f.engine.held
				f.engine.mu.Unlock()
				b.ReportMetric((processorTime(b) - used).Seconds(), "cpu-s/op")
				b.ReportMetric(held.Seconds(), "held-s")
			})
		}
	}
}

// processorTime is what this process has used: on a machine that has much else to do it says more than a clock.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A round in which nothing has happened reads no row of any host, however many there are, nor does one before which hosts have told what no deployment waits for.
func TestIdleRound(t *testing.T) {
	costs := map[string]count{}
	for _, n := range []int{10, 300} {
		f := newFleet(t, n)
		f.finish(f.deploy("one").ID)
		round := func(what string) {
			f.engine.since()
			again, err := f.Round(t.Context())
			f.must(err)
			c := f.engine.since()
			if before, known := costs[what]; again || c.rows > 5 || known && c != before {
				t.Errorf("%d hosts, %s: again %v, %+v, and before %+v", n, what, again, c, costs[what])
			}
			costs[what] = c
		}
		for range 2 {
			_, err := f.Round(t.Context())
			f.must(err)
		}
		round("nothing has happened")
		f.Told(f.hosts[3].ID, []*control.Item{{Run: &control.Run{Site: "shop"}}})
		round("a host has told of a run")
		loop := f.loops[f.hosts[3].ID]
		loop.Next = f.now
		f.loops[f.hosts[3].ID] = loop
		f.Told(f.hosts[3].ID, []*control.Item{{Loop: &loop}})
		round("a host has told when it looks again")
		if len(f.given) == 0 || f.Service.kept["shop"] == nil {
			t.Fatal("nothing was deployed")
		}
		f.evaluated = 0
		f.own[f.hosts[3].ID] = map[string]json.RawMessage{"fact0": json.RawMessage(`"another one"`)}
		f.Told(f.hosts[3].ID, []*control.Item{{Facts: &control.Facts{}}})
		f.now = f.now.Add(Between)
		_, err := f.Round(t.Context())
		f.must(err)
		if f.evaluated != 1 {
			t.Errorf("%d hosts: one has told other facts, and %d are evaluated", n, f.evaluated)
		}
	}
}

// What a deployment reads and writes, and what it evaluates, grows as hosts do, and not as their square.
func TestDeployCost(t *testing.T) {
	few, many := 200, 1000
	costs := map[int]count{}
	for _, n := range []int{few, many} {
		f := newFleet(t, n)
		f.finish(f.deploy("former").ID)
		f.engine.since()
		f.evaluated = 0
		f.finish(f.deploy("new").ID)
		costs[n] = f.engine.since()
		if f.evaluated != n {
			t.Errorf("%d hosts are evaluated %d times", n, f.evaluated)
		}
	}
	most := func(of int) int { return of * many / few * 11 / 10 }
	if a, b := costs[few], costs[many]; b.rows > most(a.rows) || b.statements > most(a.statements) {
		t.Errorf("%d hosts: %+v, %d hosts: %+v", few, a, many, b)
	}
}

// No transaction of a deployment writes for more hosts than is said, but for the states of all of them, of which many are written at once.
func TestWritesAreBounded(t *testing.T) {
	f := newFleet(t, 3*targetsAtOnce)
	d := f.deploy("one")
	f.engine.since()
	f.finish(d.ID)
	if most := f.engine.longest(); most > 10*targetsAtOnce {
		t.Errorf("a transaction has %d statements", most)
	}
}

// Nor does one of a rollback, or of its end.
func TestReturnsAreBounded(t *testing.T) {
	const n, piece = 200, 50
	f := newFleet(t, n)
	f.targetsAtOnce = piece
	f.finish(f.deploy("one").ID)
	f.finish(f.deploy("two").ID)
	bounded := func(what string, most int, do func() ([]Pin, error)) {
		t.Helper()
		f.engine.since()
		if pins, err := do(); err != nil || len(pins) != n || f.engine.longest() > most {
			t.Errorf("%s: %d hosts, with %d statements in a transaction: %v", what, len(pins), f.engine.longest(), err)
		}
	}
	bounded("rollback", 16*piece, func() ([]Pin, error) {
		return f.Rollback(t.Context(), f.ann, Return{Site: "shop", Hosts: "*"})
	})
	bounded("unpin", 8*piece, func() ([]Pin, error) { return f.Unpin(t.Context(), f.ann, "shop", "*", "") })
}

// A process that evaluates gets the facts of the hosts that it evaluates for, and of others those that the site reads.
func TestFactsOfEvaluations(t *testing.T) {
	const n = 250
	for name, c := range map[string]struct {
		reads func(host string) []string
		most  int
	}{
		"none":      {nil, 2 * atOnce},
		"the first": {func(string) []string { return []string{fleetName(0)} }, 2*atOnce + 1},
		"a few":     {func(string) []string { return []string{fleetName(0), fleetName(120), fleetName(240)} }, 2*atOnce + 3},
		"all": {func(string) (all []string) {
			for i := range n {
				all = append(all, fleetName(i))
			}
			return all
		}, n},
	} {
		f := newFleet(t, n)
		f.reads = c.reads
		d := f.deploy("one")
		f.finish(d.ID)
		if most := slices.Max(f.given); most > c.most {
			t.Errorf("%s: a process got the facts of %d hosts", name, most)
		}
		if len(f.given) > 1+2*(n/atOnce+1) {
			t.Errorf("%s: %d questions", name, len(f.given))
		}
		if got := f.loops[f.hosts[n-1].ID].Position.N; got == 0 {
			t.Errorf("%s: not all have got what was deployed", name)
		}
	}
}

// More hosts are evaluated at a time as long as that is quick and gives little: else each process reads a large site for few hosts, or holds too much.
func TestNextSize(t *testing.T) {
	large := []*Prepared{{Bundle: trust.Content{Size: smallSum / 2}}, {Bundle: trust.Content{Size: smallSum/2 + 1}}}
	for _, c := range []struct {
		size int
		took time.Duration
		done []*Prepared
		want int
	}{{atOnce, 0, nil, 2 * atOnce}, {mostAtOnce, 0, nil, mostAtOnce}, {4 * atOnce, quickPart + 1, nil, atOnce}, {4 * atOnce, 0, large, atOnce}} {
		if got := nextSize(c.size, c.took, c.done); got != c.want {
			t.Errorf("after %d hosts in %s there are %d, and not %d", c.size, c.took, got, c.want)
		}
	}
}
