package runtime_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// broken is the module of a part that panics in the function that it names.
type broken struct {
	Name string  `state:"name,key" doc:"A name."`
	In   string  `state:"in,in" doc:"Where it panics."`
	Text *string `state:"text,sensitive" doc:"A value."`
}

// brokenAct is the same of a module that acts.
type brokenAct struct {
	Name string `state:"name,key" doc:"A name."`
	In   string `state:"in,in" doc:"Where it panics."`
}

// panicking are the standard modules and those that panic.
func panicking() *states.Registry {
	at := func(want broken, where string) {
		if strings.Contains(want.In, where) {
			panic("no " + where + " of " + *want.Text)
		}
	}
	read := func(h host.Host, want broken) (*broken, error) {
		if _, err := h.Lstat("/" + want.Name); err != nil {
			return nil, nil
		}
		return &want, nil
	}
	made := states.Type[broken]{
		Name: "broken", Doc: "A test.",
		Complete: func(_ context.Context, _ host.Host, want *broken) error { at(*want, "complete"); return nil },
		Read: func(_ context.Context, h host.Host, want broken) (*broken, error) {
			at(want, "read")
			return read(h, want)
		},
		Extra: func(_, want broken) []states.Change { at(want, "compare"); return nil },
		Write: func(ctx context.Context, h host.Host, _ *broken, want broken) error {
			at(want, "early")
			err := h.WriteFile(ctx, "/"+want.Name, host.Text(""), host.Meta{})
			at(want, "write")
			return err
		},
		Remove: func(_ context.Context, h host.Host, have broken) error {
			at(have, "remove")
			return h.Remove("/" + have.Name)
		},
	}
	many := made
	many.Name = "many"
	many.Batch = func(ctx context.Context, h host.Host, items []states.ItemOf[broken]) []error {
		_ = made.Write(ctx, h, nil, *items[0].Want)
		panic("no batch")
	}
	return registryWith(states.Define(made), states.Define(many), states.Define(states.Type[brokenAct]{
		Name: "broken_act", Doc: "A test.", NoAbsent: "It acts.",
		Act: func(ctx context.Context, h host.Host, want brokenAct) (bool, brokenAct, error) {
			if want.In == "plan" {
				panic("no plan")
			}
			_, err := h.Run(ctx, host.Command{Argv: []string{"log", want.Name}})
			if err == nil {
				panic("no act")
			}
			return false, want, err
		},
	}))
}

// isFault wants the event of a part to tell of a fault, without its stack.
func isFault(t *testing.T, o outcome, address, what string) {
	t.Helper()
	for _, ev := range o.events {
		if ev.Type != states.EventPart || ev.Address != address {
			continue
		}
		if ev.Outcome != states.Failed || ev.Error == nil || ev.Error.Code != "fault" || !strings.HasSuffix(ev.Error.Message, what) ||
			!regexp.MustCompile(`^please report it to the maintainers of tenet \(where it happened is in \S+\)$`).MatchString(ev.Error.Hint) {
			t.Errorf("%s: %s %+v", address, ev.Outcome, ev.Error)
		}
		return
	}
	t.Errorf("nothing is told of %s", address)
}

const aroundFault = `
file "/after" { require = [PART] }
file "/other" {}
state "h" {
  lazy = true
  file "/h" {}
}
`

// A panic of a module is that part's failure, in a plan as in an apply: the others go on, what
// requires it is blocked, and what it may have changed is told to its handler. What it was
// called with is hidden where it is secret.
func TestFaultOfAModule(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, c := range []struct{ where, handler string }{
		{"complete", "idle"}, {"read", "idle"}, {"compare", "idle"}, {"early", "idle"}, {"write", "changed create"}, {"remove", "idle"},
	} {
		t.Run(c.where, func(t *testing.T) {
			h, absent := host.NewMemory(), ""
			if c.where == "remove" {
				absent = "ensure = \"absent\""
			}
			if c.where == "compare" || c.where == "remove" {
				write(t, h, "/p", "")
			}
			run := compile(t, panicking(), fmt.Sprintf(`broken "p" {
				in     = %q
				text   = "secret"
				notify = [state.h]
				%s
			}`, c.where, absent)+strings.ReplaceAll(aroundFault, "PART", "broken.p")).Run
			what := ": no " + c.where + " of " + journal.Masked
			o := carry(t, runtime.Plan, run, runtime.Options{Host: h, Registry: panicking()})
			isFault(t, o, "broken.p", what)
			o = carry(t, runtime.Apply, run, runtime.Options{Host: h, Registry: panicking(), Parallel: 2})
			isFault(t, o, "broken.p", what)
			if !o.Failed || o.Interrupted {
				t.Errorf("%+v", o.Counts)
			}
			o.want(t, map[string]string{
				`file["/after"]`: "blocked (by broken.p)", `file["/other"]`: "changed create", `state.h.file["/h"]`: c.handler,
			})
		})
	}
}

