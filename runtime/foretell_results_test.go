package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// drawResults lets a part compute a value of results of parts before it: a
// file's content or path, a link's target, a line, or whether the part runs.
func drawResults(t *rapid.T, p *states.PartDeclaration, before []states.Ref) {
	if len(before) == 0 || rapid.IntRange(0, 2).Draw(t, "results") > 0 {
		return
	}
	attribute := map[string]string{"file": "content", "directory": "mode", "symlink": "target", "line": "line"}[p.Type]
	x := drawText(t, before)
	switch {
	case rapid.IntRange(0, 5).Draw(t, "when") == 0:
		x = node(states.Expr{Kind: states.ExprOperator, Name: "!=", Args: []*states.Expr{x, literal("m0644")}})
		p.Options.Guards = append(p.Options.Guards, states.GuardDeclaration{Results: map[string]*states.Expr{"when": x}})
		return
	case rapid.IntRange(0, 5).Draw(t, "path") == 0:
		attribute = "path"
		x = node(states.Expr{Kind: states.ExprTemplate, Args: []*states.Expr{literal("/x-"),
			node(states.Expr{Kind: states.ExprCall, Name: "md5", Args: []*states.Expr{x}})}})
		p.Key, p.Paths = "", nil
	case p.Type == "directory":
		return
	}
	if p.Type == "line" { // its line is a part of its key
		p.Key = ""
	}
	delete(p.Values, attribute)
	p.Results = map[string]*states.Expr{attribute: x}
}

// drawText is a text of a result, with what stands for it where there is none.
func drawText(t *rapid.T, before []states.Ref) *states.Expr {
	ref := rapid.SampledFrom(before).Draw(t, "of")
	typ, _, _ := strings.Cut(ref.Part, ".")
	attributes := map[string][]string{"file": {"content", "mode", "path"}, "directory": {"mode", "path"}, "symlink": {"target"}, "line": {"line", "path"}, "command": {"stdout", "exit_code"}}[typ]
	x := node(states.Expr{Kind: states.ExprRef, Ref: ref, Name: rapid.SampledFrom(attributes).Draw(t, "attribute")})
	if rapid.IntRange(0, 2).Draw(t, "trimmed") > 0 {
		x = node(states.Expr{Kind: states.ExprCall, Name: "trimspace", Args: []*states.Expr{x}})
	}
	x = node(states.Expr{Kind: states.ExprTemplate, Args: []*states.Expr{literal("m"), x}})
	if rapid.IntRange(0, 3).Draw(t, "try") > 0 {
		x = node(states.Expr{Kind: states.ExprCall, Name: "try", Args: []*states.Expr{x, literal("nothing")}})
	}
	return x
}

func literal(text string) *states.Expr {
	return node(states.Expr{Kind: states.ExprLiteral, Value: text})
}

func node(x states.Expr) *states.Expr {
	made, err := x.New()
	if err != nil {
		panic(err)
	}
	return made
}

// withCommands puts commands in place of some parts, which say something that a
// plan cannot know, and touch something; what comes after may use it.
func withCommands(t *rapid.T, d *states.Declarations) {
	var commands []states.Ref
	for i := range d.List {
		decl := &d.List[i]
		for k := range decl.Parts {
			p := &decl.Parts[k]
			switch {
			case rapid.IntRange(0, 4).Draw(t, "command") == 0 && !named(d, decl, p.Address):
				*p = states.PartDeclaration{Type: "command", Address: fmt.Sprintf("command.p%d", k), Base: fmt.Sprintf("command.p%d", k),
					Values: map[string]any{"argv": []any{"say", rapid.SampledFrom([]string{"m0644", "0600", "/a", "x"}).Draw(t, "says"),
						rapid.SampledFrom([]string{"nothing", "write", "remove", "mode"}).Draw(t, "does"), rapid.SampledFrom(paths()).Draw(t, "to")}}}
				promise(t, p.Values)
				if rapid.IntRange(0, 3).Draw(t, "conditional") == 0 {
					creates := rapid.SampledFrom(paths()[:6]).Draw(t, "creates") // without links: see throughLinks
					p.Values["creates"], p.Paths = creates, []string{creates}
					if rapid.IntRange(0, 3).Draw(t, "keeps its word") > 0 {
						p.Values["argv"].([]any)[2], p.Values["argv"].([]any)[3] = "write", creates
						delete(p.Values, "writes")
						promise(t, p.Values)
					}
				}
				commands = append(commands, states.Ref{Address: decl.Address, Part: p.Address})
			case len(commands) > 0 && p.Type == "file" && p.Results == nil && rapid.Bool().Draw(t, "of a command"):
				if ref := rapid.SampledFrom(commands).Draw(t, "which"); ref.Address != decl.Address {
					drawResults(t, p, []states.Ref{ref})
				}
			}
		}
	}
}

