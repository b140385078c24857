package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// What cannot be foreseen makes a maybe of what comes after it and of what may, if that looks
// at anything, and of nothing else.
func TestMaybe(t *testing.T) {
	m := machine()
	write(t, m, "/same", "same")
	got := plan(t, m, `
	state "first" {
	  file "/sooner" {}
	}
	command "build" {
	  argv    = ["good"]
	  require = [state.first]
	}
	state "before" {
	  file "/before" {}
	}
	state "after" {
	  require = [command.build]
	  file "/same" {
	    content = "same"
	  }
	  file "/other" {}
	  file "/in/a/directory/that/the/command/makes" {}
	}
	state "later" {
	  require = [state.after]
	  file "/later" {}
	}
	state "mixed" {
	  require = [state.first]
	  file "/first" {}
	  command "middle" {
	    argv = ["good"]
	  }
	  file "/last" {}
	}
	state "handler" {
	  lazy   = true
	  listen = [state.after.file["/other"]]
	  file "/handled" {}
	}
	state "sure" {
	  lazy   = true
	  listen = [state.before]
	  file "/sure" {}
	}
	state "idle" {
	  lazy   = true
	  listen = [state.after.file["/same"]]
	  file "/idle" {}
	}
	`)
	const unforeseen = "(after command.build, whose effects cannot be foreseen)"
	const beside = "(command.build, whose effects cannot be foreseen, may come before it)"
	got.want(t, map[string]string{
		`state.first.file["/sooner"]`:                                "create",
		"command.build":                                              "execute",
		`state.before.file["/before"]`:                               "create maybe " + beside,
		`state.after.file["/same"]`:                                  "no change maybe (unchanged as things are; after command.build, whose effects cannot be foreseen)",
		`state.after.file["/other"]`:                                 "create maybe " + unforeseen,
		`state.after.file["/in/a/directory/that/the/command/makes"]`: "create maybe " + unforeseen,
		`state.later.file["/later"]`:                                 "create maybe " + unforeseen,
		`state.mixed.file["/first"]`:                                 "create maybe " + beside,
		`state.mixed.command.middle`:                                 "execute",
		`state.mixed.file["/last"]`:                                  "create maybe (after state.mixed.command.middle, whose effects cannot be foreseen)",
		`state.handler.file["/handled"]`:                             `create maybe (if state.after.file["/other"] changes)`,
		`state.sure.file["/sure"]`:                                   "create maybe (if state.before changes)",
		`state.idle.file["/idle"]`:                                   `create maybe (if state.after.file["/same"] changes)`,
	})
}

func TestPlanSeesWhatItHasWritten(t *testing.T) {
	m := machine()
	write(t, m, "/conf", "a\nb\n")
	got := plan(t, m, `
	state "s" {
	  line "two" {
	    path = "/conf"
	    line = "c"
	  }
	  line "three" {
	    path = "/conf"
	    line = "d"
	  }
	  file "whole" {
	    path    = "/conf"
	    content = "a\nb\nc\nd\n"
	  }
	  directory "/new" {}
	  file "/new/file" {
	    content = "text\n"
	  }
	}
	`)
	got.want(t, map[string]string{
		"state.s.line.two":          "create",
		"state.s.line.three":        "create",
		"state.s.file.whole":        "no change",
		`state.s.directory["/new"]`: "create",
		`state.s.file["/new/file"]`: "create",
	})
	if content(t, m, "/conf") != "a\nb\n" {
		t.Error("the plan wrote the file")
	}
	change := got.parts[`state.s.file["/new/file"]`].Changes[0]
	if change.Attribute != "content" || change.Diff != "@@ -0,0 +1 @@\n+text\n" || change.From != nil {
		t.Errorf("change %+v", change)
	}
}

// A failure that nothing uncertain leads to is an error of the plan.
func TestPlanFails(t *testing.T) {
	got := plan(t, machine(), `
	file "/missing/file" {}
	file "/owned" {
	  owner = "nobody-of-that-name"
	}
	`)
	for _, address := range []string{`file["/missing/file"]`, `file["/owned"]`} {
		ev := got.parts[address]
		if ev.Outcome != "failed" || ev.Error == nil {
			t.Errorf("%s: %s", address, got.row(address))
		}
	}
	if !got.Failed {
		t.Error("the plan did not fail")
	}
}

func TestGuards(t *testing.T) {
	const site = `
	file "/yes" {
	  only_if {
	    exists = "/there"
	  }
	  unless {
	    exists = "/nowhere"
	  }
	}
	file "/no" {
	  only_if {
	    exists = "/there"
	  }
	  only_if {
	    missing = "/there"
	  }
	}
	file "/command" {
	  unless {
	    command = ["bad"]
	  }
	}
	file "/would" {
	  only_if {
	    would_change = [file["/yes"]]
	  }
	}
	file "/would-not" {
	  only_if {
	    would_change = [file["/there"]]
	  }
	}
	file "/there" {}
	`
	m := machine()
	write(t, m, "/there", "")
	got := apply(t, m, site)
	got.want(t, map[string]string{
		`file["/yes"]`:       "changed create",
		`file["/no"]`:        "skipped (only_if: /there exists)",
		`file["/command"]`:   "changed create",
		`file["/would-not"]`: `skipped (only_if: file["/there"] would not change)`,
	})
}

// A block's guard is asked once, though the first member makes it false.
func TestGuardOfBlockIsAskedOnce(t *testing.T) {
	got := apply(t, machine(), `
	block "setup" {
	  ordered = true
	  members = [state.one, state.two]
	  unless {
	    exists = "/one"
	  }
	}
	state "one" {
	  file "/one" {}
	}
	state "two" {
	  only_if {
	    exists = "/one"
	  }
	  file "/two" {}
	}
	`)
	got.want(t, map[string]string{
		`state.one.file["/one"]`: "changed create",
		`state.two.file["/two"]`: "changed create",
	})
}

