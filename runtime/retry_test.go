package runtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// Pauses grow as the option says, up to a half shorter or longer each, and never
// beyond the longest. The same part waits as it did, another one differently.
func TestPausesBetweenAttempts(t *testing.T) {
	waits := func(name string) (pauses []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m, last := machine(), time.Time{}
			m.Handle("never", func(context.Context, host.Command) (host.Result, error) {
				if !last.IsZero() {
					pauses = append(pauses, time.Since(last))
				}
				last = time.Now()
				return host.Result{ExitCode: 7}, nil
			})
			got := apply(t, m, `command "`+name+`" {
			  argv  = ["never"]
			  retry = { attempts = 8, delay = "10s", backoff = 2, max_delay = "1m" }
			}
			`)
			if got.Counts.Retried != 7 || got.Counts.Failed != 1 {
				t.Errorf("counts %+v", got.Counts)
			}
			if ev := got.parts["command."+name]; ev.Attempt != 8 || ev.Outcome != states.Failed {
				t.Errorf("the end says %+v", ev)
			}
		})
		return pauses
	}
	first, again, other := waits("a"), waits("a"), waits("b")
	for i, d := range []time.Duration{10, 20, 40, 60, 60, 60, 60} {
		d *= time.Second
		if p := first[i]; p < d/2 || p > min(d*3/2, time.Minute) {
			t.Errorf("pause %d is %v", i, p)
		}
	}
	if !slices.Equal(first, again) || slices.Equal(first, other) || first[0] == 10*time.Second {
		t.Errorf("pauses %v, again %v, of another part %v", first, again, other)
	}
}

func TestPauseEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		started := time.Now()
		time.AfterFunc(time.Second, stop)
		run := compile(t, modules.Standard(), `command "c" {
		  argv  = ["bad"]
		  retry = { attempts = 2, delay = "1h" }
		}
		`).Run
		got, err := runtime.Apply(ctx, run, runtime.Options{Host: machine(), Registry: modules.Standard()})
		if err != nil || !got.Interrupted || time.Since(started) != time.Second {
			t.Errorf("%+v, %v after %v", got, err, time.Since(started))
		}
	})
}

// uncertain is an act that nobody sees end, but whose module can tell.
type uncertain struct {
	Name string `state:"name,key" doc:"A name."`
}

func withUncertain(calls *int, says func() (states.Outcome, error)) *states.Registry {
	return registryWith(states.Define(states.Type[uncertain]{
		Name: "uncertain", Doc: "An act that nobody sees end.", NoAbsent: "It acts.",
		Act: func(ctx context.Context, h host.Host, want uncertain) (bool, uncertain, error) {
			if _, err := h.Run(ctx, host.Command{Argv: []string{"good"}}); err != nil {
				return false, want, err
			}
			*calls++
			return false, want, states.ErrUnknown
		},
		Recover: func(_ context.Context, _ host.Host, _ uncertain, begun states.Begun) (states.Outcome, error) {
			if begun.Type != "uncertain" || begun.Key != "u" || begun.Address != "uncertain.u" {
				return "", errors.New("it is asked about another part")
			}
			return says()
		},
	}))
}