// What of a batch was done by then is seen.
func TestFaultOfABatch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	run := compile(t, panicking(), `
	state "all" {
	  many "p" { text = "" }
	  many "q" { text = "" }
	}
	file "/other" {}
	`).Run
	h := host.NewMemory()
	o := carry(t, runtime.Apply, run, runtime.Options{Host: h, Registry: panicking()})
	isFault(t, o, "state.all.many.p", ": no batch")
	isFault(t, o, "state.all.many.q", ": no batch")
	o.want(t, map[string]string{`file["/other"]`: "changed create"})
}

// An act that panics may have done anything: its handler runs. A handler that panics stays owed.
func TestFaultOfAnAct(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := newPast(t)
	apply := func(site string) outcome {
		return p.carryWith(t, runtime.Apply, panicking(), compile(t, panicking(), site).Run)
	}
	o := apply(`broken_act "p" {
	  in     = "act"
	  notify = [state.h]
	}` + strings.ReplaceAll(aroundFault, "PART", "broken_act.p"))
	isFault(t, o, "broken_act.p", ": no act")
	p.didRun(t, "p")
	o.want(t, map[string]string{`file["/after"]`: "blocked (by broken_act.p)", `file["/other"]`: "changed create", `state.h.file["/h"]`: "changed create"})

	const handled = `file "/conf" {
	  content = "1"
	  notify  = [state.h]
	}
	state "h" {
	  lazy = true
	  broken_act "h" { in = "act" }
	}`
	o = apply(handled)
	isFault(t, o, "state.h.broken_act.h", ": no act")
	p.owes(t, "state.h by file[\"/conf\"] changed")
	o = apply(handled)
	isFault(t, o, "state.h.broken_act.h", ": no act")
	p.owes(t, "state.h by file[\"/conf\"] changed")

	o = p.carryWith(t, runtime.Plan, panicking(), compile(t, panicking(), `broken_act "p" { in = "plan" }`).Run)
	isFault(t, o, "broken_act.p", ": no plan")
}

// A guard that panics lets nothing through, of several that wait for its answer neither.
func TestFaultOfAGuard(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const site = `
	block "all" {
	  members = [file["/1"], file["/2"], file["/3"]]
	  only_if { command = ["panics"] }
	}
	file "/1" {}
	file "/2" {}
	file "/3" {}
	file "/4" {
	  only_if { command = ["panics"] }
	}
	file "/other" {}
	`
	h := host.NewMemory()
	h.Handle("panics", func(context.Context, host.Command) (host.Result, error) { panic("no program") })
	o := apply(t, h, site)
	for i := range 4 {
		isFault(t, o, fmt.Sprintf("file[\"/%d\"]", i+1), ": no program")
	}
	o.want(t, map[string]string{`file["/other"]`: "changed create"})
}

// unlooked is a host that panics where it looks at /panics.
type unlooked struct{ host.Host }

func (h unlooked) Lstat(path string) (host.Info, error) {
	if path == "/panics" {
		panic("no look")
	}
	return h.Host.Lstat(path)
}

// A plan shows the panic of a guard also where another one likely skips the part before.
func TestFaultOfAGuardInAPlan(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const site = `
	command "before" {
	  argv = ["before"]
	}
	file "/guarded" {
	  require = [command.before]
	  only_if { exists = "/nothing" }
	  unless { exists = "/panics" }
	}
	`
	o := plan(t, host.NewMemory(), site)
	o.want(t, map[string]string{`file["/guarded"]`: "skipped maybe (skipped as things are, only_if: /nothing is missing; after command.before, whose effects cannot be foreseen)"})
	isFault(t, plan(t, unlooked{host.NewMemory()}, site), `file["/guarded"]`, ": no look")
}

