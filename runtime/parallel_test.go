package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime"
	"github.com/tenetcm/tenet/runtime/host"
)

// Nobody holds a lock while another does, be they invocations or parts of one.
func TestLocks(t *testing.T) {
	m := host.NewMemory()
	var inside, apart atomic.Int32
	work := func(count *atomic.Int32, limit int32) host.Program {
		return func(context.Context, host.Command) (host.Result, error) {
			if count.Add(1) > limit {
				t.Error("two at once")
			}
			time.Sleep(5 * time.Millisecond)
			count.Add(-1)
			return host.Result{}, nil
		}
	}
	m.Handle("locked", work(&inside, 1))
	m.Handle("free", work(&apart, 100))
	got := apply(t, m, `
	state "side" {
	  parallel = true
	  command "one" {
	    argv = ["locked"]
	    lock = ["db"]
	  }
	  command "two" {
	    argv = ["locked"]
	    lock = ["db"]
	  }
	  command "three" {
	    argv = ["free"]
	  }
	}
	command "other" {
	  argv = ["locked"]
	  lock = ["web", "db"]
	}
	command "another" {
	  argv = ["locked"]
	  lock = ["db", "web"]
	}
	`)
	if got.Counts.Changed != 5 {
		t.Errorf("counts %+v", got.Counts)
	}
}

// Parts of a parallel state that edit one file do not undo each other's work.
func TestParallelPartsOnOneFile(t *testing.T) {
	m := host.NewMemory()
	write(t, m, "/f", "")
	var site, want strings.Builder
	site.WriteString("state \"s\" {\n parallel = true\n")
	for i := range 40 {
		fmt.Fprintf(&site, "line \"l%d\" {\n path = \"/f\"\n line = \"%d\"\n}\n", i, i)
		fmt.Fprintf(&want, "%d\n", i)
	}
	site.WriteString("}\n")
	if got := apply(t, m, site.String()); got.Counts.Changed != 40 || content(t, m, "/f") != want.String() {
		t.Errorf("counts %+v, file %q", got.Counts, content(t, m, "/f"))
	}
}

// slow is a host on which nobody may write the file that another one is writing.
type slow struct {
	host.Host
	t       *testing.T
	writing atomic.Int32
}

func (s *slow) WriteFile(ctx context.Context, path string, c host.Content, m host.Meta) error {
	if path == "/etc/hosts" {
		if s.writing.Add(1) > 1 {
			s.t.Error("two write at once")
		}
		defer s.writing.Add(-1)
		time.Sleep(5 * time.Millisecond)
	}
	return s.Host.WriteFile(ctx, path, c, m)
}

// A part whose module edits a file does so neither beside others of its type nor
// beside parts that name the file.
func TestTypesOnOneFile(t *testing.T) {
	m := host.NewMemory()
	if err := m.Mkdir("/etc", host.Meta{}); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/etc/hosts", "")
	site := "state \"s\" {\n parallel = true\n"
	for i := range 4 {
		site += fmt.Sprintf("hosts_entry \"192.0.2.%d\" {\n names = [\"h%d\"]\n}\n", i, i)
		site += fmt.Sprintf("line \"l%d\" {\n path = \"/etc/hosts\"\n line = \"# %d\"\n}\n", i, i)
	}
	got := carry(t, runtime.Apply, compile(t, modules.Standard(), site+"}\n").Run, runtime.Options{Host: &slow{Host: m, t: t}, Parallel: 8})
	if text := content(t, m, "/etc/hosts"); got.Counts.Changed != 8 || strings.Count(text, "\n") != 8 {
		t.Errorf("counts %+v, file %q", got.Counts, text)
	}
}

// What fails in a parallel state ends only what requires it, in a plan as in
// an apply.
func TestFailureInParallel(t *testing.T) {
	const site = `
	state "s" {
	  parallel = true
	  file "/nodir/x" {}
	  file "/good" {}
	  file "/after" {
	    require = [self.file["/nodir/x"]]
	  }
	}
	`
	m := host.NewMemory()
	blocked := `blocked (by state.s.file["/nodir/x"])`
	plan(t, m, site).want(t, map[string]string{`state.s.file["/good"]`: "create", `state.s.file["/after"]`: blocked})
	apply(t, m, site).want(t, map[string]string{`state.s.file["/good"]`: "changed create", `state.s.file["/after"]`: blocked})
}

// What a timed-out attempt has done is a change, though the next finds nothing
// left to do: its handlers run.
func TestRetriedActNotifies(t *testing.T) {
	m := host.NewMemory()
	m.Handle("touch", func(ctx context.Context, _ host.Command) (host.Result, error) {
		write(t, m, "/made", "")
		return host.Result{ExitCode: 1}, nil
	})
	got := apply(t, m, `
	command "c" {
	  argv    = ["touch"]
	  creates = "/made"
	  retry   = { attempts = 2 }
	  notify  = [state.h]
	}
	state "h" {
	  lazy = true
	  file "/h" {}
	}
	`)
	got.want(t, map[string]string{"command.c": "changed execute", `state.h.file["/h"]`: "changed create"})
}

// Neither the output nor the errors of a sensitive part are shown or kept.
func TestSensitivePartSaysNothing(t *testing.T) {
	m := host.NewMemory()
	m.Handle("talk", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{ExitCode: 1, Stdout: []byte("hunter2"), Stderr: []byte("hunter2")}, nil
	})
	got := apply(t, m, `
	command "c" {
	  argv      = ["talk"]
	  sensitive = true
	}
	`)
	got.want(t, map[string]string{"command.c": "failed execute"})
	for _, ev := range got.events {
		if strings.Contains(fmt.Sprintf("%+v %+v", ev, ev.Error), "hunter2") {
			t.Errorf("event %+v", ev)
		}
	}
}
