package runtime_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// chaos is a resource whose making changes whatever it likes.
type chaos struct {
	Name string `state:"name,key" doc:"A name."`
}

// meddle draws something to do to a tree, which may well be impossible there.
func meddle(t *rapid.T) func(host.Writer) {
	ctx := context.Background()
	paths := []string{"/a", "/b", "/d", "/d/a", "/d/e", "/d/e/f"}
	path := rapid.SampledFrom(paths).Draw(t, "path")
	meta := host.Meta{}
	if rapid.Bool().Draw(t, "meta") {
		meta = host.Meta{
			Mode: new(rapid.SampledFrom([]fs.FileMode{0o600, 0o755, 0o711 | fs.ModeSetuid}).Draw(t, "mode")),
			UID:  new(rapid.IntRange(0, 2).Draw(t, "uid")),
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		text := rapid.SampledFrom([]string{"", "x", "some more\x00\xff"}).Draw(t, "text")
		return func(h host.Writer) { _ = h.WriteFile(ctx, path, host.Text(text), meta) }
	case 1:
		target := rapid.SampledFrom(paths).Draw(t, "target")
		return func(h host.Writer) { _ = h.Symlink(target, path, meta) }
	case 2:
		return func(h host.Writer) { _ = h.Mkdir(path, meta) }
	case 3:
		return func(h host.Writer) { _ = h.SetMeta(path, meta) }
	}
	return func(h host.Writer) { _ = h.Remove(path) }
}

// meddles draws several of them.
func meddles(t *rapid.T, name string) (list []func(host.Writer)) {
	for range rapid.IntRange(0, 8).Draw(t, name) {
		list = append(list, meddle(t))
	}
	return list
}

// wholeTree is all that a tree holds, owners included.
func wholeTree(t failer, h host.Host) map[string]string {
	out := tree(t, h)
	for path, text := range out {
		info, err := h.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		mode := info.Mode
		if info.Kind == host.Symlink {
			mode = 0
		}
		out[path] = fmt.Sprint(info.Kind, " ", mode, " ", info.UID, " ", text)
	}
	return out
}

// Whatever a block has changed is put back, whatever was there.
func TestPutBackWhateverItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := host.NewMemory()
		h.Handle("check", func(context.Context, host.Command) (host.Result, error) { return host.Result{ExitCode: 1}, nil })
		for _, do := range meddles(t, "before") {
			do(h)
		}
		was := wholeTree(t, h)
		during := map[string][]func(host.Writer){"one": meddles(t, "one"), "two": meddles(t, "two")}
		made := map[string]bool{}
		module := states.Define(states.Type[chaos]{
			Name: "chaos", Doc: "It changes whatever it likes.", NoAbsent: "Nobody knows what it has changed.",
			Read: func(_ context.Context, _ host.Host, want chaos) (*chaos, error) {
				if !made[want.Name] {
					return nil, nil
				}
				return &want, nil
			},
			Write: func(_ context.Context, h host.Host, _ *chaos, want chaos) error {
				for _, do := range during[want.Name] {
					do(h)
				}
				made[want.Name] = true
				return nil
			},
		})
		block := states.Block{Address: "block.b", Confirm: &states.Confirm{Timeout: 1, Command: []string{"check"}}}
		run := &states.StateRun{Format: states.Format, Host: "host"}
		for _, name := range []string{"one", "two"} {
			address := "chaos." + name
			block.Members = append(block.Members, address)
			run.Invocations = append(run.Invocations, states.Invocation{Address: address, State: address, Parts: []states.Part{
				{Address: address, ID: name, Type: "chaos", Key: name, Ensure: states.Present, Values: map[string]any{"name": name}}}})
		}
		run.Blocks = []states.Block{block}
		run.Invocations = append(run.Invocations, states.Invocation{Address: "block.b.confirm", Confirms: "block.b", After: []string{"block.b"}})
		var events []states.Event
		result, err := runtime.Apply(context.Background(), run, runtime.Options{
			Host: h, Registry: states.NewRegistry(module), Parallel: 1, Events: func(ev states.Event) { events = append(events, ev) }})
		if err != nil || !result.Failed {
			t.Fatal(result, err)
		}
		if now := wholeTree(t, h); !maps.Equal(now, was) {
			i := slices.IndexFunc(events, func(ev states.Event) bool { return ev.Type == states.EventConfirm && ev.Error != nil })
			t.Fatalf("now %v\nwas %v\n%+v", now, was, events[i].Error)
		}
	})
}

// Of two parts that change one file only the second calls the handler: what it has
// picked up is put back, too.
func TestConfirmOfTwoPartsAtOnePath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.Handle("check", func(context.Context, host.Command) (host.Result, error) { return host.Result{ExitCode: 1}, nil })
		o := apply(t, g, `block "gate" {
			confirm {
				timeout = "1s"
				command = ["check"]
			}
			ordered = true
			line "one" {
				path = "/conf"
				line = "one"
			}
			line "two" {
				path   = "/conf"
				line   = "two"
				notify = [state.load]
			}
		}
		state "load" {
			lazy = true
			command "load" { argv = ["load"] }
		}
		`)
		if !o.Failed || content(t, g, "/conf") != "good" || g.loaded != "good" || len(g.loads) != 2 {
			t.Errorf("conf %q, loads %q", content(t, g, "/conf"), g.loads)
		}
	})
}