// A panic outside of any part stops the run: its error tells, and nothing more is begun.
func TestFaultOfTheEngine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var site strings.Builder
	for i := range 40 {
		fmt.Fprintf(&site, "file \"/%d\" {}\n", i)
	}
	site.WriteString(`state "many" {
	  parallel = true
	  file "/a" {}
	  file "/b" { require = [self.file["/a"]] }
	}`)
	run := compile(t, modules.Standard(), site.String()).Run
	for _, at := range []string{"file[\"/3\"]", "state.many.file[\"/a\"]"} {
		h := host.NewMemory()
		o := runtime.Options{Host: h, Registry: modules.Standard(), Parallel: 4}
		var told sync.Map
		o.Events = func(ev states.Event) {
			if ev.Type == states.EventPart && ev.Address == at {
				panic("no renderer")
			}
			told.Store(ev.Address, ev.Outcome)
		}
		_, err := runtime.Apply(t.Context(), run, o)
		if err == nil || fault.In(err) == nil || !strings.Contains(err.Error(), "the run was stopped: this is a fault of tenet itself, not of what it was given: a panic with a value of type string; ") {
			t.Errorf("%s: %v", at, err)
		}
		if _, again := told.Load("state.many.file[\"/b\"]"); again && strings.HasPrefix(at, "state.many") {
			t.Error("what requires it was begun")
		}
	}
}

// A part that such a panic cuts off is interrupted: the fault is not its own.
func TestFaultOfTheEngineInterruptsOthers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := host.NewMemory()
	begun := make(chan struct{})
	h.Handle("wait", func(ctx context.Context, _ host.Command) (host.Result, error) {
		close(begun)
		<-ctx.Done()
		return host.Result{}, context.Cause(ctx)
	})
	h.Handle("begun", func(context.Context, host.Command) (host.Result, error) { <-begun; return host.Result{}, nil })
	run := compile(t, modules.Standard(), `
	command "wait" {
	  argv = ["wait"]
	}
	command "panics" {
	  argv = ["begun"]
	}
	`).Run
	var end *states.Failure
	_, err := runtime.Apply(t.Context(), run, runtime.Options{Host: h, Registry: modules.Standard(), Parallel: 2, Events: func(ev states.Event) {
		switch {
		case ev.Type != states.EventPart:
		case ev.Address == "command.wait":
			end = ev.Error
		default:
			panic("no renderer")
		}
	}})
	if fault.In(err) == nil {
		t.Errorf("the run ends with %v", err)
	}
	if end == nil || end.Code != "interrupted" || end.Message != "the run was interrupted" {
		t.Errorf("the part that was cut off ends with %+v", end)
	}
}

// A panic over what is to be pruned leaves that alone, and on record; all else is done.
func TestFaultOfAnOrphan(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	m := newManaged(t)
	m.apply(t, shop+fileState("a", "/a")+fileState("b", "/b"), false)
	var list []*states.Module
	for _, name := range modules.Standard().Names() {
		module := *modules.Standard().Lookup(name)
		if read := module.Read; name == "file" {
			module.Read = func(ctx context.Context, h host.Host, want any) (any, error) {
				if module.Encode(want)["path"] == "/a" {
					panic("no read")
				}
				return read(ctx, h, want)
			}
		}
		list = append(list, &module)
	}
	registry := states.NewRegistry(list...)
	run := compile(t, registry, shop).Run
	record, err := m.folder.Start(t.Context(), journal.Meta{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	o := carry(t, runtime.Apply, run, runtime.Options{Host: m.Memory, Registry: registry, Journal: record})
	if err := record.Finish(journal.End{State: journal.Done}); err != nil {
		t.Fatal(err)
	}
	if got := o.orphanList(); !strings.Contains(got, "-/b") || !strings.Contains(got, "it cannot be looked at: this is a fault of tenet itself") {
		t.Errorf("removed %s", got)
	}
	if got := m.holds(t, "shop"); !strings.Contains(got, "/a") || strings.Contains(got, "/b") {
		t.Errorf("holds %s", got)
	}
}
