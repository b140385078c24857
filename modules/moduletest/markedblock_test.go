package moduletest_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/markedblock"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const markedBlockConf = "/etc/app.conf"

func putMarkedBlock(content string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, markedBlockConf, content, 0o640) }
}

func markedBlockHolds(content string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if text := fake.Text(h, markedBlockConf); text != content {
			t.Errorf("the file holds %q, want %q", text, content)
		}
		if info, err := h.Lstat(markedBlockConf); err != nil || states.FormatMode(info.Mode) != "0640" {
			t.Errorf("the mode is %v, %v", info.Mode, err)
		}
	}
}

// markedBlockValues are those of a block named b.
func markedBlockValues(content string, more ...any) map[string]any {
	v := map[string]any{"path": markedBlockConf, "name": "b", "content": content}
	for i := 0; i < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

const block = "# tenet: begin \"b\"\nx\n# tenet: end \"b\"\n"

func TestMarkedBlock(t *testing.T) {
	t.Parallel()
	create := func(name, before string, v map[string]any, after string) statestest.Case {
		return statestest.Case{Name: name, Prepare: putMarkedBlock(before), Values: v,
			Action: states.Create, Changes: []string{"content"}, Check: markedBlockHolds(after)}
	}
	statestest.Run(t, statestest.Suite{Module: markedblock.Module, Host: plainHost, Hostile: markedBlockValues("x\n", "create", true), Cases: []statestest.Case{
		create("at the end", "a\n", markedBlockValues("x"), "a\n"+block),
		create("in an empty file", "", markedBlockValues("x"), block),
		create("without a last end of line", "a", markedBlockValues("x"), "a\n"+strings.TrimSuffix(block, "\n")),
		create("with CR LF", "a\r\nb\r\n", markedBlockValues("x\n"), "a\r\nb\r\n"+strings.ReplaceAll(block, "\n", "\r\n")),
		create("after", "a\nb\n", markedBlockValues("x\n", "after", "^a"), "a\n"+block+"b\n"),
		create("before", "a\nb\n", markedBlockValues("x\n", "before", "^b"), "a\n"+block+"b\n"),
		create("before what is not there", "a\nb\n", markedBlockValues("x\n", "before", "^c"), "a\nb\n"+block),
		create("beside another", strings.ReplaceAll(block, `"b"`, `"c"`), markedBlockValues("x\n"), strings.ReplaceAll(block, `"b"`, `"c"`)+block),
		create("beside one whose name begins so", strings.ReplaceAll(block, `"b"`, `"b2"`), markedBlockValues("x\n"), strings.ReplaceAll(block, `"b"`, `"b2"`)+block),
		create("of another language", "<p>\n", markedBlockValues("x\n", "comment", "<!--", "comment_end", "-->"),
			"<p>\n<!-- tenet: begin \"b\" -->\nx\n<!-- tenet: end \"b\" -->\n"),
		create("nothing between", "a\n", markedBlockValues(""), "a\n# tenet: begin \"b\"\n# tenet: end \"b\"\n"),
		{
			Name: "create the file", Values: markedBlockValues("x\n", "create", true),
			Action: states.Create, Changes: []string{"content"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if is := fake.Text(h, markedBlockConf); is != block {
					t.Errorf("%q", is)
				}
			},
		},
		{Name: "nothing to do", Prepare: putMarkedBlock("a\n" + block + "b\n"), Values: markedBlockValues("x")},
		{Name: "nothing to do with CR LF", Prepare: putMarkedBlock(strings.ReplaceAll(block, "\n", "\r\n")), Values: markedBlockValues("x\n")},
		{
			Name: "another content", Prepare: putMarkedBlock("a\n" + block + "b"), Values: markedBlockValues("y\nz\n"),
			Action: states.Update, Changes: []string{"content"}, Check: markedBlockHolds("a\n# tenet: begin \"b\"\ny\nz\n# tenet: end \"b\"\nb"),
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: putMarkedBlock("a\n" + block + "b"), Values: markedBlockValues(""),
			Action: states.Remove, Changes: []string{"content"}, Check: markedBlockHolds("a\nb"),
		}, {
			Name: "absent at the end", Ensure: states.Absent, Prepare: putMarkedBlock("a\n" + strings.TrimSuffix(block, "\n")), Values: markedBlockValues(""),
			Action: states.Remove, Changes: []string{"content"}, Check: markedBlockHolds("a"),
		},
		{Name: "absent already", Ensure: states.Absent, Prepare: putMarkedBlock("a\n"), Values: markedBlockValues("")},
		{Name: "absent without a file", Ensure: states.Absent, Values: markedBlockValues("")},
	}})
}

func TestMarkedBlockFails(t *testing.T) {
	t.Parallel()
	fails := func(name, before, text string) statestest.Case {
		return statestest.Case{Name: name, Prepare: putMarkedBlock(before), Values: markedBlockValues("x\n"), Fails: text}
	}
	wrong := func(name, text string, v map[string]any) statestest.Case {
		return statestest.Case{Name: name, Values: v, Wrong: text}
	}
	statestest.Run(t, statestest.Suite{Module: markedblock.Module, Host: plainHost, Cases: []statestest.Case{
		fails("no end", "a\n# tenet: begin \"b\"\nx\n", "line 2 begins it, and no line ends it"),
		fails("no begin", "a\nx\n# tenet: end \"b\"\n", "line 3 ends it, and no line begins it"),
		fails("two begins", "# tenet: begin \"b\"\n# tenet: begin \"b\"\n# tenet: end \"b\"\n", "the lines 1 and 2 both begin it"),
		fails("twice", block+block, "the lines 1 and 4 both begin it"),
		fails("the wrong way round", "# tenet: end \"b\"\n# tenet: begin \"b\"\n", "line 1 ends it before line 2 begins it"),
		fails("too large", strings.Repeat("a", host.InlineLimit), "more than the 1048576 that are edited in place"),
		{Name: "no file", Values: markedBlockValues("x"), Fails: "is not there", Hint: "create = true"},
		{Name: "no directory", Values: markedBlockValues("x", "path", "/no/where", "create", true), Fails: "the directory /no is not there", Hint: `directory "/no" {}`},
		{
			Name: "a symbolic link", Values: markedBlockValues("x"), Fails: "is a symlink, not a file", Hint: "the path that it leads to",
			Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc/passwd", markedBlockConf) },
		},
		wrong("a mark in the content", "its line 2 is a mark of a block", markedBlockValues("y\n# tenet: end \"b\"\n")),
		wrong("a carriage return", "carriage return", markedBlockValues("a\rb\n")),
		wrong("a name of two lines", "cannot contain", markedBlockValues("x", "name", "a\nb")),
		wrong("a name with a space at its end", "begins or ends with a space", markedBlockValues("x", "name", "a ")),
		wrong("a name that ends the comment", "which ends a comment", markedBlockValues("x", "name", "a --> b", "comment_end", "-->")),
		wrong("no comment", "is not how a comment begins", markedBlockValues("x", "comment", " ")),
		wrong("a pattern", "missing closing", markedBlockValues("x", "after", "(")),
		wrong("both positions", "beside after", markedBlockValues("x", "after", "a", "before", "a")),
	}})
}

// All but the block keeps every byte, whatever stands around it.
func TestMarkedBlockKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx, h := t.Context(), host.NewMemory()
		line := rapid.StringMatching(`[ab #]{0,4}(\r?\n)`)
		top, tail := "", rapid.StringMatching(`[ab]{0,3}`).Draw(t, "tail")
		for _, s := range rapid.SliceOfN(line, 0, 6).Draw(t, "lines") {
			top += s
		}
		m := markedblock.Module
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(h.WriteFile(ctx, "/f", host.Text(top+tail), host.Meta{}))
		want, err := m.Decode(map[string]any{"path": "/f", "name": "n", "content": rapid.SampledFrom([]string{"", "x", "x\n\ny\n"}).Draw(t, "content"),
			"before": "^b"}, nil)
		must(err)
		must(m.Write(ctx, h, nil, want))
		have, err := m.Read(ctx, h, want)
		must(err)
		if d := m.Diff(have, want); len(d) > 0 {
			t.Fatalf("it differs: %v in %q", d, fake.Text(h, "/f"))
		}
		must(m.Remove(ctx, h, have))
		if is := fake.Text(h, "/f"); is != top+tail {
			t.Fatalf("%q became %q", top+tail, is)
		}
	})
}
