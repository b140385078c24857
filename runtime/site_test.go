package runtime_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// compile makes the run of a site of one file.
func compile(t failer, registry *states.Registry, site string) *graph.Result {
	t.Helper()
	return compileFiles(t, registry, fstest.MapFS{"site.hcl": {Data: []byte(site)}})
}

// compileFiles makes the run of a site of several.
func compileFiles(t failer, registry *states.Registry, files fs.FS) *graph.Result {
	t.Helper()
	return compileFor(t, registry, files, lang.Target{Host: "host"})
}

// compileFor makes the run of a site for a target.
func compileFor(t failer, registry *states.Registry, files fs.FS, target lang.Target) *graph.Result {
	t.Helper()
	loaded, diags := lang.Load(files, lang.Options{Registry: registry})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	declarations, diags := loaded.Evaluate(context.Background(), target)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	result, diags := graph.Compile(declarations, graph.Options{Registry: registry})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return result
}

// outcome is what the events say of a run.
type outcome struct {
	*runtime.Result
	events []states.Event
	parts  map[string]states.Event // the end of each part
	ended  map[string]states.Event // of each invocation of several parts, and block
}

type carryOut func(context.Context, *states.StateRun, runtime.Options) (*runtime.Result, error)

func carry(t testing.TB, how carryOut, run *states.StateRun, o runtime.Options) outcome {
	t.Helper()
	if o.Registry == nil {
		o.Registry = modules.Standard()
	}
	out := outcome{parts: map[string]states.Event{}, ended: map[string]states.Event{}}
	o.Events = func(ev states.Event) {
		out.events = append(out.events, ev)
		switch ev.Type {
		case states.EventPart:
			if _, twice := out.parts[ev.Address]; twice {
				t.Errorf("two ends of %s", ev.Address)
			}
			out.parts[ev.Address] = ev
		case states.EventInvocation:
			out.ended[ev.Address] = ev
		}
	}
	var err error
	if out.Result, err = how(t.Context(), run, o); err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies a site of one file.
func apply(t testing.TB, h host.Host, site string) outcome {
	t.Helper()
	return carry(t, runtime.Apply, compile(t, modules.Standard(), site).Run, runtime.Options{Host: h})
}

// plan plans a site of one file.
func plan(t testing.TB, h host.Host, site string) outcome {
	t.Helper()
	return carry(t, runtime.Plan, compile(t, modules.Standard(), site).Run, runtime.Options{Host: h})
}

// row tells a part's end in one line.
func (o outcome) row(address string) string {
	ev, ok := o.parts[address]
	if !ok {
		return "no end"
	}
	words := []string{}
	if ev.Outcome != "" {
		words = append(words, string(ev.Outcome))
	}
	if ev.Action != "" {
		words = append(words, string(ev.Action))
	}
	if ev.Certain != nil && !*ev.Certain {
		words = append(words, "maybe")
	}
	if ev.Reason != "" {
		words = append(words, "("+ev.Reason+")")
	}
	return strings.Join(words, " ")
}

// want checks the rows of parts.
func (o outcome) want(t *testing.T, rows map[string]string) {
	t.Helper()
	for _, address := range slices.Sorted(maps.Keys(rows)) {
		if got := o.row(address); got != rows[address] {
			t.Errorf("%s: got %q, want %q", address, got, rows[address])
			if f := o.parts[address].Error; f != nil {
				t.Logf("%s: %+v", address, *f)
			}
		}
	}
}

func write(t testing.TB, h host.Host, path, content string) {
	t.Helper()
	if err := h.WriteFile(t.Context(), path, host.Text(content), host.Meta{}); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, h host.Host, path string) {
	t.Helper()
	if err := h.Mkdir(path, host.Meta{}); err != nil {
		t.Fatal(err)
	}
}

func content(t failer, h host.Host, path string) string {
	t.Helper()
	info, err := h.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := host.ReadContent(context.Background(), h, path, info)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := c.Inline()
	return text
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// tree lists everything on a host: kind, mode, content or target of each path.
func tree(t failer, h host.Host) map[string]string {
	t.Helper()
	out := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := h.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := strings.TrimSuffix(dir, "/") + "/" + e.Name
			info, err := h.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(info.Kind, " ", info.Mode&fs.ModePerm)
			switch info.Kind {
			case host.Directory:
				walk(path)
			case host.Symlink:
				if text, err = h.ReadLink(path); err != nil {
					t.Fatal(err)
				}
			case host.Regular:
				text += " " + content(t, h, path)
			}
			out[path] = text
		}
	}
	walk("/")
	return out
}
