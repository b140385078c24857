package orchestrate_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/orchestrate"
	"github.com/tenetcm/tenet/runtime/runner"
	"github.com/tenetcm/tenet/states"
)

// outputWorld is a random fleet whose hosts read outputs of each other.
type outputWorld struct {
	*rapid.T
	dir   string
	names []string // givers before readers
	hosts map[string]*outputHost
	site  *orchestrate.Site
	forks int
	batch int

	exchange *fleet.Exchange
	needs    map[string][]string
	planning bool
	rows     map[string][]states.Event
	ended    map[string]fleet.Status
	said     bytes.Buffer // all that anybody could see
	events   int
	stopAt   int // the event at which the controller goes; 0: none
	stop     context.CancelFunc
	wrong    string

	executions int
}

// outputHost is one of them.
type outputHost struct {
	memory  *host.Memory
	outputs []output
	reads   []reading
	fails   bool
	token   int // how often it was rotated
}

// output is what a host gives.
type output struct {
	name      string
	kind      string // const, planned, late, null, chain
	sensitive bool
	of        *reading // of a chain
}

// reading is what a host reads.
type reading struct{ host, output, by string }

// value is what an output comes to; secret says that nobody may see it.
func (w *outputWorld) value(of string, name string) (v any, secret bool) {
	h := w.hosts[of]
	o := h.outputs[slices.IndexFunc(h.outputs, func(o output) bool { return o.name == name })]
	switch o.kind {
	case "const":
		return mark(o.sensitive) + "const-" + of + "-" + name, o.sensitive
	case "planned", "late":
		return w.tokenOf(of, o), o.sensitive
	case "chain":
		inner, isSecret := w.value(place(o.of))
		return fmt.Sprintf("%v+%s", inner, of), o.sensitive || isSecret
	}
	return nil, o.sensitive
}

func place(r *reading) (string, string) { return r.host, r.output }

// mark begins each text that is secret, and no other.
func mark(secret bool) string {
	if secret {
		return "s3cr3t-"
	}
	return "plain-"
}

func (w *outputWorld) tokenOf(of string, o output) string {
	return fmt.Sprintf("%s%s-%s-%d", mark(o.sensitive), o.kind, of, w.hosts[of].token)
}

// draw makes the fleet, and its site.
func (w *outputWorld) draw() string {
	n := rapid.IntRange(2, 5).Draw(w.T, "hosts")
	for i := range n {
		w.names = append(w.names, fmt.Sprintf("h%d", i))
	}
	w.names = rapid.Permutation(w.names).Draw(w.T, "order")
	var text strings.Builder
	declared := slices.Sorted(slices.Values(w.names))
	for _, name := range declared {
		fmt.Fprintf(&text, "host %q {\n  roles = [\"r-%s\"]\n}\n", name, name)
	}
	for i, name := range w.names {
		h := &outputHost{fails: rapid.IntRange(0, 5).Draw(w.T, "fails "+name) == 0}
		w.hosts[name] = h
		given := func(label string) *reading {
			var all []reading
			for _, other := range w.names[:i] {
				for _, o := range w.hosts[other].outputs {
					all = append(all, reading{host: other, output: o.name})
				}
			}
			if len(all) == 0 {
				return nil
			}
			r := rapid.SampledFrom(all).Draw(w.T, label)
			return &r
		}
		fmt.Fprintf(&text, "role \"r-%s\" {\n", name)
		for k := range rapid.IntRange(0, 2).Draw(w.T, "outputs "+name) {
			o := output{name: fmt.Sprintf("o%d", k), kind: rapid.SampledFrom([]string{"const", "planned", "late", "null", "chain"}).Draw(w.T, "kind"),
				sensitive: rapid.Bool().Draw(w.T, "sensitive")}
			if o.kind == "chain" {
				if o.of = given("chain"); o.of == nil {
					o.kind = "late"
				} else if v, _ := w.value(place(o.of)); v == nil {
					o.kind, o.of = "null", nil
				}
			}
			h.outputs = append(h.outputs, o)
			w.declare(&text, name, o)
		}
		for k := range rapid.IntRange(0, 3).Draw(w.T, "reads "+name) {
			r := given("read")
			if r == nil {
				break
			}
			r.by = rapid.SampledFrom([]string{"file", "argv", "stdin", "print"}).Draw(w.T, "by")
			h.reads = append(h.reads, *r)
			at := fmt.Sprintf("jsonencode(hosts(%q)[0].outputs.%s)", r.host, r.output)
			switch r.by {
			case "file":
				fmt.Fprintf(&text, "  file \"/srv/%d\" {\n    content = %s\n  }\n", k, at)
			case "argv":
				fmt.Fprintf(&text, "  command \"use%d\" {\n    argv = [\"use\", \"/srv/%d\", %s]\n  }\n", k, k, at)
			case "stdin":
				fmt.Fprintf(&text, "  command \"use%d\" {\n    argv = [\"use\", \"/srv/%d\"]\n    stdin = %s\n  }\n", k, k, at)
			case "print":
				fmt.Fprintf(&text, "  print \"say%d\" {\n    message = %s\n  }\n", k, at)
			}
		}
		if h.fails {
			text.WriteString("  command \"fail\" {\n    argv = [\"fail\"]\n  }\n")
		}
		text.WriteString("}\n")
	}
	w.forks, w.batch = rapid.IntRange(1, 4).Draw(w.T, "forks"), rapid.IntRange(0, 3).Draw(w.T, "batch")
	return text.String()
}

