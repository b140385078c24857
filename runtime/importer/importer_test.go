package importer_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// T is a *testing.T or a *rapid.T.
type T interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

func newMachine(t T, m simulated.Machine) *host.Memory {
	t.Helper()
	h, err := simulated.New(context.Background(), m)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return h
}

// declared loads a site, and gives its declarations.
func declared(t T, files fstest.MapFS) (*lang.Site, *states.Declarations) {
	t.Helper()
	site, problems := lang.Load(files, lang.Options{Registry: modules.Standard()})
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems.Err(), files["site.hcl"])
	}
	d, problems := site.Evaluate(context.Background(), lang.Target{Host: "host"})
	if problems.HasErrors() {
		t.Fatalf("%v", problems.Err())
	}
	return site, d
}

// differences plans a site, and gives the rows that are not "no change".
func differences(t T, h host.Host, files fstest.MapFS) (rows []string, parts int) {
	t.Helper()
	site, d := declared(t, files)
	compiled, problems := graph.Compile(d, graph.Options{Registry: site.Registry()})
	if problems.HasErrors() {
		t.Fatalf("%v", problems.Err())
	}
	_, err := runtime.Plan(context.Background(), compiled.Run, runtime.Options{
		Host: h, Registry: site.Registry(), Site: site.Files(), Sources: compiled.Sources,
		Events: func(e states.Event) {
			if e.Type != states.EventPart {
				return
			}
			parts++
			if e.Action != states.NoChange {
				rows = append(rows, fmt.Sprintf("%s: %s %v %v", e.Address, e.Action, e.Changes, e.Error))
			}
		},
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return rows, parts
}

func laidOut(t T, l statefile.Language, text string) fstest.MapFS {
	t.Helper()
	name := "site.hcl"
	if l == statefile.Starlark {
		name = "site.star"
	}
	out, problems := lang.Format(name, []byte(text))
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems.Err(), text)
	}
	return fstest.MapFS{name: {Data: out}}
}

var languages = []statefile.Language{statefile.HCL, statefile.Starlark}

// texts are what breaks out of quotes and heredocs, if anything does.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\n", "\n\n", "a\nb\n", "EOT\n", "\nEOT\n", " EOT", "${", "$${", "%{", "%%{", "%{ if x }", "${var.x}", "\"", `"""`, "'''", "\\", "\\n", "\t", "\r\n", "\r",
		"\x00", "\x01", "\x7f", "\u2028", "\ufeff", "# a\n", "/* ", "~/", "}\n", "ü", "e\u0301", "\xff", "//", "<<EOT\n", "$", "%", "{", "\u0085",
	}))
	return rapid.Map(rapid.SliceOfN(piece, 0, 8), func(pieces []string) string { return strings.Join(pieces, "") })
}

// What is printed is what was read, whatever it is.
func TestPrintRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(texts(), func(s string) string { return strings.ReplaceAll(norm(s), "\x00", "0") })
		values := []machine.ImportValue{{Name: "stdin", Value: text.Draw(t, "stdin")}}
		argv := []any{"x"}
		for _, s := range rapid.SliceOfN(text, 0, 5).Draw(t, "argv") {
			argv = append(argv, s)
		}
		env := map[string]any{}
		for _, s := range rapid.SliceOfN(text, 0, 3).Draw(t, "env") {
			env["k_"+strings.NewReplacer("=", "_", "\x00", "_").Replace(s)] = s
		}
		values = append(values, machine.ImportValue{Name: "argv", Value: argv}, machine.ImportValue{Name: "env", Value: env}, machine.ImportValue{Name: "plan", Value: rapid.Bool().Draw(t, "plan")})
		for _, l := range languages {
			_, d := declared(t, laidOut(t, l, l.Print(&machine.ImportPart{Type: "command", Label: "x", Values: values, Notes: []string{text.Draw(t, "note")}})))
			for _, v := range values {
				if have := d.List[0].Parts[0].Values[v.Name]; !reflect.DeepEqual(have, v.Value) {
					t.Fatalf("%s: %s is %q, want %q", l, v.Name, have, v.Value)
				}
			}
		}
	})
}

// What looks otherwise in an editor than it reads is never written out: it could pass
// for what it is not, in a text as in a comment.
func TestUnsafeTextsAreNoStateFile(t *testing.T) {
	for _, unsafe := range []string{"\u009b31m", "\u202e", "\u2066", "\x1b[2J", "\u200f"} {
		h := newMachine(t, simulated.Machine{})
		if err := simulated.WriteFile(t.Context(), h, "/srv/x", "a"+unsafe+"b\n", host.Meta{Mode: fileMode(0o644)}); err != nil {
			t.Fatal(err)
		}
		part, err := importer.Read(t.Context(), h, modules.Standard().Lookup("file"), map[string]any{"path": "/srv/x"}, importer.Options{Files: true})
		if err != nil {
			t.Fatal(err)
		}
		part.Notes = append(part.Notes, "a"+unsafe+"b")
		for _, l := range languages {
			if text := l.Print(part); part.Copy == "" || strings.Contains(text, unsafe) {
				t.Errorf("%q stands in the %s state file %q", unsafe, l, text)
			}
		}
	}
}

// norm makes a text that the language can hold.
func norm(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if !importer.Sayable(s) {
		return strings.Map(func(r rune) rune {
			if r > 0x7f {
				return -1
			}
			return r
		}, s)
	}
	return s
}

// A file as it stands plans as "no change", whatever it is called and holds.
func TestFilePlansAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newMachine(t, simulated.Machine{})
		name := strings.NewReplacer("/", "_", "\x00", "_").Replace(texts().Draw(t, "name"))
		if name == "" || name == "." || name == ".." || len(name) > 255 {
			name = "x"
		}
		name = "/srv/" + name
		mode := rapid.SampledFrom([]uint32{0o644, 0o600, 0o4755, 0}).Draw(t, "mode")
		content := texts().Draw(t, "content")
		if err := simulated.WriteFile(t.Context(), h, name, content, host.Meta{Mode: fileMode(mode), UID: new(rapid.SampledFrom([]int{0, 33, 4242}).Draw(t, "uid"))}); err != nil {
			t.Fatalf("%v", err)
		}
		part, err := importer.Read(t.Context(), h, modules.Standard().Lookup("file"), map[string]any{"path": name}, importer.Options{Files: true})
		if _, left := errors.AsType[*importer.OmissionError](err); left && !importer.Sayable(name) {
			return
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, l := range languages {
			files := laidOut(t, l, l.Print(part))
			if part.Copy != "" {
				files["files"+part.Copy] = &fstest.MapFile{Data: []byte(content)}
			}
			if rows, parts := differences(t, h, files); len(rows) > 0 || parts != 1 {
				t.Fatalf("%s: %d parts, %q", l, parts, rows)
			}
		}
	})
}

func fileMode(bits uint32) *fs.FileMode {
	mode, err := states.ParseMode(fmt.Sprintf("%04o", bits))
	if err != nil {
		panic(err)
	}
	return &mode
}
