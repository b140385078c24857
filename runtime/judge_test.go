package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
)

// changed_if and failed_if judge a command by what it said.
func TestConditions(t *testing.T) {
	for name, c := range map[string]struct{ attributes, want, handler string }{
		"unchanged":        {`changed_if = result.stdout != "same"`, "unchanged", "idle"},
		"changed":          {`changed_if = result.stdout == "same"`, "changed execute", "changed execute"},
		"failed":           {`failed_if = result.stdout == "same"`, "failed execute", "changed execute"},
		"status is fine":   {`failed_if = result.exit_code > 4`, "changed execute", "changed execute"},
		"both":             {"failed_if = result.exit_code != 4\n changed_if = false", "unchanged", "idle"},
		"failed unchanged": {"failed_if = true\n changed_if = false", "failed execute", "idle"},
		"constant":         {`failed_if = false`, "changed execute", "changed execute"},
		"of another":       {`failed_if = result.stdout == command.first.stdout`, "changed execute", "changed execute"},
	} {
		t.Run(name, func(t *testing.T) {
			got := apply(t, talker(t), `
			command "first" {
			  argv = ["say", "first"]
			}
			state "s" {
			  command "c" {
			    argv   = ["say", "same", `+map[bool]string{true: `"xxxx"`, false: `""`}[strings.Contains(c.attributes, "exit_code")]+`]
			    `+c.attributes+`
			  }
			  notify = [state.h]
			}
			state "h" {
			  lazy = true
			  command "h" {
			    argv = ["say", "h"]
			  }
			}
			`)
			got.want(t, map[string]string{"state.s.command.c": c.want, "state.h.command.h": c.handler})
		})
	}
}

// What a handler's run, a parallel state's parts and a block's guard see.
func TestResultsElsewhere(t *testing.T) {
	m := talker(t)
	got := apply(t, m, `
	state "p" {
	  parallel = true
	  file "/c" {
	    content = "${self.file["/b"].content}c"
	    require = [self.file["/b"]]
	  }
	  file "/b" {
	    content = "${self.file["/a"].content}b"
	  }
	  file "/a" {
	    content = "a"
	    notify  = [state.h]
	  }
	}
	state "h" {
	  lazy = true
	  command "h" {
	    argv = ["say", "h${state.p.file["/c"].content}"]
	  }
	}
	state "after" {
	  require = [state.p]
	  file "/after" {
	    content = state.h.command.h.stdout
	  }
	}
	block "b" {
	  when    = state.p.file["/a"].content == "b"
	  members = [state.in, state.in2]
	}
	state "in" {
	  file "/in" {}
	}
	state "in2" {
	  file "/in2" {}
	}
	`)
	if text := content(t, m, "/after"); text != "habc" {
		t.Errorf("/after has %q", text)
	}
	got.want(t, map[string]string{`state.in.file["/in"]`: "skipped (when is false)", `state.in2.file["/in2"]`: "skipped (when is false)"})
}

// A plan that a guard asks for knows what has been left so far, and takes what
// has not for a maybe.
func TestResultsInWouldChange(t *testing.T) {
	site := `
	command "now" {
	  argv = ["say", "now"]
	}
	command "later" {
	  argv    = ["say", "later"]
	  require = [state.drain]
	}
	state "same" {
	  require = [state.drain]
	  file "/same" {
	    content = command.now.stdout
	  }
	}
	state "other" {
	  require = [state.drain2]
	  file "/other" {
	    content = command.later.stdout
	  }
	}
	state "drain" {
	  require = [command.now]
	  only_if {
	    would_change = [state.same]
	  }
	  command "drain" {
	    argv = ["say", "drain"]
	  }
	}
	state "drain2" {
	  require = [command.now]
	  only_if {
	    would_change = [state.other]
	  }
	  command "drain" {
	    argv = ["say", "drain"]
	  }
	}
	`
	m := talker(t)
	write(t, m, "/same", "now")
	apply(t, m, site).want(t, map[string]string{
		"state.drain.command.drain":  `skipped (only_if: state.same would not change)`,
		"state.drain2.command.drain": "changed execute",
		`state.same.file["/same"]`:   "unchanged",
		`state.other.file["/other"]`: "changed create",
	})
}

// A host needs no site: what the run's JSON says is enough, and the places of
// errors come with the sources.
func TestResultsWithoutASite(t *testing.T) {
	compiled := compile(t, modules.Standard(), `
	command "c" {
	  argv = ["say", "hello"]
	}
	file "/a" {
	  content = "${trimspace(command.c.stdout)}!"
	}
	file "/b" {
	  mode = command.c.stdout
	}
	`)
	data, err := json.Marshal(compiled.Run)
	if err != nil {
		t.Fatal(err)
	}
	run := *compiled.Run
	run.Invocations = nil
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	m := talker(t)
	got := carry(t, runtime.Apply, &run, runtime.Options{Host: m, Sources: compiled.Sources})
	if text := content(t, m, "/a"); text != "hello!" {
		t.Errorf("/a has %q", text)
	}
	if f := got.parts[`file["/b"]`].Error; f == nil || f.Source != "site.hcl:9:11" {
		t.Errorf("%+v", f)
	}
}

// What only an apply will know of a file hides it from the parts behind.
func TestBehindLateValues(t *testing.T) {
	m := talker(t)
	write(t, m, "/t", "old")
	got := plan(t, m, `
	command "c" {
	  argv = ["say", "hello"]
	}
	state "s" {
	  file "one" {
	    path    = "/t"
	    content = command.c.stdout
	  }
	  file "two" {
	    path = "/t"
	    mode = "0600"
	  }
	  file "three" {
	    path    = "/t"
	    content = "old"
	  }
	  file "four" {
	    path = "/four"
	    only_if {
	      command = ["good"]
	    }
	  }
	}
	`)
	for _, name := range []string{"one", "two", "three", "four"} {
		if row := got.row("state.s.file." + name); !strings.Contains(row, "maybe") {
			t.Errorf("%s: %s", name, row)
		}
	}
}
