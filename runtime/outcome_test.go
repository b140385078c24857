package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// machine has the programs good, which succeeds, and bad, which fails.
func machine() *host.Memory {
	m := host.NewMemory()
	m.Handle("good", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	m.Handle("bad", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{ExitCode: 1, Stderr: []byte("no\n")}, nil
	})
	return m
}

// lost is an act whose outcome nobody knows.
type lost struct {
	Name string `state:"name,key" doc:"A name."`
}

// registryWith has these modules besides the standard ones.
func registryWith(list ...*states.Module) *states.Registry {
	standard := modules.Standard()
	for _, name := range standard.Names() {
		list = append(list, standard.Lookup(name))
	}
	return states.NewRegistry(list...)
}

func withLost() *states.Registry {
	return registryWith(states.Define(states.Type[lost]{
		Name: "lost", Doc: "An act whose outcome nobody knows.", NoAbsent: "It acts.",
		Act: func(ctx context.Context, h host.Host, want lost) (bool, lost, error) {
			if _, err := h.Run(ctx, host.Command{Argv: []string{"good"}}); err != nil {
				return false, want, err
			}
			return false, want, states.ErrUnknown
		},
	}))
}

// Every cell of the table of outcomes: what becomes of that which requires X,
// of the handler that X notifies, and of that which it notifies of failure.
func TestTruthTable(t *testing.T) {
	const (
		options = "notify = [state.h]\n notify_failure = [state.f]\n"
		same    = `file "/same" { 
			content = "same"
		}
		`
		change = `file "/new" {
			content = "new"
		}
		`
		fails = `command "bad" {
			argv = ["bad"]
		}
		`
	)
	state := func(extra, parts string) string {
		return "state \"x\" {\n" + options + extra + "\n" + parts + "}\n"
	}
	for _, c := range []struct{ name, site, requires, change, failure string }{
		{"unchanged", state("", same), "changed", "idle", "idle"},
		{"skipped", state("only_if {\n exists = \"/nowhere\"\n}\n", change), "changed", "idle", "idle"},
		{"idle", state("lazy = true\nlisten = [state.quiet]\n", change) + "state \"quiet\" {\n" + same + "}\n", "changed", "idle", "idle"},
		{"left out", state("when = false\n", change), "changed", "no end", "no end"},
		{"changed", state("", change), "changed", "changed", "idle"},
		{"failed", state("", fails), "blocked (by state.x.command.bad)", "idle", "changed"},
		{"failed, a part changed", state("", change+fails), "blocked (by state.x.command.bad)", "changed", "changed"},
		{"unknown", state("", "lost \"l\" {}\n"), "blocked (by state.x.lost.l)", "changed", "changed"},
		{"blocked", "command \"before\" {\n argv = [\"bad\"]\n}\n" + state("require = [command.before]\n", change),
			"blocked (by command.before)", "idle", "idle"},
		{"ignored", state("ignore_failure = true\n", fails), "changed", "idle", "changed"},
		{"ignored, a part changed", state("ignore_failure = true\n", change+fails), "changed", "changed", "changed"},
		{"rescued", "state \"inner\" {\n" + fails + "}\nblock \"x\" {\n" + options + "members = [state.inner]\nrescue = [state.save]\n}\nstate \"save\" {\n" + same + "}\n",
			"changed", "idle", "changed"},
		{"rescued, a part changed", "state \"inner\" {\n" + change + fails + "}\nblock \"x\" {\n" + options + "members = [state.inner]\nrescue = [state.save]\n}\nstate \"save\" {\n" + same + "}\n",
			"changed", "changed", "changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := "state.x"
			switch {
			case strings.Contains(c.site, `block "x"`):
				x = "block.x"
			case c.name == "idle": // requiring x itself would request it
				x = "state.quiet"
			}
			site := c.site + `
			state "y" {
			  require = [` + x + `]
			  file "/y" {}
			}
			state "h" {
			  lazy = true
			  file "/h" {}
			}
			state "f" {
			  lazy = true
			  file "/f" {}
			}
			`
			m := machine()
			write(t, m, "/same", "same")
			registry := withLost()
			got := carry(t, runtime.Apply, compile(t, registry, site).Run, runtime.Options{Host: m, Registry: registry})
			name := func(want string) string {
				if want == "changed" {
					return "changed create"
				}
				return want
			}
			got.want(t, map[string]string{
				`state.y.file["/y"]`: name(c.requires),
				`state.h.file["/h"]`: name(c.change),
				`state.f.file["/f"]`: name(c.failure),
			})
		})
	}
}

