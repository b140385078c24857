package runtime_test

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// What exists once on a machine is shown with the name that it had.
func TestPlanNamesTheFormer(t *testing.T) {
	m := machine()
	mkdir(t, m, "/etc")
	write(t, m, "/etc/hostname", "old\n")
	ev := plan(t, m, "hostname \"new\" {}\n").parts["hostname.new"]
	if len(ev.Changes) != 1 || ev.Changes[0].From != "old" || ev.Changes[0].To != "new" {
		t.Errorf("the plan shows %+v", ev.Changes)
	}
}

// Who lacks the right is told so, whatever the program said that was run.
func TestApplyWithoutRights(t *testing.T) {
	m := machine()
	mkdir(t, m, "/etc")
	m.ActAs(1000, 1000)
	write(t, m, "/etc/group", "ann:x:1000:\n")
	ev := apply(t, m, "group \"staff\" {}\n").parts["group.staff"]
	if ev.Error == nil || ev.Error.Code != "permission" || ev.Error.Hint != "only root may do it: run tenet as root" {
		t.Errorf("the failure is %+v", ev.Error)
	}
}

// Where a part could become root, that is said too, unless it becomes somebody already.
func TestRightsByBecome(t *testing.T) {
	w := newTown(t)
	write(t, w.Memory, "/etc/group", "ann:x:1000:\n")
	parts := w.apply(t, "group \"staff\" {}\ngroup \"others\" {\n become = \"deploy\"\n}\n").parts
	for address, want := range map[string]string{
		"group.staff":  "only root may do it: run tenet as root, or add become = true to the part",
		"group.others": "only root may do it: run tenet as root",
	} {
		if ev := parts[address]; ev.Error == nil || ev.Error.Hint != want {
			t.Errorf("%s: %+v", address, ev.Error)
		}
	}
}

// A link on the way to what is looked at may not be the one that the plan has seen.
func TestLinkOnTheWayIsNotCertain(t *testing.T) {
	me, link := 4001, host.Symlink
	h, err := inMemory([]owned{
		{Path: "/w", Kind: host.Directory, Mode: 0o755, UID: me, GID: me}, {Path: "/w/a", Kind: host.Regular, Mode: 0o644, UID: me},
		{Path: "/w/l", Kind: link, Target: "/w/a", UID: me, GID: me}, {Path: "/w/m", Kind: link, Target: "/w/b", UID: me, GID: me},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Obey(plainUser())
	plan(t, h, `
	state "s" {
	  line "x" {
	    path = "/w/a"
	    line = "one"
	  }
	  symlink "/w/a" {
	    target  = "/w/d"
	    replace = true
	  }
	}
	file "/w/l/n" { ensure = "absent" }
	file "/w/m/n" { ensure = "absent" }
	`).want(t, map[string]string{
		`file["/w/l/n"]`: `no change maybe (unchanged as things are; state.s.symlink["/w/a"], which is not certain, may come before it)`,
		`file["/w/m/n"]`: "no change",
	})
}

// A link that a plan has replaced may stay, and then what is written below leads elsewhere.
func TestLinkThatMayStay(t *testing.T) {
	h, err := inMemory([]owned{
		{Path: "/w", Kind: host.Directory, Mode: 0o755, UID: 0}, {Path: "/w/d", Kind: host.Directory, Mode: 0o755, UID: 4001},
		{Path: "/w/l", Kind: host.Symlink, Target: "/w/d", UID: 4001},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Obey(plainUser())
	plan(t, h, `
	file "/w/l" { replace = true }
	file "/w/l/n" {}
	directory "/w/d/n" { ensure = "absent" }
	directory "/w/d/m" { ensure = "absent" }
	`).want(t, map[string]string{
		`directory["/w/d/n"]`: `no change maybe (unchanged as things are; after file["/w/l/n"], whose effects cannot be foreseen)`,
		`directory["/w/d/m"]`: "no change",
	})
}

// What a part may be kept from by one that is not certain blocks what comes after it.
func TestBlockedIsForeseen(t *testing.T) {
	h, err := inMemory([]owned{{Path: "/w", Kind: host.Directory, Mode: 0o755, UID: 4001, GID: 4001}})
	if err != nil {
		t.Fatal(err)
	}
	h.Obey(plainUser())
	plan(t, h, `
	state "r" {
	  file "/w/a" { owner = "0" }
	  file "/w/f" {}
	}
	state "s" {
	  file "/w/a" {}
	  file "/w/b" {}
	}
	file "/w/c" { require = [state.s] }
	file "/w/d" {}
	`).want(t, map[string]string{
		`state.r.file["/w/f"]`: `create maybe (after state.r.file["/w/a"], which is not certain)`,
		`state.s.file["/w/a"]`: `no change maybe (unchanged as things are; after state.r.file["/w/a"], which is not certain)`,
		`state.s.file["/w/b"]`: `create maybe (after state.s.file["/w/a"], which is not certain)`,
		`file["/w/c"]`:         `create maybe (after state.s.file["/w/a"], which is not certain)`,
		`file["/w/d"]`:         "create",
	})
}

// What comes after a part that is blocked as things are may want what that one would make.
func TestBehindBlocked(t *testing.T) {
	h, err := inMemory([]owned{
		{Path: "/w", Kind: host.Directory, Mode: 0o755, UID: 4001, GID: 4001},
		{Path: "/w/d", Kind: host.Directory, Mode: 0o755, GID: 4001},
		{Path: "/w/d/f", Kind: host.Regular, Mode: 0o644, UID: 4001, GID: 4001},
		{Path: "/w/l", Kind: host.Symlink, Mode: 0o777, Target: "/w/d", UID: 4001, GID: 4001},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Obey(plainUser())
	plan(t, h, `
	absent "/w/d" { force = true }
	state "m" {
	  require = [absent["/w/d"]]
	  file "/w/l" {}
	  file "/w/s/n" {}
	}
	state "s" {
	  directory "/w/s/n/m" {}
	  command "run" { argv = ["good"] }
	}
	`).want(t, map[string]string{
		`state.s.command.run`: `execute maybe (after state.s.directory["/w/s/n/m"], which is not certain)`,
	})
}

// The directories that a plan takes for granted, behind what it is not certain of, are no more
// certain than that.
func TestDirectoryTakenForGranted(t *testing.T) {
	h, err := inMemory([]owned{{Path: "/w", Kind: host.Directory, Mode: 0o755, UID: 4001, GID: 4001}})
	if err != nil {
		t.Fatal(err)
	}
	h.Obey(plainUser())
	plan(t, h, `
	state "s" {
	  command "makes" {
	    argv   = ["good"]
	    writes = ["/w/d"]
	  }
	  file "/w/d/f" {}
	}
	file "/w/d/g" {}
	file "/w/h" {}
	`).want(t, map[string]string{
		`state.s.file["/w/d/f"]`: "create maybe (after state.s.command.makes, whose effects cannot be foreseen)",
		`file["/w/d/g"]`:         `create maybe (after state.s.file["/w/d/f"], which is not certain)`,
		`file["/w/h"]`:           "create",
	})
}
