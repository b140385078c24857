package runtime_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// gate is a machine with a server that has a configuration: log makes it load
// what is in /conf, and the check passes as long as it has not loaded "bad".
type gate struct {
	*host.Memory
	loaded  string
	loads   []string
	checks  int
	onCheck func()
}

func newGate(t *testing.T) *gate {
	g := &gate{Memory: host.NewMemory()}
	write(t, g, "/conf", "good")
	g.loaded = "good"
	g.Handle("load", func(context.Context, host.Command) (host.Result, error) {
		g.loaded = content(t, g, "/conf")
		g.loads = append(g.loads, g.loaded)
		return host.Result{}, nil
	})
	g.Handle("check", func(ctx context.Context, _ host.Command) (host.Result, error) {
		g.checks++
		if g.onCheck != nil {
			g.onCheck()
		}
		if g.loaded == "bad" {
			return host.Result{ExitCode: 7, Stderr: []byte("first\nlocked out\n")}, ctx.Err()
		}
		return host.Result{}, nil
	})
	return g
}

// gated is a site whose block makes the server load a text.
func gated(text, more string) string {
	return `block "gate" {
		confirm {
			timeout = "10s"
			command = ["check"]
		}
		file "/conf" {
			content = "` + text + `"
			notify  = [state.load]
		}
		` + more + `
		notify_failure = [state.alarm]
	}
	state "load" {
		lazy = true
		command "load" { argv = ["load"] }
	}
	state "alarm" {
		command "alarm" { argv = ["load"] }
	}
	file "/after" {
		content = "after"
		require = [block.gate]
	}
	`
}

// confirmed gives the events about a block's check.
func (o outcome) confirmed() (out []states.Event) {
	for _, ev := range o.events {
		if ev.Type == states.EventConfirm {
			out = append(out, ev)
		}
	}
	return out
}

func (o outcome) restored() (paths []string) {
	for _, ev := range o.events {
		if ev.Type == states.EventRestored {
			paths = append(paths, ev.Key)
		}
	}
	return paths
}

func TestConfirmPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		o := apply(t, g, gated("better", ""))
		if o.Failed || g.loaded != "better" || g.checks != 1 || content(t, g, "/after") != "after" {
			t.Errorf("%+v: %+v", o.Result, g)
		}
		list := o.confirmed()
		if len(list) != 3 || list[2].Outcome != states.Changed || list[1].Reason != "it stays if check passes within 10s" {
			t.Errorf("%+v", list)
		}
		if again := apply(t, g, gated("better", "")); again.Failed || g.checks != 1 || len(again.confirmed()) > 0 {
			t.Errorf("nothing changes, and is checked %d times: %+v", g.checks, again.confirmed())
		}
		if !o.Left.Empty() {
			t.Errorf("left %+v", o.Left)
		}
	})
}

// It passes in the end, after tries that do not.
func TestConfirmTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.onCheck = func() {
			if g.checks == 4 {
				g.loaded = "good"
			}
		}
		if o := apply(t, g, gated("bad", "")); o.Failed || g.checks != 4 || content(t, g, "/conf") != "bad" {
			t.Errorf("%+v: %+v", o.Result, g)
		}
	})
}

const everyKind = `
		file "/new" { content = "new" }
		directory "/dir/deep" {}
		file "/dir/deep/file" {
			content = "x"
			require = [directory["/dir/deep"]]
		}
		symlink "/link" { target = "/elsewhere" }
		symlink "/was-file" {
			target  = "/elsewhere"
			replace = true
		}
		file "/gone" { ensure = "absent" }
		file "/private" {
			content = "same"
			mode    = "0600"
			owner   = "7"
		}
		command "effect" { argv = ["effect"] }
`

// setUp makes what everyKind changes.
func (g *gate) setUp(t *testing.T) {
	mkdir(t, g, "/dir")
	write(t, g, "/was-file", "file")
	write(t, g, "/gone", strings.Repeat("long\n", 1<<18))
	write(t, g, "/private", "same")
	for _, err := range []error{
		g.Symlink("/somewhere", "/link", host.Meta{UID: new(3)}),
		g.SetMeta("/gone", host.Meta{Mode: new(fs.FileMode(0o4711)), UID: new(5), GID: new(6)}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	g.Handle("effect", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
}

// owners are what tree does not tell.
func owners(t *testing.T, h host.Host) map[string][3]int {
	out := map[string][3]int{}
	for path := range tree(t, h) {
		info, err := h.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = [3]int{info.UID, info.GID, int(info.Mode)}
	}
	return out
}

func TestConfirmPutsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.setUp(t)
		was, whose := tree(t, g), owners(t, g)
		o := apply(t, g, gated("bad", everyKind))
		if now := tree(t, g); !maps.Equal(now, was) || !maps.Equal(owners(t, g), whose) {
			t.Errorf("now %v\nwas %v\n%v %v", now, was, owners(t, g), whose)
		}
		if !o.Failed || o.Report.Ready || o.Counts.Failed != 1 {
			t.Errorf("%+v", o.Result)
		}
		// The third is the alarm.
		if want := []string{"bad", "good", "good"}; !slices.Equal(g.loads, want) {
			t.Errorf("loaded %q, want %q", g.loads, want)
		}
		o.want(t, map[string]string{
			`file["/after"]`:            "blocked (by block.gate.confirm)",
			"state.load.command.load":   "changed execute",
			"state.load#2.command.load": "changed execute (block.gate is put back)",
			"state.alarm.command.alarm": "changed execute",
			`file["/private"]`:          "changed update",
			`directory["/dir/deep"]`:    "changed create",
			"command.effect":            "changed execute",
		})
		want := []string{"/private", "/gone", "/was-file", "/link", "/dir/deep/file", "/dir/deep", "/new", "/conf"}
		if got := o.restored(); !sameSet(got, want) || slices.Index(got, "/dir/deep") < slices.Index(got, "/dir/deep/file") {
			t.Errorf("restored %q, want %q", got, want)
		}
		end := o.confirmed()[2]
		if end.Outcome != states.Failed || end.Error.Code != "not_confirmed" ||
			end.Error.Message != "not confirmed: restored 8 paths; check ended with 7: locked out; not undone, since no file: command.effect" {
			t.Errorf("%+v %+v", end, end.Error)
		}
		for _, p := range o.Report.Parts {
			if p.Address == `file["/private"]` && (p.State != "pending" || p.Reason != "put back, since block.gate was not confirmed") {
				t.Errorf("%+v", p)
			}
		}
		if !o.Left.Empty() {
			t.Errorf("left %+v", o.Left)
		}
	})
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// A part that fails leaves a block half done: it is checked all the same.
func TestConfirmOfAFailedBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		o := apply(t, g, gated("bad", `command "fails" {
			argv    = ["false"]
			require = [file["/conf"]]
		}`))
		if !o.Failed || content(t, g, "/conf") != "good" || g.loaded != "good" {
			t.Errorf("%+v, %q", o.Result, g.loads)
		}
	})
}