func (w *outputWorld) declare(text *strings.Builder, of string, o output) {
	value := "null"
	switch o.kind {
	case "const":
		v, _ := w.value(of, o.name)
		value = fmt.Sprintf("%q", v)
	case "planned", "late":
		fmt.Fprintf(text, "  command %q {\n    argv = [\"token\", %q]\n    plan = %t\n    sensitive = %t\n  }\n", o.name, o.name, o.kind == "planned", o.sensitive)
		value = fmt.Sprintf("command.%s.stdout", o.name)
	case "chain":
		value = fmt.Sprintf("\"${hosts(%q)[0].outputs.%s}+%s\"", o.of.host, o.of.output, of)
	}
	// What a command says that is sensitive is so without a word.
	says := o.sensitive && (o.kind != "planned" && o.kind != "late" || rapid.Bool().Draw(w.T, "says so"))
	fmt.Fprintf(text, "  output %q {\n    value = %s\n    sensitive = %t\n  }\n", o.name, value, says)
}

// make makes the machines.
func (w *outputWorld) make(name string) {
	h := w.hosts[name]
	h.memory = host.NewMemory()
	for _, dir := range []string{"/etc", "/srv"} {
		if err := h.memory.Mkdir(dir, host.Meta{}); err != nil {
			w.Fatal(err)
		}
	}
	h.memory.Handle("token", func(_ context.Context, c host.Command) (host.Result, error) {
		o := h.outputs[slices.IndexFunc(h.outputs, func(o output) bool { return o.name == c.Argv[1] })]
		return host.Result{Stdout: []byte(w.tokenOf(name, o))}, nil
	})
	h.memory.Handle("fail", func(context.Context, host.Command) (host.Result, error) { return host.Result{ExitCode: 1}, nil })
	h.memory.Handle("use", func(_ context.Context, c host.Command) (host.Result, error) {
		text := string(c.Stdin)
		if len(c.Argv) > 2 {
			text = c.Argv[2]
		}
		err := h.memory.Add(c.Argv[1], text)
		return host.Result{Stdout: []byte("used " + text), Stderr: []byte(text)}, err
	})
}

func (w *outputWorld) members() (list []*fleet.Member) {
	for _, name := range slices.Sorted(slices.Values(w.names)) {
		list = append(list, &fleet.Member{Name: name, InProcess: true, Machine: &runner.Runner{
			Host: w.hosts[name].memory, StateDir: filepath.Join(w.dir, name), Registry: modules.Standard(), Program: "test", Volatile: true}})
	}
	return list
}
