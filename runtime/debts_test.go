package runtime_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// past is a machine that is applied to again and again, and what the applies
// leave for each other. Its program log adds its argument to ran, and fails while
// there is a file /broken.
type past struct {
	*host.Memory
	ledger *journal.Ledger
	ran    []string
}

func newPast(t *testing.T) *past {
	p := &past{Memory: host.NewMemory(), ledger: &journal.Ledger{}}
	p.Handle("log", func(_ context.Context, c host.Command) (host.Result, error) {
		if _, err := p.Lstat("/broken"); err == nil {
			return host.Result{ExitCode: 1}, nil
		}
		p.ran = append(p.ran, c.Argv[1])
		return host.Result{}, nil
	})
	return p
}

func (p *past) carry(t *testing.T, how carryOut, run *states.StateRun) outcome {
	t.Helper()
	return p.carryWith(t, how, modules.Standard(), run)
}

func (p *past) carryWith(t *testing.T, how carryOut, registry *states.Registry, run *states.StateRun) outcome {
	t.Helper()
	p.ran = nil
	o := carry(t, how, run, runtime.Options{Host: p.Memory, Past: p.ledger, Origin: "/site", Registry: registry})
	if o.Left != nil {
		p.ledger = o.Left
	}
	return o
}

func (p *past) apply(t *testing.T, site string) outcome {
	t.Helper()
	return p.carry(t, runtime.Apply, compile(t, modules.Standard(), site).Run)
}

func (p *past) plan(t *testing.T, site string) outcome {
	t.Helper()
	return p.carry(t, runtime.Plan, compile(t, modules.Standard(), site).Run)
}

func (p *past) owes(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, d := range p.ledger.Debts {
		got = append(got, d.Handler+" by "+d.Notifier+" "+string(d.Why))
	}
	if !slices.Equal(got, want) {
		t.Errorf("owed: %q, want %q", got, want)
	}
}

func (p *past) didRun(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(p.ran, want) {
		t.Errorf("ran %q, want %q", p.ran, want)
	}
}

const (
	conf = `file "/conf" {
		content = "1"
		notify  = [state.h]
	}
	`
	handler = `state "h" {
		lazy = true
		command "h" {
			argv = ["log", "h"]
		}
	}
	`
	blocking = `command "between" {
		argv    = ["log", "between"]
		creates = "/between"
	}
	state "h" {
		lazy    = true
		require = [command.between]
		command "h" {
			argv = ["log", "h"]
		}
	}
	`
)

