package custom_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

var (
	comment = regexp.MustCompile(`### (.*)$`)
	quoted  = regexp.MustCompile(`"([^"]*)"`)
)

// Every mistake is told, at its line; and nothing else is.
func TestMistakes(t *testing.T) {
	a, err := txtar.ParseFile("testdata/wrong.txtar")
	if err != nil {
		t.Fatal(err)
	}
	site := fstest.MapFS{}
	expected := map[string][]string{} // "file:line" → patterns
	for _, f := range a.Files {
		site[f.Name] = &fstest.MapFile{Data: f.Data}
		for i, line := range strings.Split(string(f.Data), "\n") {
			if m := comment.FindStringSubmatch(line); m != nil {
				for _, q := range quoted.FindAllStringSubmatch(m[1], -1) {
					place := fmt.Sprintf("%s:%d", f.Name, i+1)
					expected[place] = append(expected[place], q[1])
				}
			}
		}
	}
	// What is about a file's name has no line.
	for name, text := range map[string]string{
		"state": "a word of the language", "list": "a word of Starlark", "two-words": "cannot name a module", "taken": "there is a module .taken. already",
	} {
		expected["modules/"+name+".star:0"] = []string{text}
	}
	taken := source(t, minimal)
	taken.Name = "taken"
	set, list := custom.Load(site, custom.Dir, custom.Options{Registry: states.NewRegistry(taken)})
	for _, d := range list {
		place := fmt.Sprintf("%s:%d", d.Range.File, d.Range.Start.Line)
		text := d.Error()
		if d.Severity == diag.Warning {
			text = "warning: " + d.Summary + " (" + d.Hint + ")"
		}
		if !meet(expected, place, text) {
			t.Errorf("not expected: %s", text)
		}
	}
	for place, texts := range expected {
		for _, text := range texts {
			t.Errorf("%s: nothing says %q", place, text)
		}
	}
	if names := set.Modules(); len(names) != 2 || names[0].Name != "keyless" || names[1].Name != "warned" { // those with warnings alone
		t.Errorf("%d modules are good", len(names))
	}
}

// meet strikes out an expectation.
func meet(expected map[string][]string, place, text string) bool {
	for i, pattern := range expected[place] {
		if regexp.MustCompile(pattern).MatchString(text) {
			expected[place] = append(expected[place][:i:i], expected[place][i+1:]...)
			return true
		}
	}
	return false
}

const minimal = `
"""Doc."""
attributes = {"name": attr("string", key = True, doc = "Doc.")}
def act(host, want): return False
`

// What a function returns is held to the schema; the error names module,
// function, attribute and place.
func TestWrongResults(t *testing.T) {
	const head = `"""Doc."""
attributes = {
    "name": attr("string", key = True, doc = "Doc."),
    "size": attr("int", doc = "Doc."),
    "mode": attr("mode", doc = "Doc."),
    "list": attr("list", doc = "Doc."),
    "seen": attr("string", out = True, doc = "Doc."),
}
no_absent = "No."
`
	for _, c := range []struct{ functions, want string }{
		{"def read(host, want): return {'size': '1'}", `module x: read: attribute "size": an int is required, not a value of type string` + "\nat modules/x.star:10:1 in read"},
		{"def read(host, want): return {'size': 1.5}", `attribute "size": an int is required, not a value of type float`},
		{"def read(host, want): return {'size': True}", `attribute "size": an int is required, not a value of type bool`},
		{"def read(host, want): return {'mode': 0o644}", `attribute "mode": a string of octal digits is required, such as "0644", not a value of type int`},
		{"def read(host, want): return {'mode': 'rw'}", `attribute "mode": "rw" is no mode`},
		{"def read(host, want): return {'list': ['a', 1]}", `attribute "list": a list of strings is required`},
		{"def read(host, want): return {'list': 'a'}", `attribute "list": a list of strings is required`},
		{"def read(host, want): return {'siez': 1}", `attribute "siez": there is no such attribute (did you mean "size"?)`},
		{"def read(host, want): return {1: 1}", `has strings for keys, not int`},
		{"def read(host, want): return True", `a dict of attributes, or None, is to be returned, not a value of type bool`},
		{"def read(host, want): return want.sise", `x has no .sise field or method (did you mean .size?)` + "\nat modules/x.star:10:"},
		{"def read(host, want): return host.red_file('/x')", `host has no .red_file field or method (did you mean .read_file?)`},
		{"def read(host, want): host.write_file('/x', 'a', mode = 420)", `a mode is a string of octal digits`},
		{"def read(host, want): host.write_file('/x', 1)", `content is a string or a content, not a value of type int`},
		{"def read(host, want): host.run('ls')", `run: for parameter argv: got string, want list`},
		{"def read(host, want): host.run([])", `argv names no program`},
		{"def read(host, want): host.run(['a\\0b'])", `holds a NUL character`},
		{"def read(host, want): host.query(['ls'])", `say what the answer depends on`},
		{"def read(host, want): host.run(['ls'], timeout = 'soon')", `a timeout is a duration`},
		{"def read(host, want): host.run(['ls'], env = {'A=B': 'c'})", `env is a dict of names and strings`},
		{"def read(host, want): return want.name + 1", "unknown binary op: string + int\nat modules/x.star:10:40 in read"},
		{"def f(): return 1 // 0\ndef read(host, want): f()", "floored division by zero\nat modules/x.star:10:19 in f\ncalled from modules/x.star:11:24 in read"},
		{"def read(host, want):\n  for i in range(1000000):\n    for j in range(1000000): pass", "stopped after 20000000 steps (look for a loop"},
		{"def read(host, want): return 'a' * 1000000000", "the repetition would be larger"},
		{"def read(host, want): wrong('nam', 'm')", `attribute "nam": there is no such attribute`},
		{"def read(host, want):\n  x = [1]\n  for i in range(60): x = [x, x]\n  return {'list': x}", "the value would be larger than 16 MiB"},
		{"def read(host, want): pass\ndef diff(have, want): pass", ""},
		{"def read(host, want): return {}\ndef diff(have, want): pass", "module x: diff: it returns a list of (attribute, from, to), not a value of type NoneType"},
		{"def read(host, want): return {}\ndef diff(have, want): return [('nam', 1, 2)]", `attribute "nam": there is no such attribute (did you mean "name"?)`},
		{"def read(host, want): return {}\ndef diff(have, want): return [1]", `a change is (attribute, from, to)`},
	} {
		m := source(t, head+c.functions+"\ndef write(host, have, want): pass\n")
		want, err := m.Decode(map[string]any{"name": "n"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Read(t.Context(), host.NewMemory(), want)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x00") {
			t.Errorf("%s\n%v\nwant\n%s", c.functions, err, c.want)
		}
	}
	for _, c := range []struct{ functions, want string }{
		{"def act(host, want): pass", "module x: act: it returns True or False"},
		{"def act(host, want): return True, {'size': 1}", `attribute "size": it is not observed (declare it with out = True)`},
		{"def act(host, want): return True, {'seen': 1}", `attribute "seen": a string is required`},
		{"def act(host, want): return {}", "it returns True or False"},
		{"def act(host, want): return False\ndef validate(want): return 'bad'", "validate: it returns nothing, not a value of type string (say what is wrong with wrong("},
	} {
		m := source(t, head+c.functions)
		want, err := m.Decode(map[string]any{"name": "n"}, nil)
		if err == nil {
			err = m.Check(want)
		}
		if err == nil {
			_, _, err = m.Act(t.Context(), host.NewMemory(), want)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v\nwant\n%s", c.functions, err, c.want)
		}
	}
}
