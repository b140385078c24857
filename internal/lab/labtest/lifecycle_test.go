//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/states"
)

// lifecycle is what a real host must show of a module: a part is created, and
// each of its attributes is changed; then it is made absent. Before each of these
// the plan foretells exactly what the apply then does, and after each of them there
// is nothing to do. No act touches what its module does not declare.
type lifecycle struct {
	Type, Label string
	// Prepare is a script that makes the host ready.
	Prepare string
	// Beside is HCL of what the part needs, which is always declared; the part
	// requires all of it, being below.
	Beside string
	// Steps are the part's attributes, one after the other. The first one creates it.
	Steps []step
	// Untried are the attributes that no step changes, and why.
	Untried map[string]string
	// Found says that a host has one from the start, which the first step changes.
	Found bool
	// Gone is a script that must succeed once the part is absent; empty only of a
	// module that cannot be absent.
	Gone string
}

// step is a part as it is wanted.
type step struct {
	Set string // attributes, in HCL
	// Verify is a script that must succeed afterwards: the host itself says so.
	Verify string
	// Maybe is a text in the reason why the plan is not certain; mostly it is.
	Maybe string
}

// run carries the lifecycle out on a host.
func (l lifecycle) run(m *machine) {
	m.Helper()
	module := modules.Standard().Lookup(l.Type)
	if module == nil {
		m.Fatalf("there is no module %q", l.Type)
	}
	if l.Prepare != "" {
		m.shell(l.Prepare)
	}
	if l.Beside != "" {
		m.site(l.Beside)
		m.apply()
	}
	tried := map[string]bool{}
	for i, s := range l.Steps {
		action := states.Update
		switch {
		case module.IsAct():
			action = states.Execute
		case i == 0 && !l.Found:
			action = states.Create
		}
		for _, name := range l.carryOut(m, s.Set, action, s.Maybe) {
			tried[name] = tried[name] || i > 0
		}
		if s.Verify != "" {
			m.shell(s.Verify)
		}
	}
	for _, a := range module.Attributes {
		_, excused := l.Untried[a.Name]
		if !module.IsAct() && !a.Key && !a.In && !a.Out && tried[a.Name] == excused {
			m.Errorf("%s: attribute %s is changed: %v, excused: %v", l.Type, a.Name, tried[a.Name], excused)
		}
	}
	if module.Remove == nil {
		return
	}
	if l.Gone == "" {
		m.Errorf("%s: nothing says that it is gone", l.Type)
	}
	last := l.Steps[len(l.Steps)-1]
	l.carryOut(m, last.Set+"\nensure = \"absent\"\n", states.Remove, "")
	m.shell(l.Gone)
}

// carryOut plans, applies, plans and applies again, and gives the attributes that
// changed.
func (l lifecycle) carryOut(m *machine, set string, action states.Action, maybe string) []string {
	m.Helper()
	site := fmt.Sprintf("%s\n%s %q {\n%s\n}\n", l.Beside, l.Type, l.Label, set)
	m.site(site)
	what := fmt.Sprintf("%s %q {%s}", l.Type, l.Label, set)
	plan := m.tenet("plan")
	if plan.status != 0 {
		m.Fatalf("%s\nplan: exit status %d\n%s%s", what, plan.status, plan.failures(), plan.stderr)
	}
	planned := l.only(m, what, plan)
	certain := planned.Certain != nil && *planned.Certain
	if planned.Action != action || certain != (maybe == "") || !strings.Contains(planned.Reason, maybe) {
		m.Errorf("%s\nthe plan says %q, certain: %v, reason %q; want %q", what, planned.Action, certain, planned.Reason, action)
	}
	var apply result
	act := func() { apply = m.tenet("apply", "--yes") }
	if isForeseeable(m, site, planned.Address) {
		m.watchActs(site, act, l.Type)
	} else {
		act()
	}
	if apply.status != 0 {
		m.Fatalf("%s\napply: exit status %d\n%s%s", what, apply.status, apply.failures(), apply.stderr)
	}
	done := l.only(m, what, apply)
	if done.Outcome != states.Changed {
		m.Errorf("%s\nthe apply left it %s", what, done.Outcome)
	}
	if foretold, made := described(m.T, planned), described(m.T, done); !maps.Equal(foretold, made) {
		m.Errorf("%s\nthe plan foretold %v\nand done was   %v", what, foretold, made)
	}
	if !repeats(l.Type) {
		l.nothingToDo(m, what)
	}
	return slices.Collect(maps.Keys(described(m.T, done)))
}

// isForeseeable reports whether a plan is certain of what is elsewhere after the act of a part, which
// then may not touch just anything.
func isForeseeable(m *machine, site, address string) bool {
	m.Helper()
	m.site(fmt.Sprintf("%s\nfile \"/srv/elsewhere/probe\" {\n  ensure = \"absent\"\n  require = [%s]\n}\n", site, address))
	defer m.site(site)
	plan := m.tenet("plan")
	for _, e := range plan.parts() {
		if e.Key == "/srv/elsewhere/probe" {
			return e.Certain != nil && *e.Certain
		}
	}
	m.Fatalf("nothing is said of what is elsewhere: %s%s", plan.failures(), plan.stderr)
	return false
}