// promise lets a command say what it writes: what it touches, or what is above, and more.
func promise(t *rapid.T, values map[string]any) {
	if rapid.IntRange(0, 2).Draw(t, "promises") == 0 {
		return
	}
	argv, writes := values["argv"].([]any), []any{}
	if touched := argv[3].(string); argv[2] != "nothing" {
		if dir := path.Dir(touched); dir != "/" && rapid.IntRange(0, 3).Draw(t, "promises all below") == 0 {
			touched = dir
		}
		writes = append(writes, touched)
	}
	if rapid.IntRange(0, 3).Draw(t, "promises more") == 0 {
		writes = append(writes, rapid.SampledFrom(paths()).Draw(t, "more"))
	}
	values["writes"] = writes
}

// named reports whether a part's result is asked for.
func named(d *states.Declarations, owner *states.Declaration, address string) bool {
	for _, decl := range d.List {
		for _, p := range decl.Parts {
			refs := states.ResultRefs(p.Results)
			for _, g := range p.Options.Guards {
				refs = append(refs, states.ResultRefs(g.Results)...)
			}
			for _, x := range refs {
				if x.Ref.Part == address && (x.Ref.Address == owner.Address || x.Ref.Self && decl.Address == owner.Address) {
					return true
				}
			}
		}
	}
	return false
}

// say is a command that answers, and touches a path of the host.
func say(h *host.Memory) host.Program {
	return func(ctx context.Context, c host.Command) (host.Result, error) {
		name := c.Argv[3] // where there is no such thing, nothing is done
		switch c.Argv[2] {
		case "write":
			_ = h.WriteFile(ctx, name, host.Text("touched\n"), host.Meta{})
		case "remove":
			_ = h.Remove(name)
		case "mode":
			_ = h.SetMeta(name, host.Meta{Mode: new(fs.FileMode(0o711))})
		}
		return host.Result{Stdout: []byte(c.Argv[1])}, nil
	}
}

// shuffled is the same run for an engine that takes what is ready in another order.
func shuffled(t *rapid.T, run *states.StateRun) *states.StateRun {
	other := *run
	other.Invocations = rapid.Permutation(run.Invocations).Draw(t, "order")
	return &other
}

