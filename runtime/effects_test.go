package runtime_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// Only what looks at something can find it touched, and of acts that may come in any order
// each makes the other one's row uncertain.
func TestWhatAProgramCouldTouch(t *testing.T) {
	m := machine()
	write(t, m, "/there", "")
	got := plan(t, m, `
	state "a" {
	  file "/absent" {
	    ensure = "absent"
	  }
	  print "words" {
	    message = "hello"
	  }
	  command "always" {
	    argv = ["good"]
	  }
	  command "creates" {
	    argv    = ["good"]
	    creates = "/there"
	  }
	}
	state "b" {
	  command "acts" {
	    argv = ["good"]
	  }
	}
	`)
	const beside = "state.b.command.acts, whose effects cannot be foreseen, may come before it"
	got.want(t, map[string]string{
		`state.a.file["/absent"]`: "no change maybe (unchanged as things are; " + beside + ")",
		"state.a.print.words":     "no change",
		"state.a.command.always":  "execute",
		"state.b.command.acts":    "execute",
		"state.a.command.creates": "no change maybe (unchanged as things are; after state.a.command.always, whose effects cannot be foreseen)",
	})
	if got.Counts.AsThingsAre != 2 || got.Counts.Unchanged != 3 {
		t.Errorf("counts %+v", got.Counts)
	}
}