// nothingToDo plans and applies what is there already.
func (l lifecycle) nothingToDo(m *machine, what string) {
	m.Helper()
	again := m.tenet("plan")
	for _, e := range again.parts() {
		if e.Action != states.NoChange {
			m.Errorf("%s\na second plan would %s %s (%s): %v", what, e.Action, e.Address, e.Reason, e.Changes)
		}
	}
	if changed := m.apply(); len(changed) > 0 {
		m.Errorf("%s\na second apply changed %q", what, changed)
	}
}

// only finds the part's event, and wants no other part to change.
func (l lifecycle) only(m *machine, what string, r result) states.Event {
	m.Helper()
	var found *states.Event
	for _, e := range r.parts() {
		switch quiet := e.Action == states.NoChange || e.Outcome == states.Unchanged; {
		case e.Part == l.Type && e.Key == l.Label || strings.HasPrefix(e.Address, l.Type+".") || strings.HasPrefix(e.Address, l.Type+"["):
			found = &e
		case !quiet:
			m.Errorf("%s\n%s is touched, too: %s%s", what, e.Address, e.Action, e.Outcome)
		}
	}
	if found == nil {
		m.Fatalf("%s\nnothing is said of it: %s", what, r.stderr)
	}
	return *found
}

// described gives what an event says of each attribute that changes, as JSON.
func described(t *testing.T, e states.Event) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range e.Changes {
		c.Diff = "" // only plans show it
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out[c.Attribute] = string(data)
	}
	return out
}

// repeats tells the acts that do the same again whenever they run.
func repeats(module string) bool {
	return slices.Contains([]string{"command", "restart", "reload", "http"}, module)
}

func TestLifecycleOfFiles(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "file", Label: "/srv/f",
		Steps: []step{
			{Set: `content = "one\n"`, Verify: `[ "$(stat -c '%U %a' /srv/f)" = "root 644" ]`},
			{Set: `content = "two\n"`, Verify: `grep -qx two /srv/f`},
			{Set: `mode = "0600"`, Verify: `[ "$(stat -c %a /srv/f)" = 600 ]`},
			{Set: `owner = "www-data"`, Verify: `[ "$(stat -c %U /srv/f)" = www-data ]`},
			{Set: `group = "www-data"`, Verify: `[ "$(stat -c %G /srv/f)" = www-data ]`},
		},
		Gone: "test ! -e /srv/f",
	}.run(m)
	lifecycle{
		Type: "directory", Label: "/srv/d/e",
		Steps: []step{
			{Set: `parents = true`, Verify: `[ "$(stat -c '%U %G %a' /srv/d/e)" = "root root 755" ] && touch /srv/d/e/f`},
			{Set: "mode = \"0700\"\nparents = true", Verify: `[ "$(stat -c %a /srv/d/e)" = 700 ]`},
			{Set: `owner = "www-data"`, Verify: `[ "$(stat -c '%U %a' /srv/d/e)" = "www-data 700" ]`},
			{Set: "group = \"www-data\"\nrecurse = true\nforce = true", Verify: `[ "$(stat -c %G /srv/d/e/f)" = www-data ] && [ "$(stat -c %U /srv/d/e/f)" = root ]`},
		},
		Gone: "test ! -e /srv/d/e && test -d /srv/d",
	}.run(m)
	lifecycle{
		Type: "symlink", Label: "/srv/l",
		Prepare: "touch /srv/t",
		Steps: []step{
			{Set: `target = "t"`, Verify: `[ /srv/l -ef /srv/t ]`},
			{Set: `target = "/srv/nowhere"`, Verify: `[ "$(readlink /srv/l)" = /srv/nowhere ]`},
			{Set: "target = \"/srv/nowhere\"\nowner = \"www-data\"", Verify: `[ "$(stat -c %U /srv/l)" = www-data ]`},
			{Set: "target = \"/srv/nowhere\"\ngroup = \"www-data\"", Verify: `[ "$(stat -c '%U %G' /srv/l)" = "www-data www-data" ]`},
		},
		Gone: "test ! -L /srv/l && test -e /srv/t",
	}.run(m)
	lifecycle{
		Type: "line", Label: "who may log in",
		Prepare: "cp /etc/ssh/sshd_config /srv/sshd_config",
		Steps: []step{{
			Set:    "path = \"/srv/sshd_config\"\nline = \"AllowUsers alice\"\nbefore = \"^Subsystem\"",
			Verify: "grep -B1 ^Subsystem /srv/sshd_config | grep -qx 'AllowUsers alice' && sshd -t -f /srv/sshd_config",
		}},
		Gone: "cmp /srv/sshd_config /etc/ssh/sshd_config",
	}.run(m)
}

// A line that stands in the place of another one changes that.
func TestLineInThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("cp /etc/ssh/sshd_config /srv/sshd_config")
	m.site("line \"no root login\" {\n  path = \"/srv/sshd_config\"\n  line = \"PermitRootLogin no\"\n  match = \"^#?PermitRootLogin\\\\s\"\n}\n")
	if plan, _ := m.foretold(); plan[`line["no root login"]`].Action != states.Update {
		t.Errorf("the plan says %+v", plan)
	}
	m.gives("diff /etc/ssh/sshd_config /srv/sshd_config | grep -c '^[<>]'; sshd -T -f /srv/sshd_config | grep -i ^permitrootlogin", "2\npermitrootlogin no")
}