// What a plan says is certain happens as long as nothing fails of which it is not certain, whatever commands say and
// touch of what they have promised, and in whatever order an apply takes what is ready: no
// row lies.
func TestCertainRowsHold(t *testing.T) {
	registry := modules.Standard()
	var rows tally
	rapidtest.For(t, "2000")
	rapid.Check(t, func(t *rapid.T) {
		site := drawSite(t, registry)
		tame(site)
		withCommands(t, site)
		compiled, _ := graph.Compile(site, graph.Options{Registry: registry})
		if compiled == nil {
			return // a cycle
		}
		h := drawHost(t)
		for _, dir := range []string{"/d", "/d/e"} {
			if _, err := h.Lstat(dir); err != nil {
				if err := h.Mkdir(dir, host.Meta{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		h.Handle("say", say(h))
		lies, err := rows.compare(t.Context(), compiled.Run, shuffled(t, compiled.Run), runtime.Options{Host: h, Registry: registry, Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(lies) > 0 {
			t.Fatalf("%s\n%s", strings.Join(lies, "\n"), pretty(compiled.Run.Invocations))
		}
	})
	t.Logf("%d certain rows held, %d of them unchanged, %d were maybes", rows.certain, rows.unchanged, rows.maybes)
	if (rows.certain < 500 || rows.unchanged < 50 || rows.maybes < 500) && !testing.Short() {
		t.Errorf("too few rows: the test shows little")
	}
}

// compare plans a run, applies the same one in another order, and lists the rows that were certain
// and differ, as long as nothing fails of which the plan is not certain; if it goes on, as long as
// all changes are made that the plan has seen.
func (c *tally) compare(ctx context.Context, planned, applied *states.StateRun, o runtime.Options) (lies []string, err error) {
	rows, isOver := map[string]states.Event{}, false
	o.Events = func(ev states.Event) { rows[ev.Address] = ev }
	if _, err := runtime.Plan(ctx, planned, o); err != nil {
		return nil, err
	}
	o.Events = func(ev states.Event) {
		row := rows[ev.Address]
		if ev.Type != states.EventPart || row.Certain == nil {
			return
		}
		failsByChance := ev.Outcome == states.Failed && (row.Action == states.Execute || !*row.Certain)
		if c.goesOn {
			isOver = isOver || (failsByChance || ev.Outcome == states.Blocked) && isForeseen(row.Action)
		} else {
			isOver = isOver || failsByChance
		}
		if !*row.Certain {
			c.maybes++
			return
		}
		if isOver || failsByChance || ev.Outcome == states.Blocked {
			return // by a program, or what was a maybe: a plan does not guess what comes of that
		}
		c.certain++
		switch {
		case row.Action == states.NoChange && row.Outcome == "":
			if c.unchanged++; ev.Outcome != states.Unchanged {
				lies = append(lies, fmt.Sprintf("%s was certain to stay, and is %s %s %s", ev.Address, ev.Outcome, ev.Action, changed(ev)))
			}
		case row.Outcome == states.Failed && ev.Outcome != states.Failed,
			row.Outcome != states.Failed && (ev.Outcome != states.Changed || ev.Action != row.Action || changed(ev) != changed(row)):
			lies = append(lies, fmt.Sprintf("%s was certain to be %s %s %s, and is %s %s %s", ev.Address, row.Outcome, row.Action, changed(row),
				ev.Outcome, ev.Action, changed(ev)))
		}
	}
	_, err = runtime.Apply(ctx, applied, o)
	return lies, err
}

// isForeseen reports whether a plan sees what an action makes of the host, and goes by that after it.
func isForeseen(a states.Action) bool {
	return a == states.Create || a == states.Update || a == states.Remove
}

// tame leaves nothing absent, no links and no directory in place of a file:
// behind something unforeseeable a plan takes missing directories as made, which
// is another matter than results.
func tame(d *states.Declarations) {
	straight := func(list []states.GuardDeclaration) { // no guard looks through a link: see throughLinks
		for k := range list {
			for _, path := range []*string{&list[k].Exists, &list[k].Missing} {
				if strings.HasPrefix(*path, "/l") {
					*path = "/a"
				}
			}
		}
	}
	for i := range d.List {
		straight(d.List[i].Options.Guards)
		for k := range d.List[i].Parts {
			straight(d.List[i].Parts[k].Options.Guards)
		}
		for k := range d.List[i].Parts {
			p := &d.List[i].Parts[k]
			p.Options.Ensure = ""
			if len(p.Paths) == 0 {
				continue
			}
			path := map[string]string{"file": "/d/g", "directory": "/d/e", "line": "/b"}[p.Type]
			if p.Type == "file" && !strings.HasPrefix(p.Paths[0], "/l") && p.Paths[0] != "/d" && p.Paths[0] != "/d/e" && p.Paths[0] != "/b" {
				continue
			}
			if p.Type == "symlink" {
				*p = states.PartDeclaration{Address: p.Address, Base: p.Base, Type: "file", Values: map[string]any{}}
				path = "/a"
			}
			p.Values["path"], p.Paths = path, []string{path}
			if p.Type != "line" {
				p.Key = path
			}
		}
	}
}

// changed lists the changes of a row, without diffs.
func changed(ev states.Event) string {
	changes := append([]states.Change(nil), ev.Changes...)
	for i := range changes {
		changes[i].Diff = ""
	}
	text, err := json.Marshal(changes)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}