// owing applies a site whose handler could not run: its notifier has changed, and
// something that it requires failed.
func owing(t *testing.T) *past {
	t.Helper()
	p := newPast(t)
	write(t, p, "/broken", "")
	if o := p.apply(t, conf+blocking); !o.Failed {
		t.Fatal("nothing failed")
	}
	p.didRun(t)
	p.owes(t, "state.h by file[\"/conf\"] changed")
	if err := p.Remove("/broken"); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOwedHandlerRunsThoughItsNotifierIsAsItWas(t *testing.T) {
	p := owing(t)
	for range 2 { // a plan pays nothing
		o := p.plan(t, conf+handler)
		o.want(t, map[string]string{"file[\"/conf\"]": "no change"})
		if row := o.row("state.h.command.h"); !strings.HasPrefix(row, "execute (owed since run") || !strings.Contains(row, "/conf\"] changed") {
			t.Errorf("the plan says %q", row)
		}
	}
	o := p.apply(t, conf+handler)
	p.didRun(t, "h")
	if row := o.row("state.h.command.h"); !strings.HasPrefix(row, "changed execute (owed since run") {
		t.Errorf("the apply says %q", row)
	}
	p.owes(t)
	p.apply(t, conf+handler)
	p.didRun(t)
}

func TestOwedHandlerRunsThoughNothingNotifiesItNow(t *testing.T) {
	for name, site := range map[string]string{
		"no notify": "file \"/conf\" {\n content = \"1\"\n}\n" + handler,
		"no file":   handler,
	} {
		t.Run(name, func(t *testing.T) {
			p := owing(t)
			o := p.plan(t, site)
			if row := o.row("state.h.command.h"); !strings.HasPrefix(row, "execute (owed since run") {
				t.Errorf("the plan says %q", row)
			}
			p.apply(t, site)
			p.didRun(t, "h")
			p.owes(t)
		})
	}
}

// A row that is not certain says that the handler is owed, too.
func TestOwedAndMaybe(t *testing.T) {
	p := owing(t)
	o := p.plan(t, conf+strings.Replace(blocking, `argv = ["log", "h"]`, `shell = "log h"
			unless {
				exists = "/between"
			}`, 1))
	row := o.row("state.h.command.h")
	if !strings.HasPrefix(row, "execute maybe (owed since run") || !strings.HasSuffix(row, "; after command.between, whose effects cannot be foreseen)") {
		t.Errorf("the plan says %q", row)
	}
}

func TestOwedHandlerThatFailsStaysOwed(t *testing.T) {
	p := newPast(t)
	write(t, p, "/broken", "")
	for range 2 {
		p.apply(t, conf+handler)
		p.owes(t, "state.h by file[\"/conf\"] changed")
	}
	if err := p.Remove("/broken"); err != nil {
		t.Fatal(err)
	}
	p.apply(t, conf+handler)
	p.didRun(t, "h")
	p.owes(t)
}

func TestDebtIsDroppedWithItsHandler(t *testing.T) {
	p := owing(t)
	site := "file \"/conf\" {\n content = \"1\"\n}\n"
	for _, how := range []carryOut{runtime.Plan, runtime.Apply} {
		o := p.carry(t, how, compile(t, modules.Standard(), site).Run)
		dropped := slices.IndexFunc(o.events, func(ev states.Event) bool { return ev.Type == states.EventDropped })
		if dropped < 0 || o.events[dropped].Address != "state.h" || !strings.Contains(o.events[dropped].Reason, "no longer declared") {
			t.Errorf("no line about it: %+v", o.events)
		}
	}
	p.owes(t)
}

func TestDebtMovesWithItsHandler(t *testing.T) {
	p := owing(t)
	renamed := strings.ReplaceAll(conf+handler, "state.h]", "state.new]")
	renamed = strings.Replace(renamed, `state "h"`, `state "new"`, 1)
	o := p.apply(t, renamed+"moved {\n from = state.h\n to = state.new\n}\n")
	if row := o.row("state.new.command.h"); !strings.Contains(row, "owed since run") {
		t.Errorf("the apply says %q", row)
	}
	p.didRun(t, "h")
	p.owes(t)
}

// A part that was begun and not seen to end is known by its new name, and stays
// known while it is left out.
func TestUnknownPartMovesAndWaits(t *testing.T) {
	const site = "command \"x\" {\n argv = [\"log\", \"x\"]\n}\nfile \"/other\" {}\n"
	p := newPast(t)
	p.ledger.Unknown = []states.Begun{{Site: "/site", Address: "command.x", ID: "1", Type: "command", Key: "x", Run: "r", Action: states.Execute}}
	check := func(o outcome, event, address, reason string, left ...string) {
		t.Helper()
		for _, ev := range o.events {
			if ev.Run == "r" && (ev.Type != event || ev.Address != address || !strings.Contains(ev.Reason, reason)) {
				t.Errorf("it says %s of %s: %s", ev.Type, ev.Address, ev.Reason)
			}
		}
		var got []string
		for _, b := range p.ledger.Unknown {
			got = append(got, b.Address)
		}
		if !slices.Equal(got, left) {
			t.Errorf("there is left %q, and was to be %q", got, left)
		}
	}
	result := compile(t, modules.Standard(), site)
	for _, by := range []graph.Selection{{Exclude: []string{"command.x"}}, {Targets: []string{"file[\"/other\"]"}}} {
		run, diags := result.Select(by)
		if run == nil {
			t.Fatal(diags)
		}
		check(p.carry(t, runtime.Apply, run), states.EventUnknown, "command.x", "left out now", "command.x")
	}
	moved := strings.ReplaceAll(site, "command \"x\"", "command \"y\"") + "moved {\n from = command.x\n to = command.y\n}\n"
	run, diags := compile(t, modules.Standard(), moved).Select(graph.Selection{Exclude: []string{"command.y"}})
	if run == nil {
		t.Fatal(diags)
	}
	check(p.carry(t, runtime.Apply, run), states.EventUnknown, "command.y", "left out now", "command.y")
	p.ledger.Unknown[0].Address = "command.x"
	check(p.apply(t, moved), states.EventUnknown, "command.y", "tried again")
	p.didRun(t, "x")
	p.ledger.Unknown = []states.Begun{{Site: "/site", Address: "command.x", ID: "1", Type: "command", Key: "x", Run: "r"}}
	write(t, p, "/made", "")
	o := p.apply(t, strings.Replace(moved, "argv = ", "creates = \"/made\"\n argv = ", 1))
	if row := o.row("command.y"); !strings.Contains(row, "run r began it, and it is done") {
		t.Errorf("its module says %q", row)
	}
	p.didRun(t)
	p.ledger.Unknown = []states.Begun{{Site: "/site", Address: "command.x", ID: "1", Type: "command", Key: "x", Run: "r"}}
	check(p.apply(t, "file \"/other\" {}\n"), states.EventDropped, "command.x", "no longer declared")
}

// A handler that runs only because it is owed notifies others in its turn: one
// that is idle, and one that has run in this run already.
func TestOwedHandlerNotifiesOthers(t *testing.T) {
	const others = `
		state "h" {
			lazy   = true
			notify = [state.idle, state.busy]
			command "h" {
				argv = ["log", "h"]
			}
		}
		state "idle" {
			lazy = true
			command "i" {
				argv = ["log", "idle"]
			}
		}
		state "busy" {
			lazy = true
			command "b" {
				argv = ["log", "busy"]
			}
		}
		file "/other" {
			content = "1"
			notify  = [state.busy]
		}
	`
	p := owing(t)
	p.apply(t, others)
	p.didRun(t, "busy", "h", "idle", "busy")
	p.owes(t)
}

func TestExcludedHandlerIsOwed(t *testing.T) {
	p := newPast(t)
	result := compile(t, modules.Standard(), conf+handler)
	run, diags := result.Select(graph.Selection{Exclude: []string{"state.h"}})
	if run == nil {
		t.Fatal(diags)
	}
	p.carry(t, runtime.Apply, run)
	p.didRun(t)
	p.owes(t, "state.h by file[\"/conf\"] changed")
	p.carry(t, runtime.Apply, run) // stays excluded, and owed
	p.didRun(t)
	p.owes(t, "state.h by file[\"/conf\"] changed")
	p.apply(t, conf+handler)
	p.didRun(t, "h")
	p.owes(t)
}

// What failed owes the handlers of failures, until they have run.
func TestFailureIsOwed(t *testing.T) {
	p := newPast(t)
	write(t, p, "/broken", "")
	site := `command "x" {
		argv           = ["log", "x"]
		creates        = "/x"
		notify_failure = [state.f]
	}
	state "f" {
		lazy = true
		command "f" {
			argv = ["log", "f"]
		}
	}
	`
	p.apply(t, site)
	p.owes(t, "state.f by command.x failed")
	if err := p.Remove("/broken"); err != nil {
		t.Fatal(err)
	}
	p.apply(t, site)
	if !slices.Contains(p.ran, "f") {
		t.Errorf("ran %q", p.ran)
	}
	p.owes(t)
}

// A block's handlers are owed what its members change; another site's debts are
// nobody else's business.
func TestBlockOwesAndSitesAreApart(t *testing.T) {
	p := newPast(t)
	write(t, p, "/broken", "")
	p.apply(t, `block "b" {
		notify = [state.h]
		file "/conf" {
			content = "1"
		}
	}
	`+blocking)
	p.owes(t, `state.h by file["/conf"] changed`)
	if err := p.Remove("/broken"); err != nil {
		t.Fatal(err)
	}
	p.carry(t, func(ctx context.Context, run *states.StateRun, o runtime.Options) (*runtime.Result, error) {
		o.Origin = "/other"
		return runtime.Apply(ctx, run, o)
	}, compile(t, modules.Standard(), handler).Run)
	p.didRun(t)
	p.owes(t, `state.h by file["/conf"] changed`)
}

// What is stopped between a change and its handler leaves the debt.
func TestInterruptedRunOwes(t *testing.T) {
	p := newPast(t)
	ctx, stop := context.WithCancel(t.Context())
	run := compile(t, modules.Standard(), conf+handler).Run
	result, err := runtime.Apply(ctx, run, runtime.Options{Host: p.Memory, Registry: modules.Standard(), Origin: "/site",
		Events: func(ev states.Event) {
			if ev.Type == states.EventPart {
				stop()
			}
		}})
	if err != nil || !result.Interrupted {
		t.Fatalf("%+v, %v", result, err)
	}
	p.ledger = result.Left
	p.owes(t, `state.h by file["/conf"] changed`)
	p.apply(t, conf+handler)
	p.didRun(t, "h")
	p.owes(t)
	if info, err := p.Lstat("/conf"); err != nil || info.Mode != fs.FileMode(0o644) {
		t.Errorf("%+v, %v", info, err)
	}
}