// A block whose failure is ignored is put back, and blocks nothing.
// A handler that fails has not picked up what was changed: that is put back, since it
// would come into force unchecked when the handler goes well.
func TestConfirmWithoutItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		loads := 0
		g.Handle("load", func(context.Context, host.Command) (host.Result, error) {
			if loads++; loads == 1 {
				return host.Result{ExitCode: 1}, nil
			}
			g.loaded = content(t, g, "/conf")
			return host.Result{}, nil
		})
		o := apply(t, g, gated("bad", ""))
		list := o.confirmed()
		if end := list[len(list)-1]; end.Outcome != states.Failed || !strings.Contains(end.Error.Message, "state.load has not run") {
			t.Errorf("%+v %+v", end, end.Error)
		}
		if content(t, g, "/conf") != "good" || g.loaded != "good" || g.checks > 0 {
			t.Errorf("conf %q, loads %q after %d checks", content(t, g, "/conf"), g.loaded, g.checks)
		}
	})
}

// What a check says is masked before it is cut.
func TestConfirmHidesSecrets(t *testing.T) {
	g := newGate(t)
	g.Handle("check", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{ExitCode: 1, Stderr: []byte(strings.Repeat("x", 190) + "hush-hush-and-more\n")}, nil
	})
	run := compile(t, modules.Standard(), gated("bad", "")).Run
	run.Secrets = []string{"hush-hush-and-more"}
	synctest.Test(t, func(t *testing.T) {
		o := carry(t, runtime.Apply, run, runtime.Options{Host: g})
		if text := pretty(o.events); strings.Contains(text, "hush") || !strings.Contains(text, "ended with 1: xxx") {
			t.Errorf("it says\n%s", text)
		}
	})
}

func TestConfirmIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		o := apply(t, g, gated("bad", "ignore_failure = true"))
		if o.Failed || content(t, g, "/conf") != "good" || content(t, g, "/after") != "after" {
			t.Errorf("%+v, %q", o.Result, g.loads)
		}
	})
}

// The inner block stays as it was made until the outer one is put back.
func TestConfirmWithinConfirm(t *testing.T) {
	const site = `block "outer" {
		confirm {
			timeout = "5s"
			command = ["check"]
		}
		block "inner" {
			confirm {
				timeout = "5s"
				command = ["true"]
			}
			file "/a" { content = "a" }
		}
		file "/b" { content = "b" }
	}
	block "other" {
		confirm {
			timeout = "5s"
			command = ["true"]
		}
		file "/c" { content = "c" }
	}
	`
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.Handle("true", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
		g.loaded = "bad"
		o := apply(t, g, site)
		if got := o.restored(); !sameSet(got, []string{"/a", "/b"}) || !o.Failed {
			t.Errorf("restored %q", got)
		}
		if got := tree(t, g); len(got) != 2 || content(t, g, "/c") != "c" {
			t.Errorf("%v", got)
		}
	})
}

// A run that ends while it waits, or before that, puts back what it has changed.
func TestConfirmInterrupted(t *testing.T) {
	for name, site := range map[string]string{
		"waiting": gated("bad", ""),
		"before": gated("bad", `command "interrupt" {
			argv    = ["interrupt"]
			require = [file["/conf"]]
		}`),
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := func() { cancel(errors.New("the terminal is gone")) }
			g.Handle("interrupt", func(context.Context, host.Command) (host.Result, error) { stop(); return host.Result{}, nil })
			g.onCheck = stop
			how := func(_ context.Context, run *states.StateRun, o runtime.Options) (*runtime.Result, error) {
				return runtime.Apply(ctx, run, o)
			}
			o := carry(t, how, compile(t, modules.Standard(), site).Run, runtime.Options{Host: g})
			if !o.Interrupted || content(t, g, "/conf") != "good" || g.loaded != "good" || len(o.Left.Unconfirmed) > 0 {
				t.Errorf("%s: %+v %q", name, o.Result, g.loads)
			}
		})
	}
}

func TestConfirmInAPlan(t *testing.T) {
	g := newGate(t)
	o := plan(t, g, gated("bad", ""))
	list := o.confirmed()
	if len(list) != 1 || !*list[0].Certain || list[0].Reason != "its changes stay if check passes within 10s, else they are put back" || g.checks > 0 {
		t.Errorf("%+v", list)
	}
	if o := plan(t, g, gated("good", "")); len(o.confirmed()) > 0 {
		t.Errorf("%+v", o.confirmed())
	}
}
