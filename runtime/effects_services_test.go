package runtime_test

import (
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
)

// What a service pulls in as it starts may be touched, too, unless it runs already; so may what it
// stops.
func TestServicesThatStartOthers(t *testing.T) {
	unit := func(settings string) string { return "[Unit]\n" + settings + "[Service]\nExecStart=/usr/bin/x\n" }
	services := map[string]simulated.Service{
		"app":   {Unit: unit("Requires=db.service\nWants=up.service other.target none.service\nConflicts=old.service\n")},
		"db":    {Unit: unit("Wants=deep.service\n")},
		"deep":  {Unit: unit("")},
		"up":    {Unit: unit("Wants=never.service\n"), Running: true},
		"never": {Unit: unit("")},
		"old":   {Unit: unit(""), Running: true},
		"alone": {Unit: unit("")},
	}
	h, err := simulated.New(t.Context(), simulated.Machine{
		Services: services,
		Files:    map[string]simulated.File{"/var/lib/db/data": {Content: "x"}, "/var/lib/never/data": {Content: "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := plan(t, h, `
	service "app" {
	  running = true
	}
	state "after" {
	  require = [service.app]
	  service "deep" {
	    running = false
	  }
	  service "old" {
	    enabled = false
	    running = true
	  }
	  service "never" {
	    running = false
	  }
	  file "/var/lib/db/data" {}
	  file "/var/lib/never/data" {}
	}
	`)
	const after = "after service.app, whose effects cannot be foreseen)"
	got.want(t, map[string]string{
		"service.app":                             "update",
		"state.after.service.deep":                "update maybe (" + after,
		"state.after.service.old":                 "update maybe (" + after,
		"state.after.service.never":               "no change",
		`state.after.file["/var/lib/db/data"]`:    "no change maybe (unchanged as things are; " + after,
		`state.after.file["/var/lib/never/data"]`: "no change",
	})
}

// A service that may start after a program that may touch anything may start before it as well,
// and before what comes before that program.
func TestServicesBesideAProgram(t *testing.T) {
	h, err := simulated.New(t.Context(), simulated.Machine{
		Services: map[string]simulated.Service{"app": {Running: true}}, Files: map[string]simulated.File{"/tmp/x": {Content: "x"}},
		Commands: []simulated.Command{{Name: "good"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan(t, h, `
	state "first" {
	  file "/tmp/x" {
	    content = "x"
	  }
	  command "anything" {
	    argv = ["good"]
	  }
	}
	state "second" {
	  service "app" {
	    running = true
	    enabled = true
	  }
	}
	`).want(t, map[string]string{
		"state.second.service.app":   "update maybe (state.first.command.anything, whose effects cannot be foreseen, may come before it)",
		`state.first.file["/tmp/x"]`: "no change maybe (unchanged as things are; state.second.service.app, whose effects cannot be foreseen, may come before it)",
	})
}

// A restart that asks first whether the service is there, which nobody knows yet, touches what any
// restart may.
func TestRestartOfAServiceThatMayBeThere(t *testing.T) {
	h, err := simulated.New(t.Context(), simulated.Machine{
		Services: map[string]simulated.Service{"app": {Running: true}}, Files: map[string]simulated.File{"/var/log/app.log": {Content: "x"}},
		Commands: []simulated.Command{{Name: "good"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan(t, h, `
	command "units" {
	  argv   = ["good"]
	  writes = ["/etc"]
	}
	state "after" {
	  require = [command.units]
	  restart "app" {}
	  file "/var/log/app.log" {}
	}
	`).want(t, map[string]string{
		"state.after.restart.app":              "execute maybe (after command.units, whose effects cannot be foreseen)",
		`state.after.file["/var/log/app.log"]`: "no change maybe (unchanged as things are; after state.after.restart.app, which is not certain)",
	})
}

// A command that writes the links by which SysV starts a service may enable it, and no other.
func TestLinksOfRunlevels(t *testing.T) {
	h, err := simulated.New(t.Context(), simulated.Machine{
		Services: map[string]simulated.Service{"app": {}, "other": {}}, Commands: []simulated.Command{{Name: "good"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan(t, h, `
	command "links" {
	  argv   = ["good"]
	  writes = ["/etc/rc2.d/S01app"]
	}
	state "after" {
	  require = [command.links]
	  service "app" {
	    enabled = true
	  }
	  service "other" {
	    enabled = true
	  }
	}
	`).want(t, map[string]string{
		"state.after.service.app":   "update maybe (after command.links, whose effects cannot be foreseen)",
		"state.after.service.other": "update",
	})
}