// A resource that is not certain touches its paths, by whatever name, and nothing else.
func TestWhatAResourceCouldTouch(t *testing.T) {
	m := machine()
	mkdir(t, m, "/d")
	write(t, m, "/a", "a")
	write(t, m, "/d/b", "b")
	if err := m.Symlink("/d", "/l", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	m.ActAs(1000, 1000)
	got := plan(t, locked{m}, `
	state "maybe" {
	  file "/d/b" {
	    content = "new"
	  }
	}
	state "beside" {
	  file "/a" {
	    content = "a"
	  }
	  file "/l/b" {
	    content = "new"
	  }
	}
	`)
	got.want(t, map[string]string{`state.beside.file["/a"]`: "no change"})
	if row := got.row(`state.beside.file["/l/b"]`); !strings.Contains(row, `unchanged as things are; state.maybe.file["/d/b"], which is not certain`) {
		t.Errorf("a file that may not be written by another name is %q", row)
	}
}

// A guard that cannot be decided fails what it guards only where no guard before it skips.
func TestGuardBehindADoubtfulOne(t *testing.T) {
	m := machine()
	write(t, m, "/there", "")
	got := plan(t, m, `
	command "version" {
	  argv    = ["good"]
	  creates = "/there"
	}
	command "restart" {
	  argv    = ["good"]
	  require = [command.version]
	}
	state "part" {
	  require = [command.restart]
	  file "/likely" {
	    unless {
	      exists = "/there"
	    }
	    only_if {
	      exists = "/v${command.version.stdout}"
	    }
	  }
	  file "/unlikely" {
	    ignore_failure = true
	    unless {
	      missing = "/there"
	    }
	    only_if {
	      exists = "/v${command.version.stdout}"
	    }
	  }
	}
	state "whole" {
	  require = [command.restart]
	  unless {
	    missing = "/there"
	  }
	  only_if {
	      exists = "/v${command.version.stdout}"
	    }
	  file "/whole" {}
	}
	`)
	const null = "exists: null cannot stand in a text"
	got.want(t, map[string]string{
		`state.part.file["/likely"]`:   "skipped maybe (skipped as things are, unless: /there exists; after command.restart, whose effects cannot be foreseen)",
		`state.part.file["/unlikely"]`: `update maybe (after command.restart, whose effects cannot be foreseen; as things are it would fail: ` + null + ")",
		`state.whole.file["/whole"]`: "skipped maybe (skipped as things are, its guard cannot be decided: " + null +
			"; after command.restart, whose effects cannot be foreseen)",
	})
}

// What a guard skips as things are is not shown as if it happened: neither its changes, nor
// what comes of them.
func TestLikelySkipped(t *testing.T) {
	m := machine()
	write(t, m, "/cert", "")
	write(t, m, "/conf", "tls\n")
	got := plan(t, m, `
	command "restart" {
	  argv = ["good"]
	}
	state "plain" {
	  require = [command.restart]
	  unless {
	    exists = "/cert"
	  }
	  file "/conf" {
	    content = "plain\n"
	  }
	}
	state "secure" {
	  require = [state.plain]
	  file "/conf" {
	    content = "tls\n"
	  }
	  file "/other" {
	    only_if {
	      missing = "/cert"
	    }
	  }
	}
	state "handler" {
	  lazy   = true
	  listen = [state.plain]
	  file "/handled" {}
	}
	`)
	const after = "after command.restart, whose effects cannot be foreseen"
	got.want(t, map[string]string{
		`state.plain.file["/conf"]`:      "skipped maybe (skipped as things are, unless: /cert exists; " + after + ")",
		`state.secure.file["/conf"]`:     "no change maybe (unchanged as things are; " + after + ")",
		`state.secure.file["/other"]`:    "skipped maybe (skipped as things are, only_if: /cert exists; " + after + ")",
		`state.handler.file["/handled"]`: "create maybe (if state.plain changes)",
	})
	for address, ev := range got.parts {
		if len(ev.Changes) > 0 && address != `state.handler.file["/handled"]` {
			t.Errorf("%s shows %v", address, ev.Changes)
		}
	}
}

// What a guard's program answers may differ after anything that the plan changes, also where
// nothing but chance lets that come first. What certainly comes later makes no difference, nor
// does what else a block's guard lets through.
func TestGuardsThatRunPrograms(t *testing.T) {
	m := machine()
	got := plan(t, m, `
	block "both" {
	  unless {
	    command = ["bad"]
	  }
	  state "member" {
	    file "/member" {}
	  }
	  state "another" {
	    file "/another" {}
	  }
	}
	state "between" {
	  require = [block.both]
	  file "/between" {}
	}
	state "late" {
	  require = [state.between]
	  file "/skipped" {
	    only_if {
	      command = ["bad"]
	    }
	  }
	}
	`)
	got.want(t, map[string]string{
		`state.member.file["/member"]`:   "create",
		`state.another.file["/another"]`: "create",
		`state.between.file["/between"]`: "create",
		`state.late.file["/skipped"]`:    "create maybe (its guard runs bad after state.between.file[\"/between\"], which changes the host)",
	})
	got = plan(t, m, `
	state "skipped" {
	  file "/skipped" {
	    only_if {
	      command = ["bad"]
	    }
	  }
	}
	state "made" {
	  file "/made" {
	    unless {
	      exists = "/nothing"
	    }
	  }
	}
	state "acts" {
	  require = [state.skipped, state.made]
	  command "acts" {
	    argv = ["good"]
	  }
	}
	state "after" {
	  require = [state.acts]
	  file "/after" {
	    unless {
	      command = ["bad"]
	    }
	  }
	}
	`)
	got.want(t, map[string]string{
		`state.skipped.file["/skipped"]`: "skipped maybe (skipped as things are, only_if: bad ended with 1; its guard runs bad, and state.made.file[\"/made\"], which changes the host, may come before it)",
		`state.made.file["/made"]`:       "create",
		"state.acts.command.acts":        "execute",
		`state.after.file["/after"]`:     "create maybe (its guard runs bad after state.acts.command.acts, whose effects cannot be foreseen)",
	})
	m = machine()
	write(t, m, "/made", "")
	plan(t, m, `
	file "/skipped" {
	  only_if {
	    command = ["bad"]
	  }
	}
	file "/made" {}
	`).want(t, map[string]string{
		`file["/skipped"]`: "skipped (only_if: bad ended with 1)",
		`file["/made"]`:    "no change",
	})
}

// A command that says what it writes makes nothing else uncertain, wherever it stands.
func TestWhatACommandPromises(t *testing.T) {
	m := machine()
	mkdir(t, m, "/d")
	write(t, m, "/same", "")
	got := plan(t, m, `
	command "makes" {
	  argv   = ["good"]
	  writes = ["/d/made"]
	}
	command "nothing" {
	  argv   = ["good"]
	  writes = []
	}
	state "after" {
	  require = [command.makes, command.nothing]
	  file "/same" {}
	  file "/d/made/f" {}
	  file "/d/other" {}
	  command "reads" {
	    argv    = ["good"]
	    creates = "/d/made/f"
	  }
	}
	`)
	const after = "after command.makes, whose effects cannot be foreseen"
	got.want(t, map[string]string{
		"command.makes":                 "execute",
		"command.nothing":               "execute",
		`state.after.file["/same"]`:     "no change",
		`state.after.file["/d/made/f"]`: "create maybe (" + after + ")",
		`state.after.file["/d/other"]`:  "create",
		"state.after.command.reads":     `no change maybe (unchanged as things are; after state.after.file["/d/made/f"], which is not certain)`,
	})
	row := got.parts[`state.after.file["/d/made/f"]`]
	if row.Cause != "command.makes" || !row.Assured {
		t.Errorf("a file is %+v", row)
	}
	if row := got.parts["state.after.command.reads"]; row.Cause != "command.makes" || row.Assured {
		t.Errorf("a command is %+v", row)
	}
}

// A command that only reads makes nothing uncertain, whatever its own answer depends on.
func TestWhatAQuestionTouches(t *testing.T) {
	m := machine()
	write(t, m, "/same", "")
	got := plan(t, m, `
	command "makes" {
	  argv   = ["good"]
	  writes = ["/made"]
	}
	command "asks" {
	  argv    = ["good"]
	  plan    = true
	  reads   = ["/made"]
	  require = [command.makes]
	}
	file "/same" {
	  require = [command.asks]
	}
	`)
	if row := got.parts["command.asks"]; row.Certain == nil || *row.Certain {
		t.Errorf("the question is %+v", row)
	}
	got.want(t, map[string]string{`file["/same"]`: "no change"})
}

// What would fail as things are may go well after an act that comes first, though a nearer one
// that may touch anything need not.
func TestFailureThatAnActBeforeMayMend(t *testing.T) {
	got := plan(t, machine(), `
	command "anything" {
	  argv = ["good"]
	}
	command "makes" {
	  argv   = ["good"]
	  writes = ["/d"]
	}
	state "there" {
	  require = [command.makes]
	  file "/d/first" {
	    content  = "checked"
	    validate = ["good"]
	  }
	  file "/d/second" {}
	}
	`)
	const fails = "as things are it would fail: the directory /d is not there"
	got.want(t, map[string]string{
		`state.there.file["/d/first"]`:  "create maybe (after command.makes, whose effects cannot be foreseen; " + fails + ")",
		`state.there.file["/d/second"]`: "create maybe (command.anything, whose effects cannot be foreseen, may come before it)",
	})
}

// A part that may act touches the files that its module edits whatever its own path is.
func TestWhatAPartThatMayActEdits(t *testing.T) {
	m := machine()
	for _, dir := range []string{"/etc", "/srv"} {
		mkdir(t, m, dir)
	}
	write(t, m, "/etc/fstab", "")
	got := plan(t, m, `
	command "makes" {
	  argv   = ["good"]
	  writes = ["/made"]
	}
	state "mounts" {
	  require = [command.makes]
	  mount "/srv/m" {
	    source = "tmpfs"
	    fstype = "tmpfs"
	    boot   = true
	    only_if {
	      exists = "/made"
	    }
	  }
	}
	state "looks" {
	  require = [state.mounts]
	  file "/etc/fstab" {
	    content = ""
	  }
	}
	`)
	got.want(t, map[string]string{
		`state.looks.file["/etc/fstab"]`: `no change maybe (unchanged as things are; after state.mounts.mount["/srv/m"], which is not certain)`,
	})
}
