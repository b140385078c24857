package runtime_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// talker is a machine with programs that say what they are told, and end with
// the status that a second argument gives.
func talker(t *testing.T) *host.Memory {
	t.Helper()
	m := machine()
	m.Handle("say", func(_ context.Context, c host.Command) (host.Result, error) {
		r := host.Result{}
		if len(c.Argv) > 1 {
			r.Stdout = []byte(c.Argv[1])
		}
		if len(c.Argv) > 2 {
			r.ExitCode = len(c.Argv[2])
		}
		return r, nil
	})
	return m
}

// endings has a part for each way to end, and one that uses its result.
const endings = `
	state "ran" {
	  command "c" { 
	    argv = ["say", "hello"]
	  }
	}
	state "failed" {
	  ignore_failure = true
	  command "c" {
	    argv = ["say", "broken", "xxx"]
	  }
	}
	state "skipped" {
	  command "c" {
	    argv = ["say", "never"]
	    only_if {
	      exists = "/nowhere"
	    }
	  }
	}
	state "idle" {
	  lazy = true
	  command "c" {
	    argv = ["say", "never"]
	  }
	}
	state "done" {
	  command "c" {
	    argv    = ["say", "never"]
	    creates = "/there"
	  }
	}
	state "gone" {
	  file "/gone" {
	    ensure = "absent"
	  }
	}
	state "same" {
	  file "/there" {
	    content = "old\n"
	  }
	}
	state "notifier" {
	  notify = [state.idle]
	  require = [state.same]
	  file "/there" {
	    content = "old\n"
	  }
	}
	file "/ran"     { 
	  content = state.ran.command.c.stdout
	}
	file "/failed" {
	  content = "${state.failed.command.c.stdout} ${state.failed.command.c.exit_code}"
	}
	file "/skipped" {
	  content = state.skipped.command.c.stdout
	}
	file "/idle" {
	  content = try(state.idle.command.c.stdout, "idle")
	}
	file "/done" {
	  content = "x${state.done.command.c.stdout}"
	}
	file "/of-gone" {
	  content = state.gone.file["/gone"].content
	}
	file "/same" {
	  content = "${state.same.file["/there"].content}${state.same.file["/there"].mode}"
	}
	`

// Which ends of a part leave a result, and what is said where there is none.
func TestWhatLeavesAResult(t *testing.T) {
	m := talker(t)
	write(t, m, "/there", "old\n")
	got := apply(t, m, endings)
	got.want(t, map[string]string{
		`file["/ran"]`: "changed create", `file["/failed"]`: "changed create", `file["/same"]`: "changed create",
		`file["/skipped"]`: "failed", `file["/done"]`: "failed", `file["/of-gone"]`: "failed",
	})
	for address, text := range map[string]string{
		`file["/skipped"]`: "content: state.skipped.command.c has no result: it was skipped (only_if: /nowhere is missing)",
		`file["/of-gone"]`: "has no result: it is absent",
		`file["/done"]`:    "null",
	} {
		if f := got.parts[address].Error; f == nil || !strings.Contains(f.Message, text) {
			t.Errorf("%s: %+v", address, f)
		}
	}
	for path, text := range map[string]string{"/ran": "hello", "/failed": "broken 3", "/same": "old\n0644"} {
		if have := content(t, m, path); have != text {
			t.Errorf("%s has %q", path, have)
		}
	}
}

