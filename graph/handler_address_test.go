package graph

import (
	"slices"
	"testing"
)

func TestAddressesByHandler(t *testing.T) {
	for address, want := range map[string]string{
		"handler.a":                              "state.a",
		"handler.a.command.b":                    "state.a.command.b",
		"component.c.handler.a#2":                "component.c.state.a#2",
		`component.c["x"].component.d.handler.a`: `component.c["x"].component.d.state.a`,
		`component.c["a.handler.b"].state.a`:     `component.c["a.handler.b"].state.a`,
		`component.c["\"].handler.b"].file.a`:    `component.c["\"].handler.b"].file.a`,
		"state.handler":                          "state.handler",
		`file["/handler.a"]`:                     `file["/handler.a"]`,
		"handlers.a":                             "handlers.a",
	} {
		if got := StateAddresses([]string{address}); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}
