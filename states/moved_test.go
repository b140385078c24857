package states_test

import (
	"testing"

	"github.com/tenetcm/tenet/states"
)

func TestRenamed(t *testing.T) {
	moved := []states.Moved{
		{From: "state.a", To: "state.b"}, {From: "state.b", To: "state.c"},
		{From: "state.a.file.x", To: "file.x"},
		{From: "component.shop", To: `component.shops["eu"]`}, {From: "block.x", To: "block.y"},
		{From: "run.p", To: "run.q"}, {From: "run.q", To: "run.p"},
	}
	for address, want := range map[string]string{
		"state.a":                 "state.c",
		"state.a.file.y":          "state.c.file.y",
		"state.a.file.x":          "file.x",
		`state.a.file.x["k"]`:     `file.x["k"]`,
		`state.a["k"].file.x`:     `state.c["k"].file.x`,
		"state.ab":                "state.ab",
		"state.a-b.file.x":        "state.a-b.file.x",
		"component.shop.state.a":  `component.shops["eu"].state.a`,
		"component.shopping.x.y":  "component.shopping.x.y",
		"block.x":                 "block.y",
		"run.p.file.x":            "run.p.file.x", // round and back
		"component.x.state.a":     "component.x.state.a",
		`file["/state.a/b.file"]`: `file["/state.a/b.file"]`,
	} {
		if got := states.Renamed(address, moved); got != want {
			t.Errorf("%s became %s, want %s", address, got, want)
		}
	}
}
