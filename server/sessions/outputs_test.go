package sessions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/states"
)

// What a host gives to others comes to the server once it is as wanted, and nothing that is sensitive does.
func TestOutputs(t *testing.T) {
	f := newFleet(t)
	h := f.add("web1")
	const site = `site { name = "shop" }
host "web1" { executor = "agent" }
command "port" {
  argv = ["echo", "%s"]
  plan = true
}
command "made" {
  argv = ["sh", "-c", "echo made >ROOT/made; cat ROOT/made"]
  creates = "ROOT/made"
}
output "port" { value = trimspace(command.port.stdout) }
output "list" { value = [1, "two", null] }
output "token" {
  value     = trimspace(command.port.stdout)
  sensitive = true
}
`
	given := func() map[string]string {
		t.Helper()
		values, changed, err := f.sessions.Outputs(t.Context(), h.key.Public().ID(), "shop")
		if err != nil || changed.IsZero() {
			t.Fatal(changed, err)
		}
		out := map[string]string{}
		for name, v := range values {
			out[name] = string(v)
		}
		return out
	}
	for _, port := range []string{"80", "81"} {
		f.want(h, fmt.Sprintf(site, port), nil)
		f.await("it gives something", func(i *control.Item) bool { return i.Outputs != nil })
		if got, want := given(), map[string]string{"port": `"` + port + `"`, "list": `[1,"two",null]`}; !maps.Equal(got, want) {
			t.Errorf("given is %v, not %v", got, want)
		}
	}
}

// What no agent would give is not taken, and the rest of what comes with it is.
func TestForgedOutputs(t *testing.T) {
	f := newFleet(t)
	h, a := f.raw("web1")
	session := a.hello(9)
	large, _ := json.Marshal(strings.Repeat("x", states.MaxOutput))
	many := map[string]json.RawMessage{}
	for i := range 300 {
		many[fmt.Sprint(i)] = json.RawMessage("1")
	}
	a.send(&control.Batch{Session: session, Stream: "raw", First: 1, Last: 5, Items: [][]byte{
		item(t, control.Item{Outputs: &control.Outputs{Values: map[string]json.RawMessage{"a": json.RawMessage("1")}}}),
		item(t, control.Item{Outputs: &control.Outputs{Site: "shop", Values: map[string]json.RawMessage{"a": large}}}),
		item(t, control.Item{Outputs: &control.Outputs{Site: "shop", Values: many}}),
		item(t, control.Item{Outputs: &control.Outputs{Site: "shop", Values: map[string]json.RawMessage{"": json.RawMessage("1")}}}),
		item(t, control.Item{Outputs: &control.Outputs{Site: "shop", Values: map[string]json.RawMessage{"b": json.RawMessage("2")}}}),
	}})
	if got := answer[*control.Stored](a).Through; got != 5 {
		t.Errorf("it is stored through %d", got)
	}
	values, _, err := f.sessions.Outputs(t.Context(), h.key.Public().ID(), "shop")
	if err != nil || len(values) != 1 || string(values["b"]) != "2" {
		t.Errorf("given is %s: %v", values, err)
	}
}
