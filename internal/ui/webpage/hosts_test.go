package webpage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/ui/webpage"
	"github.com/tenetcm/tenet/states"
)

// hostsPage is a page of hosts, of which the first has a row more, and the last cannot be reached.
func hostsPage(n int) webpage.Page {
	p := pageOf(&states.StateRun{})
	p.Hosts = nil
	row := func(address, text string) states.Event {
		return states.Event{Type: states.EventPart, Address: address, Invocation: "state.web", ID: text, Action: states.Update, Certain: new(true),
			Changes: []states.Change{{Attribute: "content", From: "a", To: "b", Diff: "@@ -1 +1 @@\n-old\n+listen " + text + " now\n"}}}
	}
	for i := range n {
		name := fmt.Sprintf("web%d", i)
		p.Hosts = append(p.Hosts, webpage.Host{Name: name, Rows: []states.Event{row("state.web.file.a", name), row("state.web.file.b", "all")}})
	}
	p.Hosts[0].Rows = append(p.Hosts[0].Rows, row("state.web.file.only", "one"))
	p.Hosts = append(p.Hosts, webpage.Host{Name: "gone", Status: "unreachable", Problem: &states.Failure{Message: "no answer", Hint: "is it on?"}})
	return p
}

// What hosts have in common is on the page once, with the values in which they differ, and each
// host leads to its rows.
func TestPageOfHosts(t *testing.T) {
	got := write(t, hostsPage(5))
	for _, want := range []string{
		`<b>state.web</b> <span class="dim n">3</span>`, `<a href="#hosts1">Which hosts these are</a>`, `listen <a class="gap" href="#values1">⟨…⟩</a> now`,
		`5 values on 5 hosts</summary><pre class="box" tabindex="0"><span>web0: web0` + "\nweb1: web1\n", `data-h="0-4"`, `data-h="0"`, `on web0</span>`,
		`<p>the same rows as <a href="#host1">web1</a></p>`, `<p class="failed">no answer</p>`, `<p>hint: is it on?</p>`, `web0, web1, web2, web3, web4</div>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if n := strings.Count(got, "<b>state.web.file.b</b>"); n != 1 {
		t.Errorf("a row of all is there %d times", n)
	}
}

// A page does not grow by what hosts have in common.
func TestPageOfManyHosts(t *testing.T) {
	if small, large := len(write(t, hostsPage(10))), len(write(t, hostsPage(1000))); large-small > 1000*400 {
		t.Errorf("10 hosts take %d bytes, and 1000 %d", small, large)
	}
}

// The graph has the arrows that no others imply, and those of all hosts once.
func TestDirectArrows(t *testing.T) {
	invocation := func(address string, requires ...string) states.Invocation {
		return states.Invocation{Address: address, Requires: requires}
	}
	first := &states.StateRun{Invocations: []states.Invocation{invocation("a"), invocation("b", "a"), invocation("c", "a", "b"), {Address: "d", Requires: []string{"c"}, After: []string{"a"}},
		{Address: "h", NotifiedBy: []states.Notification{{Address: "a"}}, Requires: []string{"d"}}}}
	second := &states.StateRun{Invocations: []states.Invocation{invocation("a"), invocation("b", "a"), invocation("x", "a", "b"), {Address: "y", After: []string{"x"}, Requires: []string{"a"}}}}
	circle := &states.StateRun{Invocations: []states.Invocation{invocation("p", "q"), invocation("q", "p")}}
	p := hostsPage(1)
	p.Runs = func(yield func(*states.StateRun) bool) { _ = yield(first) && yield(second) && yield(circle) }
	got := write(t, p)
	for _, want := range []string{"a → b (is required by)", "b → c (is required by)", "c → d (is required by)", "d → h (is required by)", "b → x (is required by)", "x → y (comes before)",
		"p → q (is required by)", "q → p (is required by)", "a → y (is required by)"} {
		if strings.Count(got, "<title>"+want) != 1 {
			t.Errorf("%q is drawn %d times", want, strings.Count(got, "<title>"+want))
		}
	}
	for _, none := range []string{"a → c", "a → d", "a → x"} {
		if strings.Contains(got, "<title>"+none) {
			t.Errorf("%q is drawn", none)
		}
	}
}