// A plan says of each value whether it is known; what it knows is what an
// apply computes.
func TestPlanOfResults(t *testing.T) {
	m := talker(t)
	write(t, m, "/old", "old\n")
	site := `
	command "c" {
	  argv    = ["say", "hello"]
	  require = [state.known, state.read]
	}
	command "reads" {
	  argv = ["say", "read"]
	  plan = true
	  reads = ["/old"]
	}
	state "known" {
	  file "/old" {
	    content = "old\n"
	  }
	  file "/new" {
	    content = "new ${self.file["/old"].content}"
	  }
	  file "/newer" {
	    content = upper(self.file["/new"].content)
	  }
	}
	state "read" {
	  require = [command.reads]
	  file "/read" {
	    content = command.reads.stdout
	  }
	}
	state "late" {
	  file "/late" {
	    content = command.c.stdout
	  }
	  file "/late2" {
	    content = "x${self.file["/late"].content}"
	  }
	  line "in-late" {
	    path = "/late"
	    line = "more"
	  }
	  file "/old" {
	    content = self.file["/late"].path
	  }
	  command "late" {
	    argv = ["say", command.c.stdout]
	  }
	  file "guarded" {
	    path = "/guarded"
	    only_if {
	      exists = self.command.late.stdout
	    }
	  }
	}
	`
	got := plan(t, m, site)
	got.want(t, map[string]string{
		`state.known.file["/old"]`:   "no change",
		`state.known.file["/new"]`:   "create",
		`state.known.file["/newer"]`: "create",
		`state.read.file["/read"]`:   "create",
		`state.late.file["/late"]`:   "create maybe (content is known only after apply)",
		`state.late.file["/late2"]`:  "create maybe (content is known only after apply)",
		`state.late.command.late`:    "execute maybe (argv is known only after apply)",
		`state.late.file.guarded`:    "create maybe (exists is known only after apply)",
	})
	if row := got.row("state.late.line.in-late"); !strings.Contains(row, "maybe") {
		t.Errorf("a line in a file that nobody knows: %s", row)
	}
	if text := changesOf(t, got, `state.late.file["/late"]`); !strings.Contains(text, `"to":"(known after apply)"`) {
		t.Errorf("the row does not say what is not known: %s", text)
	}
	if text := changesOf(t, got, `state.known.file["/newer"]`); !strings.Contains(text, "+NEW OLD") {
		t.Errorf("the row does not say what is known: %s", text)
	}
	apply(t, m, site)
	if text := content(t, m, "/late"); text != "hello\nmore" {
		t.Errorf("/late has %q", text)
	}
	if text := content(t, m, "/newer"); text != "NEW OLD\n" {
		t.Errorf("/newer has %q", text)
	}
}

func changesOf(t *testing.T, got outcome, address string) string {
	t.Helper()
	text, err := json.Marshal(got.parts[address].Changes)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A key of a result: a plan without a look, an apply with one.
func TestLateKey(t *testing.T) {
	m := talker(t)
	site := `
	command "c" {
	  argv = ["say", "/made"]
	}
	state "s" {
	  file "keyed" {
	    path    = command.c.stdout
	    content = "x"
	  }
	  file "/behind" {}
	}
	`
	plan(t, m, site).want(t, map[string]string{
		"state.s.file.keyed":      "update maybe (path is known only after apply)",
		`state.s.file["/behind"]`: "create maybe (after state.s.file.keyed, whose effects cannot be foreseen)",
	})
	got := apply(t, m, site)
	if ev := got.parts["state.s.file.keyed"]; ev.Key != "/made" || content(t, m, "/made") != "x" {
		t.Errorf("%+v", ev)
	}
	m = talker(t)
	got = apply(t, m, strings.ReplaceAll(site, `"/made"`, `"made"`))
	if f := got.parts["state.s.file.keyed"].Error; f == nil || f.Code != "invalid" {
		t.Errorf("a relative path: %+v", f)
	}
}

// A result of what is sensitive is sensitive, and hidden from the moment that
// it is known.
func TestSensitiveResults(t *testing.T) {
	m := talker(t)
	site := `
	command "token" {
	  argv      = ["say", "t0psecret"]
	  sensitive = true
	}
	state "s" {
	  file "/token" {
	    content = "token=${command.token.stdout}\n"
	  }
	  command "leak" {
	    argv           = ["say", self.file["/token"].content, "x"]
	    ignore_failure = true
	  }
	  command "unrelated" {
	    argv = ["say", "t0psecret", "x"]
	  }
	}
	file "named" {
	  path = "/${command.token.stdout}"
	}
	file "/guarded" {
	  when = command.token.stdout == "t0psecret"
	}
	`
	applied := apply(t, m, site)
	events, err := json.Marshal([]any{applied.events, applied.Report, plan(t, talker(t), site).events})
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(events), "t0psecret"); at >= 0 {
		t.Errorf("the secret is shown: %s", events[max(0, at-300):at+20])
	}
	if text := tree(t, m)["/token"]; text != "file -rw------- token=t0psecret\n" {
		t.Errorf("/token is %q", text)
	}
	for address, want := range map[string]string{
		"file.named": "a sensitive value cannot name a resource", `file["/guarded"]`: "a guard cannot depend on a sensitive value",
	} {
		if f := applied.parts[address].Error; f == nil || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %+v", address, f)
		}
	}
}