func TestUnknownIsTriedThreeTimes(t *testing.T) {
	registry := withLost()
	m, calls := machine(), 0
	m.Handle("good", func(context.Context, host.Command) (host.Result, error) {
		calls++
		return host.Result{}, nil
	})
	got := carry(t, runtime.Apply, compile(t, registry, "lost \"l\" {}\n").Run, runtime.Options{Host: m, Registry: registry})
	got.want(t, map[string]string{"lost.l": "unknown execute"})
	if calls != 3 || !got.Failed {
		t.Errorf("%d calls, failed %v", calls, got.Failed)
	}
}

func TestBlocks(t *testing.T) {
	const site = `
	block "b" {
	  recovered = RECOVERED
	  members   = [state.a, state.c]
	  ordered   = true
	  rescue    = [state.r]
	  always    = [state.l]
	}
	state "a" {
	  command "do" {
	    argv = ["PROGRAM"]
	  }
	}
	state "c" {
	  file "/c" {}
	}
	state "r" {
	  file "/r" {}
	}
	state "l" {
	  file "/l" {}
	}
	`
	for _, c := range []struct {
		program, recovered string
		failed             bool
		block              states.Outcome
		rows               map[string]string
	}{
		{"good", "false", false, states.Changed, map[string]string{
			`state.c.file["/c"]`: "changed create", `state.r.file["/r"]`: "idle", `state.l.file["/l"]`: "changed create"}},
		{"bad", "false", true, states.Rescued, map[string]string{
			`state.c.file["/c"]`: "blocked (by state.a.command.do)", `state.r.file["/r"]`: "changed create", `state.l.file["/l"]`: "changed create"}},
		{"bad", "true", false, states.Rescued, map[string]string{
			`state.c.file["/c"]`: "blocked (by state.a.command.do)", `state.r.file["/r"]`: "changed create"}},
	} {
		text := strings.NewReplacer("PROGRAM", c.program, "RECOVERED", c.recovered).Replace(site)
		got := apply(t, machine(), text)
		got.want(t, c.rows)
		if got.Failed != c.failed {
			t.Errorf("%s, recovered %s: failed is %v", c.program, c.recovered, got.Failed)
		}
		if outcome := got.ended["block.b"].Outcome; outcome != c.block {
			t.Errorf("%s: the block ended %s, not %s", c.program, outcome, c.block)
		}
	}
}

func TestRetry(t *testing.T) {
	m, calls := machine(), 0
	m.Handle("flaky", func(context.Context, host.Command) (host.Result, error) {
		if calls++; calls < 3 {
			return host.Result{ExitCode: 7}, nil
		}
		return host.Result{}, nil
	})
	got := apply(t, m, `
	command "c" {
	  argv  = ["flaky"]
	  retry = { attempts = 3, delay = "1ms", backoff = 2, max_delay = "2ms" }
	}
	`)
	got.want(t, map[string]string{"command.c": "changed execute"})
	retries := 0
	for _, ev := range got.events {
		if ev.Type == states.EventRetry {
			retries++
			if ev.Attempt != retries || ev.Error == nil || ev.Address != "command.c" {
				t.Errorf("retry %+v", ev)
			}
		}
	}
	if calls != 3 || retries != 2 {
		t.Errorf("%d calls, %d retries", calls, retries)
	}
}

func TestCancelLeavesTheRestPending(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := machine()
	m.Handle("stop", func(ctx context.Context, _ host.Command) (host.Result, error) {
		cancel(errors.New("Ctrl-C"))
		<-ctx.Done()
		return host.Result{}, context.Cause(ctx)
	})
	result := compile(t, modules.Standard(), `
	state "s" {
	  file "/before" {}
	  command "stop" {
	    argv = ["stop"]
	  }
	  file "/after" {}
	}
	file "/last" {
	  require = [state.s]
	}
	`)
	got, err := runtime.Apply(ctx, result.Run, runtime.Options{Host: m, Registry: modules.Standard()})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Interrupted || !got.Failed {
		t.Errorf("interrupted %v, failed %v", got.Interrupted, got.Failed)
	}
	for i, want := range []string{"present", "error", "pending", "pending"} {
		if row := got.Report.Parts[i]; row.State != want {
			t.Errorf("%s is %s, not %s", row.Address, row.State, want)
		}
	}
	if got.Counts.Unknown != 1 {
		t.Errorf("counts %+v", got.Counts)
	}
	if _, err := m.Lstat("/last"); err == nil {
		t.Error("what follows was done")
	}
}
