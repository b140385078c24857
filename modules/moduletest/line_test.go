package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/line"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
	"pgregory.net/rapid"
)

const lineConf = "/etc/conf"

func newLineHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, "/etc/app.conf", "one\ntwo\n", 0o644)
	return h
}

// editLine is a case with the file before and after.
func editLine(name, before, after string, values map[string]any, action states.Action) statestest.Case {
	values["path"] = lineConf
	var changes []string
	if action == states.Update {
		changes = []string{"line"}
	}
	return statestest.Case{
		Name: name, Values: values, Action: action, Changes: changes,
		Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, lineConf, before, 0o640) },
		Check: func(t *testing.T, h host.Host, _ map[string]any) {
			if is := fake.Text(h, lineConf); is != after {
				t.Errorf("the file holds %q, want %q", is, after)
			}
			if info, err := h.Lstat(lineConf); err != nil || info.Mode != 0o640 {
				t.Errorf("the file's mode is %v, %v", info.Mode, err)
			}
		},
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	cases := []statestest.Case{
		editLine("append", "a\nb\n", "a\nb\nc\n", map[string]any{"line": "c"}, states.Create),
		editLine("there", "a\nc\nb\n", "a\nc\nb\n", map[string]any{"line": "c"}, ""),
		editLine("repeats are left", "c\nc\n", "c\nc\n", map[string]any{"line": "c"}, ""),
		editLine("not a part of a line", "abc\n", "abc\nb\n", map[string]any{"line": "b"}, states.Create),
		editLine("an empty file", "", "c\n", map[string]any{"line": "c"}, states.Create),
		editLine("no last line end", "a\nb", "a\nb\nc", map[string]any{"line": "c"}, states.Create),
		editLine("other line ends", "a\r\nb\r\n", "a\r\nb\r\nc\r\n", map[string]any{"line": "c"}, states.Create),
		editLine("mixed line ends stay", "a\r\nb\nc\r\n", "a\r\nx\nc\r\n", map[string]any{"line": "x", "match": "^b$"}, states.Update),
		editLine("mixed line ends, as the line above", "a\nb\r\n", "a\nb\r\nc\r\n", map[string]any{"line": "c"}, states.Create),
		editLine("a byte order mark", "\ufeffa\nb\n", "\ufeffx\nb\n", map[string]any{"line": "x", "match": "^a$"}, states.Update),
		editLine("before a byte order mark", "\ufeffa\n", "\ufeffx\na\n", map[string]any{"line": "x", "before": "^a$"}, states.Create),
		editLine("after", "a1\na2\nb\n", "a1\na2\nnew\nb\n", map[string]any{"line": "new", "after": "^a"}, states.Create),
		editLine("after nothing", "a\nb\n", "a\nb\nnew\n", map[string]any{"line": "new", "after": "^z"}, states.Create),
		editLine("before", "a\nb1\nb2\n", "a\nnew\nb1\nb2\n", map[string]any{"line": "new", "before": "^b"}, states.Create),
		editLine("before nothing", "a\nb", "a\nb\nnew", map[string]any{"line": "new", "before": "^z"}, states.Create),
		editLine("match", "a\n#Port 22\nb\n", "a\nPort 2222\nb\n", map[string]any{"line": "Port 2222", "match": "^#?Port "}, states.Update),
		editLine("several match", "Port 1\na\nPort 2\nPort 3\n", "Port 22\na\n", map[string]any{"line": "Port 22", "match": "^Port "}, states.Update),
		editLine("several match, one is right", "Port 1\nPort 22\nPort 3\n", "Port 22\n", map[string]any{"line": "Port 22", "match": "^Port "}, states.Update),
		editLine("repeats that match", "Port 22\nPort 22\n", "Port 22\n", map[string]any{"line": "Port 22", "match": "^Port "}, states.Update),
		editLine("no match", "a\n", "a\nPort 22\n", map[string]any{"line": "Port 22", "match": "^Port "}, states.Create),
		editLine("match of another line", "old\nnew\n", "new\n", map[string]any{"line": "new", "match": "^old$"}, states.Update),
		editLine("an option", "a\n", "a\n--help $(reboot)\n", map[string]any{"line": "--help $(reboot)"}, states.Create),
		{Name: "missing file", Values: map[string]any{"path": "/etc/none", "line": "a"}, Fails: "is not there", Hint: "create = true"},
		{Name: "create", Values: map[string]any{"path": "/etc/none", "line": "a", "create": true}, Action: states.Create},
		{Name: "create without directory", Values: map[string]any{"path": "/none/none", "line": "a", "create": true}, Fails: "the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "absent without a file", Values: map[string]any{"path": "/etc/none", "line": "a"}, Ensure: states.Absent},
		{Name: "a directory", Values: map[string]any{"path": "/srv", "line": "a"}, Fails: "is a directory, not a file"},
		{Name: "two lines", Values: map[string]any{"path": lineConf, "line": "a\nb"}, Wrong: "cannot contain"},
		{Name: "no pattern", Values: map[string]any{"path": lineConf, "line": "a", "match": "("}, Wrong: "missing closing"},
		{Name: "two places", Values: map[string]any{"path": lineConf, "line": "a", "after": "a", "before": "b"}, Wrong: "beside after"},
		{Name: "no line", Values: map[string]any{"path": lineConf}, Wrong: "required"},
	}
	for _, name := range []string{"absent", "absent by match"} {
		values := map[string]any{"line": "c"}
		if name == "absent by match" {
			values = map[string]any{"line": "none", "match": "^c$"}
		}
		c := editLine(name, "a\nc\nb\nc", "a\nb", values, states.Remove)
		c.Ensure = states.Absent
		cases = append(cases, c)
	}
	hostile := map[string]any{"path": "/etc/app.conf", "line": "a", "match": "^a$", "after": "^one"}
	statestest.Run(t, statestest.Suite{Module: line.Module, Host: newLineHost, Cases: cases, Hostile: hostile, Trusted: []string{"match"}})
}

// Whatever the file: after the act the line is there, and doing it again
// changes nothing; what does not match keeps its order.
func TestLineConverges(t *testing.T) {
	t.Parallel()
	h := fake.Host(t)
	m := line.Module
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`([abc]{0,2}(\n|\r\n)){0,6}[abc]{0,2}`).Draw(r, "text")
		values := map[string]any{"path": lineConf, "line": rapid.StringMatching(`[abc]{1,2}`).Draw(r, "line")}
		if rapid.Bool().Draw(r, "has match") {
			values["match"] = rapid.SampledFrom([]string{"^a", "b", "c$", "^$"}).Draw(r, "match")
		}
		if rapid.Bool().Draw(r, "has after") {
			values["after"] = rapid.SampledFrom([]string{"^a", "b", "c$"}).Draw(r, "after")
		}
		fake.Put(t, h, lineConf, text, 0o644)
		for round := range 2 {
			want, err := m.Decode(values, nil)
			if err != nil {
				r.Fatal(err)
			}
			have, err := m.Read(t.Context(), h, want)
			if err != nil {
				r.Fatal(err)
			}
			changes := m.Diff(have, m.Fill(have, want))
			if len(changes) == 0 {
				return
			}
			if round == 1 {
				r.Fatalf("after %q: %q still differs by %v", text, fake.Text(h, lineConf), changes)
			}
			if err := m.Write(t.Context(), h, have, m.Fill(have, want)); err != nil {
				r.Fatal(err)
			}
		}
	})
}
