package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// checkConfirms checks that each block that is to be confirmed has one check,
// which comes after it, and that what requires the block requires the check.
func checkConfirms(t interface{ Errorf(string, ...any) }, run *states.StateRun, c *checked) {
	checks := map[string]string{}
	for _, i := range run.Invocations {
		if i.Confirms == "" {
			continue
		}
		if checks[i.Confirms] != "" || len(i.Parts)+len(i.Guards) > 0 || i.Address != i.Confirms+".confirm" {
			t.Errorf("%s has a second check, or one that does something: %+v", i.Confirms, i)
		}
		checks[i.Confirms] = i.Address
	}
	for _, b := range run.Blocks {
		check := checks[b.Address]
		if (b.Confirm != nil) != (check != "") {
			t.Errorf("%s: confirm %v, check %q", b.Address, b.Confirm, check)
		}
		if check == "" {
			continue
		}
		if !c.before[check][b.Address] {
			t.Errorf("%s does not come after its block:\n%s", check, outline(run))
		}
		for _, i := range run.Invocations {
			if slices.Contains(i.Requires, b.Address) && !slices.Contains(i.Requires, check) {
				t.Errorf("%s requires %s without its check:\n%s", i.Address, b.Address, outline(run))
			}
		}
		for _, around := range run.Blocks {
			if slices.Contains(around.Members, b.Address) && !slices.Contains(around.Members, check) {
				t.Errorf("%s does not hold %s:\n%s", around.Address, check, outline(run))
			}
		}
		delete(checks, b.Address)
	}
	if len(checks) > 0 {
		t.Errorf("checks of blocks that are not there: %v", checks)
	}
}

func TestConfirmWaitsForHandlers(t *testing.T) {
	s := newSite()
	s.state("conf", notify("state.reload"))
	s.block("ssh", []string{"state.conf"}, confirm, notifyFailure("state.alarm"))
	s.state("next", require("block.ssh"))
	s.state("reload", lazy, notify("state.status"))
	s.state("status", lazy)
	s.state("alarm", lazy)
	run := s.compile(t).Run
	want(t, sequence(run), "state.conf state.reload state.status block.ssh.confirm state.alarm state.next")
	want(t, edges(t, run, "block.ssh.confirm"), "requires [] after [block.ssh state.reload state.status] by []")
	want(t, edges(t, run, "state.next"), "requires [block.ssh state.reload state.status block.ssh.confirm state.alarm] after [] by []")
	want(t, edges(t, run, "state.alarm"), "requires [] after [] by [block.ssh:failure block.ssh.confirm:failure]")
	if b := run.Blocks[0]; b.Confirm == nil || b.Confirm.Command[0] != "check" {
		t.Errorf("%+v", b)
	}
}

// A handler that requires the block cannot be waited for.
func TestConfirmGivesWay(t *testing.T) {
	s := newSite()
	s.state("conf", notify("state.reload"))
	s.block("ssh", []string{"state.conf"}, confirm)
	s.state("reload", lazy, require("block.ssh"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.conf block.ssh.confirm state.reload")
	var found []string
	for _, d := range s.diagnostics() {
		found = append(found, d.Summary)
	}
	want(t, strings.Join(found, "; "), "block.ssh.confirm cannot wait for state.reload, which block.ssh may notify")
}

func TestConfirmWithinBlocks(t *testing.T) {
	s := newSite()
	s.state("a")
	s.block("inner", []string{"state.a"}, confirm)
	s.state("b")
	s.state("mend", lazy)
	s.block("outer", []string{"block.inner", "state.b"}, ordered, confirm, rescue("state.mend"))
	s.state("c", require("block.outer"))
	run := s.compile(t).Run
	want(t, sequence(run), "state.a block.inner.confirm state.b state.mend block.outer.confirm state.c")
	want(t, edges(t, run, "state.b"), "requires [block.inner block.inner.confirm] after [] by []")
	outer := run.Blocks[1]
	want(t, strings.Join(outer.Members, " "), "state.a block.inner block.inner.confirm state.b"[len("state.a "):])
}

// What is taken away goes before what it required, and waits for no check.
func TestConfirmOfAbsent(t *testing.T) {
	s := newSite()
	s.top(resource("file", "/a", ""), absent)
	s.block("x", []string{`file["/a"]`}, confirm)
	s.top(resource("file", "/b", ""), absent, require("block.x"))
	run := s.compile(t).Run
	want(t, sequence(run), `file["/b"] file["/a"] block.x.confirm`)
	if len(s.diagnostics()) > 0 {
		t.Error(s.diagnostics())
	}
}

func TestConfirmIsSelected(t *testing.T) {
	s := newSite()
	s.state("conf", notify("state.reload"), tags("web"))
	s.state("key")
	s.block("ssh", []string{"state.conf", "state.key"}, confirm, notifyFailure("state.alarm"))
	s.block("out", []string{"state.other"}, confirm, leftOut)
	s.state("next", require("block.ssh"))
	s.state("reload", lazy)
	s.state("alarm", lazy)
	s.state("other")
	for _, c := range []struct {
		by   graph.Selection
		want string
	}{
		{graph.Selection{}, "state.conf state.key state.reload block.ssh.confirm state.alarm state.next"},
		{graph.Selection{Targets: []string{"state.conf"}}, "state.conf state.reload block.ssh.confirm state.alarm"},
		{graph.Selection{Tags: []string{"web"}}, "state.conf state.reload block.ssh.confirm state.alarm"},
		{graph.Selection{Targets: []string{"block.ssh.confirm"}}, "state.conf state.key state.reload block.ssh.confirm state.alarm"},
		{graph.Selection{Exclude: []string{"state.conf"}}, "state.key block.ssh.confirm state.alarm"},
		{graph.Selection{Exclude: []string{"state.conf", "state.key"}}, ""},
		{graph.Selection{Exclude: []string{"block.ssh"}}, ""},
	} {
		run := selected(t, s, c.by)
		if got := sequence(run); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.by, got, c.want)
		}
	}
}

func TestConfirmIsDrawn(t *testing.T) {
	s := newSite()
	s.state("conf")
	s.block("ssh", []string{"state.conf"}, confirm)
	s.state("next", require("block.ssh"))
	r := s.compile(t)
	var b strings.Builder
	if err := graph.Text(&b, r.Run); err != nil {
		t.Fatal(err)
	}
	want(t, b.String(), `state.next
├── block.ssh
│   ├── state.conf (member)
│   └── block.ssh.confirm (confirm)
└── block.ssh.confirm
`)
	e, err := graph.Why(r, "block.ssh.confirm")
	if err != nil {
		t.Fatal(err)
	}
	want(t, fmt.Sprintf("%s; after %v; by %v", e.Runs, e.After, e.RequiredBy),
		"when something in block.ssh has changed; after [block.ssh]; by [state.next]")
}