func TestRecover(t *testing.T) {
	const site = `uncertain "u" {
	  retry  = { attempts = 3 }
	  notify = [state.h]
	}
	state "h" {
	  lazy = true
	  file "/h" {}
	}
	`
	past := &journal.Ledger{Unknown: []states.Begun{{Site: "/site", Address: "uncertain.u", Type: "uncertain", Key: "u", Run: "00000001-aaaaaa"}}}
	other := &journal.Ledger{Unknown: []states.Begun{{Site: "/other", Address: "uncertain.u", Type: "uncertain", Key: "u", Run: "00000001-aaaaaa"}}}
	changed := func() (states.Outcome, error) { return states.Changed, nil }
	unknown := func() (states.Outcome, error) { return states.Unknown, nil }
	asked := 0
	for name, c := range map[string]struct {
		past  *journal.Ledger
		says  func() (states.Outcome, error)
		calls int
		row   string
	}{
		"done":        {nil, changed, 1, "changed execute"},
		"never known": {nil, unknown, 3, "unknown execute"},
		"known later": {nil, func() (states.Outcome, error) {
			asked++
			return []states.Outcome{states.Unknown, states.Changed}[asked-1], nil
		}, 2, "changed execute"},
		"cannot be told":        {nil, func() (states.Outcome, error) { return "", errors.New("no") }, 1, "unknown execute"},
		"begun before, done":    {past, changed, 0, "changed execute (run 00000001-aaaaaa began it, and it is done)"},
		"begun before, unknown": {past, unknown, 3, "unknown execute"},
		"begun elsewhere":       {other, changed, 1, "changed execute"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			registry := withUncertain(&calls, c.says)
			got := carry(t, runtime.Apply, compile(t, registry, site).Run,
				runtime.Options{Host: machine(), Registry: registry, Past: c.past, Origin: "/site"})
			if calls != c.calls || got.row("uncertain.u") != c.row {
				t.Errorf("%d calls, %q", calls, got.row("uncertain.u"))
			}
			if got.Counts.Retried != max(0, calls-1) {
				t.Errorf("counts %+v", got.Counts)
			}
			if got.row(`state.h.file["/h"]`) != "changed create" {
				t.Errorf("the handler is %q", got.row(`state.h.file["/h"]`))
			}
			if left := len(got.Left.Of("/site").Unknown); (left == 0) != (got.parts["uncertain.u"].Outcome == states.Changed) {
				t.Errorf("%d parts are unknown", left)
			}
			plan := carry(t, runtime.Plan, compile(t, registry, site).Run,
				runtime.Options{Host: machine(), Registry: registry, Past: c.past, Origin: "/site"})
			if plan.row("uncertain.u") != "execute" {
				t.Errorf("the plan says %q", plan.row("uncertain.u"))
			}
		})
	}
}

// A command tells by what it creates or removes.
func TestCommandRecovers(t *testing.T) {
	for made, want := range map[string]string{"/made": "changed execute (run 1 began it, and it is done)", "/other": "changed execute"} {
		m, ran := machine(), false
		write(t, m, made, "")
		m.Handle("make", func(ctx context.Context, _ host.Command) (host.Result, error) {
			ran = true
			return host.Result{}, m.WriteFile(ctx, "/made", host.Text(""), host.Meta{})
		})
		past := &journal.Ledger{Unknown: []states.Begun{{Site: "/site", Address: "command.c", Type: "command", Run: "1"}}}
		site := "command \"c\" {\n argv = [\"make\"]\n creates = \"/made\"\n}\n"
		got := carry(t, runtime.Apply, compile(t, modules.Standard(), site).Run, runtime.Options{Host: m, Past: past, Origin: "/site"})
		if got.row("command.c") != want || ran == (made == "/made") {
			t.Errorf("with %s it is %q, run: %v", made, got.row("command.c"), ran)
		}
	}
}

// What was begun and is not done now is told as it is: an act may be declared still, and left out by its when.
func TestBegunAndNotDoneNow(t *testing.T) {
	for _, c := range []struct{ site, typ, address, key, want string }{
		{"command \"c\" {\n argv = [\"make\"]\n when = false\n}\n", "command", "command.c", "", "run 1 began it, and nobody saw it end; it is left out now"},
		{"state \"s\" {\n file \"/x\" {}\n command \"c\" {\n argv = [\"make\"]\n when = false\n }\n}\n", "command", "state.s.command.c", "", "run 1 began it, and nobody saw it end; it is no longer declared, or left out by its when"},
		{"", "command", "command.c", "", "run 1 began it, and nobody saw it end; it is no longer declared, or left out by its when"},
		{"", "file", `file["/a"]`, "/a", "run 1 began it, and nobody saw it end; it is no longer declared"},
		{"file \"/a\" {\n when = false\n}\n", "file", `file["/a"]`, "/a", "run 1 began it, and nobody saw it end; it is left out now"},
	} {
		past := &journal.Ledger{Unknown: []states.Begun{{Site: "/site", Address: c.address, Type: c.typ, Key: c.key, Run: "1"}}}
		var got []string
		out := carry(t, runtime.Apply, compile(t, modules.Standard(), c.site).Run, runtime.Options{Host: machine(), Past: past, Origin: "/site"})
		for _, ev := range out.events {
			if ev.Address == c.address && ev.Reason != "" {
				got = append(got, ev.Reason)
			}
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: it says %q, want %q", c.site, got, c.want)
		}
	}
}