// A guard's command after a change: a plan does not know its answer.
func TestGuardCommandInPlan(t *testing.T) {
	got := plan(t, machine(), `
	state "s" {
	  file "/new" {}
	  file "/guarded" {
	    only_if {
	      command = ["good"]
	    }
	  }
	}
	file "/first" {
	  unless {
	    command = ["good"]
	  }
	}
	`)
	row := got.row(`state.s.file["/guarded"]`)
	if !strings.HasPrefix(row, "create maybe (its guard runs good") {
		t.Errorf("guarded: %s", row)
	}
}

// withAccountTools adds the programs that make accounts; a plan only sees that they
// are there.
func withAccountTools(m *host.Memory) *host.Memory {
	for _, name := range []string{"useradd", "groupadd"} {
		m.Handle(name, func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	}
	return m
}

// An account that a plan foresees is there for what follows.
func TestForeseenAccounts(t *testing.T) {
	m := withAccountTools(machine())
	mkdir(t, m, "/etc")
	write(t, m, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	write(t, m, "/etc/group", "root:x:0:\n")
	got := plan(t, m, `
	state "s" {
	  group "staff" {}
	  user "deploy" {
	    groups = ["staff"]
	  }
	  file "/owned" {
	    owner = "deploy"
	    group = "staff"
	  }
	}
	`)
	got.want(t, map[string]string{
		"state.s.group.staff":    "create",
		"state.s.user.deploy":    "create",
		`state.s.file["/owned"]`: "create",
	})
}

// A command that only reads is no change; where a plan cannot ask it, that is a
// maybe, and not a certain act.
func TestReadingCommandInPlan(t *testing.T) {
	const site = `
	state "s" {
	  command "before" {
	    argv  = ["good"]
	    plan  = true
	    reads = ["/new"]
	  }
	  file "/new" {}
	  command "after" {
	    argv  = ["good"]
	    plan  = true
	    reads = ["/new"]
	  }
	  command "apart" {
	    argv  = ["good"]
	    plan  = true
	    reads = ["/other"]
	  }
	}
	`
	m := machine()
	mkdir(t, m, "/other")
	plan(t, m, site).want(t, map[string]string{
		"state.s.command.before": "no change",
		"state.s.command.after":  "execute maybe (it depends on what this run changes before)",
	})
	apply(t, m, site).want(t, map[string]string{
		"state.s.command.before": "unchanged",
		"state.s.command.after":  "unchanged",
		"state.s.command.apart":  "unchanged",
	})
}

// Nothing is rescued where nothing failed: a failure that is ignored, and what
// is blocked from outside, do not count.
func TestNothingToRescue(t *testing.T) {
	got := apply(t, machine(), `
	command "outside" {
	  argv = ["bad"]
	}
	block "blocked" {
	  require = [command.outside]
	  members = [state.member]
	  rescue  = [state.first]
	}
	state "member" {
	  file "/member" {}
	}
	block "ignored" {
	  members = [state.ignoring]
	  rescue  = [state.second]
	}
	state "ignoring" {
	  ignore_failure = true
	  command "bad" {
	    argv = ["bad"]
	  }
	}
	state "first" {
	  file "/first" {}
	}
	state "second" {
	  file "/second" {}
	}
	`)
	got.want(t, map[string]string{
		`state.member.file["/member"]`: "blocked (by command.outside)",
		`state.second.file["/second"]`: "idle",
		"state.ignoring.command.bad":   "failed execute",
	})
	if row := got.row(`state.first.file["/first"]`); row != "idle" && row != "blocked (by command.outside)" {
		t.Errorf("the rescue of what was blocked: %s", row)
	}
	if outcome := got.ended["block.blocked"].Outcome; outcome != "blocked" {
		t.Errorf("the block is %s", outcome)
	}
}

// What only another user may do is no certain row of this one's plan.
func TestPlanWithoutRights(t *testing.T) {
	m := withAccountTools(machine())
	mkdir(t, m, "/etc")
	write(t, m, "/etc/passwd", "ann:x:1000:1000::/:\n")
	write(t, m, "/etc/group", "ann:x:1000:\n")
	const site = `
	group "staff" {}
	print "hello" {
	  message = "hello"
	}
	file "/new" {}
	`
	plan(t, m, site).want(t, map[string]string{"group.staff": "create", "print.hello": "no change"})
	m.ActAs(1000, 1000)
	plan(t, m, site).want(t, map[string]string{
		"group.staff": "create maybe (only root may do it; run as root to know)",
		"print.hello": "no change",
	})
	plan(t, locked{m}, "file \"/new\" {}\n").want(t, map[string]string{
		`file["/new"]`: "create maybe (this user may not write /new; run as root to know)",
	})
}

// Acting as who acts anyway is nothing special; as another is refused in the
// plan already.
func TestBecome(t *testing.T) {
	m := machine()
	mkdir(t, m, "/etc")
	write(t, m, "/etc/passwd", "root:x:0:0::/:\nann:x:1000:1000::/:\n")
	got := plan(t, m, `
	file "/mine" {
	  become = true
	}
	file "/hers" {
	  become = "ann"
	}
	`)
	got.want(t, map[string]string{`file["/mine"]`: "create", `file["/hers"]`: "failed"})
}

// locked is a machine on which nothing may be written.
type locked struct{ *host.Memory }

// Access is host.Permissions.
func (locked) Access(string) host.Access { return host.Access{} }
