package ui

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/fleet"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// still is a table that nothing draws.
func still(names ...string) *table {
	trouble := func(o *fleet.Outcome) *states.Failure {
		if o.Err == nil {
			return nil
		}
		return &states.Failure{Message: o.Err.Error()}
	}
	return newIdleTable(FleetOptions{Hosts: names, Trouble: trouble, Screen: func() (int, int) { return 40, 10 }}, &sync.Mutex{})
}

func shownLines(t *table, now time.Time, room int) string {
	var out strings.Builder
	for _, line := range t.lines(now, room) {
		fmt.Fprintln(&out, t.cut(line, 60))
	}
	return out.String()
}

func parts(n int) *states.StateRun {
	return &states.StateRun{Invocations: []states.Invocation{{Parts: make([]states.Part, n)}}}
}

// A line tells what a host does, how far it is, and how it ended.
func TestTableLines(t *testing.T) {
	tab := still("web1", "web2", "db1", "mail", "gone", "cut", "new")
	now := tab.started.Add(12 * time.Second)
	tab.state("web1", fleet.Running)
	tab.prepared("web1", parts(20))
	tab.event("web1", &states.Event{Type: states.EventPart, Address: "file.a", Outcome: states.Changed})
	tab.event("web1", &states.Event{Type: states.EventBegin, Address: "package.nginx"})
	tab.hosts["web1"].running["package.nginx"] = now.Add(-3 * time.Second)
	tab.prepared("web2", parts(3))
	tab.state("web2", fleet.Running)
	tab.event("web2", &states.Event{Type: states.EventPart, Address: "file.a", Outcome: states.Failed})
	tab.ended("db1", &fleet.Outcome{Status: fleet.Done, Duration: 90 * time.Millisecond,
		Result: &machine.Result{Counts: states.Counts{Changed: 2, Unchanged: 1}}})
	tab.state("mail", fleet.Connecting)
	tab.note("mail", "the runner is \x1b[31mcopied")
	tab.ended("gone", &fleet.Outcome{Status: fleet.Unreachable, Err: fmt.Errorf("it does not answer within 15s, and this is a long line")})
	tab.prepared("cut", parts(9))
	tab.state("cut", fleet.Reconnecting)
	want := `2 of 7 hosts, 2 failed  12s
web1  1/20  package.nginx 3s
web2  1/3, 1 failed
db1   2 changed, 1 unchanged  90ms
mail  connecting  the runner is ^[[31mcopied
gone  could not be reached: it does not answer within 15s, …
cut   0/9  reconnecting: the run goes on there
new   waiting
`
	if got := shownLines(tab, now, 20); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Where there is no room, those that failed stand first, and then those at work.
	want = `2 of 7 hosts, 2 failed  12s
web2  1/3, 1 failed
gone  could not be reached: it does not answer within 15s, …
web1  1/20  package.nginx 3s
and 2 at work, 1 waiting, 1 done
`
	if got := shownLines(tab, now, 5); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for room := range 9 {
		if lines := tab.lines(now, room); len(lines) > max(room, 3) {
			t.Errorf("%d lines where there is room for %d", len(lines), room)
		}
	}
}

// However many have failed, some of those at work are seen.
func TestTableMakesRoom(t *testing.T) {
	tab := still("a", "b", "c", "d", "e", "f", "g")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		tab.hosts[name].outcome = &fleet.Outcome{Machine: name, Status: fleet.Failed}
	}
	tab.hosts["f"].state, tab.hosts["g"].state = fleet.Running, fleet.Running
	var names []string
	for _, line := range tab.lines(tab.started, 8)[1:] {
		names = append(names, strings.Fields(line.text)[0])
	}
	if got := strings.Join(names, " "); got != "a b c d e f g" {
		t.Errorf("with room for all: %s", got)
	}
	names = nil
	for _, line := range tab.lines(tab.started, 5)[1:] {
		names = append(names, line.text)
	}
	if len(names) != 4 || names[0][0] != 'a' || names[1][0] != 'b' || names[2][0] != 'f' || names[3] != "and 3 failed, 1 at work" {
		t.Errorf("%q", names)
	}
}

// What is drawn is over what was drawn before, and nothing is left of it at the end.
func TestTableIsErased(t *testing.T) {
	var out bytes.Buffer
	tab := still("a", "b")
	tab.w = &out
	tab.draw(tab.started)
	tab.draw(tab.started)
	tab.erase()
	tab.erase()
	const table = "0 of 2 hosts  0s\x1b[K\na  waiting\x1b[K\nb  waiting\x1b[K\n"
	if want := table + "\x1b[3A\r" + table + "\x1b[3A\r\x1b[J"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// Who asks something has the terminal alone, whatever happens meanwhile.
func TestTableAside(t *testing.T) {
	tab := still("web1", "web2")
	var out bytes.Buffer
	tab.printer = printer{w: &out}
	f := &Fleet{table: tab, form: newFleetText(FleetOptions{Out: &out, Err: &out, Hosts: tab.order})}
	tab.mu = &f.mu
	look := func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		out.Reset()
		tab.look(tab.started.Add(time.Minute))
		return out.String()
	}
	if got := look(); !strings.Contains(got, "web1") {
		t.Fatalf("it shows %q", got)
	}
	out.Reset()
	f.Aside(func() {
		if got := out.String(); !strings.HasSuffix(got, "\x1b[J") {
			t.Errorf("it is not taken away: %q", got)
		}
		f.State("web1", fleet.Running)
		f.Aside(func() {})
		if got := look(); got != "" {
			t.Errorf("it draws %q meanwhile", got)
		}
	})
	if got := look(); !strings.Contains(got, "web1") || strings.Contains(got, "\x1b[3A") {
		t.Errorf("afterwards it shows %q", got)
	}
}
