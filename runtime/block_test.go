package runtime_test

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// What fails as things are, and what an act may mend that need not come before it, blocks as
// things are: whether the rest goes, and whether handlers and rescues are called, is open, and so
// is what looks at anything that these may touch.
func TestWhatAnOpenFailureBlocks(t *testing.T) {
	m := machine()
	mkdir(t, m, "/s")
	write(t, m, "/s/same", "")
	for link, to := range map[string]string{"/to-d": "/d", "/to-s": "/s"} { // by other names, which give no order
		if err := m.Symlink(to, link, host.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	got := plan(t, m, `
	command "makes" {
	  argv   = ["good"]
	  writes = ["/to-d"]
	}
	state "open" {
	  notify         = [state.called]
	  notify_failure = [state.failed]
	  file "/d/first" {
	    content  = "checked"
	    validate = ["good"]
	  }
	  command "second" {
	    argv   = ["good"]
	    writes = ["/to-s/same"]
	  }
	}
	state "requires" {
	  require = [state.open]
	  file "/third" {}
	}
	state "sure" {
	  file "/e/first" {
	    content  = "checked"
	    validate = ["good"]
	  }
	}
	state "requires_both" {
	  require = [state.open, state.sure]
	  file "/fourth" {}
	}
	state "looks" {
	  file "/s/same" {}
	  file "/other" {}
	}
	state "called" {
	  lazy = true
	  file "/called" {}
	}
	state "failed" {
	  lazy = true
	  file "/failed" {}
	}
	`)
	got.want(t, map[string]string{
		`state.open.file["/d/first"]`:         "failed maybe (command.makes, whose effects cannot be foreseen, may come before it)",
		`state.open.command.second`:           `blocked maybe (by state.open.file["/d/first"])`,
		`state.requires.file["/third"]`:       `blocked maybe (by state.open.file["/d/first"])`,
		`state.requires_both.file["/fourth"]`: `blocked (by state.sure.file["/e/first"])`,
		`state.sure.file["/e/first"]`:         "failed",
		`state.looks.file["/s/same"]`:         "no change maybe (unchanged as things are; state.open.command.second, which is not certain, may come before it)",
		`state.looks.file["/other"]`:          "create",
		`state.called.file["/called"]`:        `create maybe (if state.open changes)`,
		`state.failed.file["/failed"]`:        `create maybe (if state.open changes)`,
	})
	for _, address := range []string{`state.open.command.second`, `state.requires.file["/third"]`, `state.called.file["/called"]`} {
		if cause := got.parts[address].Cause; cause != "command.makes" {
			t.Errorf("the cause of %s is %q", address, cause)
		}
	}
}
