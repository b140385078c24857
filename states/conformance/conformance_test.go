package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/conformance"
)

func suite(t *testing.T, m *states.Module) conformance.Suite {
	t.Helper()
	return conformance.Suite{Module: m, Host: func(conformance.T) host.Host {
		h, err := simulated.New(t.Context(), simulated.Machine{
			Files:    map[string]simulated.File{"/etc/conf": {Content: "a = 1\n"}},
			Packages: map[string]simulated.Package{"web": {Available: []string{"1", "2"}}},
			Services: map[string]simulated.Service{"web": {}},
			Commands: []simulated.Command{{Name: "sh"}, {Name: "tool"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}}
}

// check carries out all that is derived of an example, and gives what is wrong.
func check(t *testing.T, m *states.Module, e conformance.Example) (wrong, untried []string) {
	t.Helper()
	s := suite(t, m)
	cases, untried := conformance.Derive(m, []conformance.Example{e})
	for _, c := range cases {
		for _, text := range conformance.Collect(t.Context(), func(t conformance.T) { conformance.Run(t, s, c) }) {
			wrong = append(wrong, c.Name+": "+text)
		}
	}
	return append(wrong, hostile(t, s, e)...), untried
}

func hostile(t *testing.T, s conformance.Suite, e conformance.Example) []string {
	t.Helper()
	return conformance.Collect(t.Context(), func(t conformance.T) { conformance.Hostile(t, s, e) })
}

// The modules of the program pass what is derived of one example each.
func TestStandardModules(t *testing.T) {
	for name, e := range map[string]conformance.Example{
		"file": {Values: map[string]any{"path": "/etc/motd", "content": "a", "mode": "0644", "owner": "root", "group": "root", "replace": true},
			Trusted: []string{"validate"}, Updates: map[string]any{"content": "b", "owner": "www-data", "group": "staff"}},
		"directory": {Values: map[string]any{"path": "/srv/new", "mode": "0755", "owner": "root"}, Updates: map[string]any{"owner": "daemon"}},
		"symlink":   {Values: map[string]any{"path": "/srv/link", "target": "/etc"}, Updates: map[string]any{"target": "/srv"}},
		"group":     {Values: map[string]any{"name": "app", "gid": 700}, Updates: map[string]any{"gid": 701}},
		"user":      {Values: map[string]any{"name": "app", "shell": "/bin/sh", "password": "*"}, Updates: map[string]any{"shell": "/bin/bash"}},
		"package":   {Values: map[string]any{"name": "web", "version": "1"}, Updates: map[string]any{"version": "2"}},
		"service":   {Values: map[string]any{"name": "web", "running": true, "enabled": true}},
		"command":   {Values: map[string]any{"argv": []any{"tool", "x"}}, Trusted: []string{"argv", "shell"}},
	} {
		wrong, untried := check(t, modules.Standard().Lookup(name), e)
		for _, text := range wrong {
			t.Errorf("%s: %s", name, text)
		}
		t.Logf("%s: untried %v", name, untried)
	}
}

type thing struct {
	Path string  `state:"path,key" doc:"A path."`
	Text *string `state:"text,required" doc:"A text."`
	Mood *string `state:"mood" enum:"good,bad" doc:"A mood."`
}

// faulty is a module like file, with one fault.
func faulty(change func(*states.Type[thing])) *states.Module {
	t := states.Type[thing]{
		Name: "thing", Doc: "Is for a test.",
		Read: func(_ context.Context, h host.Host, want thing) (*thing, error) {
			info, err := h.Lstat(want.Path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			content, err := host.ReadContent(context.Background(), h, want.Path, info)
			if err != nil {
				return nil, err
			}
			all, _ := content.Inline()
			mood, text, _ := strings.Cut(all, "|")
			return &thing{Path: want.Path, Text: &text, Mood: &mood}, nil
		},
		Write: func(ctx context.Context, h host.Host, have *thing, want thing) error {
			return h.WriteFile(ctx, want.Path, host.Text(*want.Mood+"|"+*want.Text), host.Meta{})
		},
		Remove: func(_ context.Context, h host.Host, have thing) error { return h.Remove(have.Path) },
		Validate: func(want thing) error {
			if !strings.HasPrefix(want.Path, "/") || strings.Contains(want.Path, "\x00") {
				return states.InvalidAttribute("path", "it is no path", "")
			}
			return nil
		},
		New: thing{Mood: new("good")},
	}
	if change != nil {
		change(&t)
	}
	return states.Define(t)
}

// Each fault is found.
func TestFaults(t *testing.T) {
	example := conformance.Example{Name: "one", Values: map[string]any{"path": "/srv/x", "text": "a", "mood": "good"},
		Updates: map[string]any{"text": "b"}}
	if wrong, untried := check(t, faulty(nil), example); len(wrong) > 0 || len(untried) > 0 {
		t.Fatalf("the module without fault: %v %v", wrong, untried)
	}
	write := func(text func(thing) string) func(*states.Type[thing]) {
		return func(typ *states.Type[thing]) {
			typ.Write = func(ctx context.Context, h host.Host, have *thing, want thing) error {
				return h.WriteFile(ctx, want.Path, host.Text(text(want)), host.Meta{})
			}
		}
	}
	asks := func(argv func(thing) []string) func(*states.Type[thing]) {
		return func(typ *states.Type[thing]) {
			typ.Complete = func(ctx context.Context, h host.Host, want *thing) error {
				_, err := h.Query(ctx, host.Query{Command: host.Command{Argv: argv(*want)}})
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
		}
	}
	for want, change := range map[string]func(*states.Type[thing]){
		"one: creates: plan: it still differs":                                                  write(func(w thing) string { return *w.Mood + "|" + *w.Text + "x" }),
		"one: changes mood: plan: it still differs: read gives mood = good, and bad was wanted": write(func(w thing) string { return "good|" + *w.Text }),
		"one: removes: plan: it is still there": func(typ *states.Type[thing]) {
			typ.Remove = func(context.Context, host.Host, thing) error { return nil }
		},
		`attribute text = "-x": it reaches a shell`: func(typ *states.Type[thing]) {
			typ.Complete = func(ctx context.Context, h host.Host, want *thing) error {
				_, err := h.Query(ctx, host.Query{Command: host.Command{Argv: []string{"sh", "-c", "echo " + *want.Text}}})
				return err
			}
		},
		`attribute text = "-x": it stands where tool looks for options`: asks(func(w thing) []string { return []string{"tool", *w.Text} }),
		`attribute path = "/..": it starts the program "/.."`:           asks(func(w thing) []string { return []string{w.Path} }),
		`it changes "/etc/passwd", which ordinary values do not`: func(typ *states.Type[thing]) {
			write := typ.Write
			typ.Write = func(ctx context.Context, h host.Host, have *thing, want thing) error {
				return errors.Join(write(ctx, h, have, want), h.WriteFile(ctx, path.Join("/srv/..", *want.Text), host.Text(""), host.Meta{}))
			}
		},
		`/etc/list has got a line of its own: "tenet-hostile::`: func(typ *states.Type[thing]) {
			write := typ.Write
			typ.Write = func(ctx context.Context, h host.Host, have *thing, want thing) error {
				return errors.Join(write(ctx, h, have, want), h.WriteFile(ctx, "/etc/list", host.Text("a\n"+*want.Text+"\n"), host.Meta{}))
			}
		},
		`/etc/group has lost the line "root:`: func(typ *states.Type[thing]) {
			write := typ.Write
			typ.Write = func(ctx context.Context, h host.Host, have *thing, want thing) error {
				if err := write(ctx, h, have, want); err != nil || !strings.Contains(*want.Text, "$") {
					return err
				}
				return h.WriteFile(ctx, "/etc/group", host.Text(""), host.Meta{})
			}
		},
		`attribute text = "": panic`: func(typ *states.Type[thing]) {
			typ.Complete = func(_ context.Context, _ host.Host, want *thing) error {
				if (*want.Text)[0] == '!' {
					return errors.New("no")
				}
				return nil
			}
		},
		"one: creates: plan: permission denied": func(typ *states.Type[thing]) {
			typ.Write = func(context.Context, host.Host, *thing, thing) error { return fs.ErrPermission }
		},
		"one: creates: the plan foretells": func(typ *states.Type[thing]) {
			typ.Diff = func(have *thing, want thing) []states.Change {
				if have != nil && *have == want || have != nil && *have.Text == *want.Text && *have.Mood == *want.Mood {
					return nil
				}
				return []states.Change{{Attribute: "text", To: fmt.Sprint(time.Now().UnixNano())}}
			}
		},
		"one: changes mood: mood is not among the changes": func(typ *states.Type[thing]) {
			typ.Diff = func(have *thing, want thing) []states.Change {
				if have != nil && *have.Text == *want.Text && *have.Mood == *want.Mood {
					return nil
				}
				return []states.Change{{Attribute: "text"}}
			}
		},
	} {
		wrong, _ := check(t, faulty(change), example)
		found := strings.Join(wrong, "\n")
		if !strings.Contains(found, want) {
			t.Errorf("no %q in:\n%.2000s", want, found)
		}
	}
	delete(example.Updates, "text")
	if _, untried := check(t, faulty(nil), example); len(untried) != 1 || untried[0] != "text" {
		t.Errorf("untried: %v", untried)
	}
}

// What Collect gives survives a fatal error and a panic.
func TestCollect(t *testing.T) {
	wrong := conformance.Collect(t.Context(), func(t conformance.T) {
		t.Errorf("one")
		t.Fatalf("two %d", 2)
		t.Errorf("three")
	})
	if fmt.Sprint(wrong) != "[one two 2]" {
		t.Errorf("%q", wrong)
	}
	if wrong := conformance.Collect(t.Context(), func(conformance.T) { panic("oh") }); fmt.Sprint(wrong) != "[panic: oh]" {
		t.Errorf("%q", wrong)
	}
}
