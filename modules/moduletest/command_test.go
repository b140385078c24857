package moduletest_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/command"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

// newCommandHost has the programs "say", which says what it was given, "make", which
// makes /srv/made, and "fail".
func newCommandHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.Handle("say", func(_ context.Context, c host.Command) (host.Result, error) {
		said := strings.Join(append(slices.Clone(c.Argv[1:]), c.Env...), "|") + "|" + c.Dir + "|" + c.User + "|" + string(c.Stdin)
		return host.Result{Stdout: []byte(said), Stderr: []byte("warning\n")}, nil
	})
	h.Handle("/bin/sh", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte(strings.Join(c.Argv[1:], "|"))}, nil
	})
	h.Handle("make", func(ctx context.Context, _ host.Command) (host.Result, error) {
		return host.Result{}, h.WriteFile(ctx, "/srv/made", host.Text(""), host.Meta{})
	})
	h.Handle("clear", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{}, h.Remove("/srv/made")
	})
	h.Handle("fail", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{ExitCode: 3, Stdout: []byte("out\n"), Stderr: []byte("first\nsecond\n")}, nil
	})
	return h
}

func stdout(want string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, _ host.Host, out map[string]any) {
		if out["stdout"] != want {
			t.Errorf("stdout is %q, want %q", out["stdout"], want)
		}
	}
}

func commandMade(t *testing.T, h host.Host) { fake.Put(t, h, "/srv/made", "", 0o644) }

func TestCommand(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: command.Module, Host: newCommandHost, Hostile: map[string]any{"argv": []string{"say", "a"}, "env": map[string]string{"A": "b"}, "dir": "/srv", "user": "alice", "stdin": "a"}, Trusted: []string{"argv", "shell"}, Cases: []statestest.Case{
		{
			Name: "everything reaches the program, and no shell",
			Values: map[string]any{
				"argv": []string{"say", "$HOME; reboot", "-x"}, "env": map[string]string{"B": "2", "A": "1"},
				"dir": "/srv", "user": "alice", "stdin": "secret",
			},
			Acts: true, Repeats: true, Check: stdout("$HOME; reboot|-x|A=1|B=2|/srv|alice|secret"),
		}, {
			Name: "shell", Values: map[string]any{"shell": "a | b"}, Acts: true, Repeats: true, Check: stdout("-c|a | b"),
		}, {
			Name: "results", Values: map[string]any{"argv": []string{"say"}}, Acts: true, Repeats: true,
			Check: func(t *testing.T, _ host.Host, out map[string]any) {
				if out["stderr"] != "warning\n" || out["exit_code"] == nil {
					t.Errorf("observed: %v", out)
				}
			},
		},
		{Name: "creates", Values: map[string]any{"argv": []string{"make"}, "creates": "/srv/made"}, Acts: true},
		{Name: "created already", Values: map[string]any{"argv": []string{"fail"}, "creates": "/srv/made"}, Prepare: commandMade},
		{Name: "removes", Values: map[string]any{"argv": []string{"clear"}, "removes": "/srv/made"}, Acts: true, Prepare: commandMade},
		{Name: "removed already", Values: map[string]any{"argv": []string{"fail"}, "removes": "/srv/made"}},
		{
			Name: "only reads", Values: map[string]any{"argv": []string{"say", "x"}, "plan": true, "reads": []string{"/srv"}},
			Check: stdout("x|||"),
		},
		{Name: "fails", Values: map[string]any{"argv": []string{"fail"}, "stdin": "secret"}, Fails: "fail ended with exit status 3:\nfirst\nsecond"},
		{Name: "missing program", Values: map[string]any{"argv": []string{"no-such-program"}}, Fails: "no-such-program"},
		{Name: "does not create", Values: map[string]any{"argv": []string{"say"}, "creates": "/srv/made"}, Fails: "say ended well, but /srv/made was not created"},
		{Name: "does not remove", Values: map[string]any{"argv": []string{"say"}, "removes": "/srv"}, Fails: "say ended well, but /srv is still there"},
		{Name: "unknown user", Values: map[string]any{"argv": []string{"say"}, "user": "nobody-here"}, Fails: `no user named "nobody-here"`},
		{Name: "missing directory", Values: map[string]any{"argv": []string{"say"}, "dir": "/none"}, Fails: "dir: the directory /none is not there", Hint: `directory "/none" {}`},
		{Name: "nothing to run", Values: map[string]any{}, Wrong: "required"},
		{Name: "empty argv", Values: map[string]any{"argv": []string{}}, Wrong: "names no program"},
		{Name: "two ways", Values: map[string]any{"argv": []string{"say"}, "shell": "say"}, Wrong: "beside argv"},
		{Name: "writes with plan", Values: map[string]any{"argv": []string{"say"}, "plan": true, "writes": []string{"/a"}}, Wrong: "plan = true changes nothing"},
		{Name: "writes no path", Values: map[string]any{"argv": []string{"say"}, "writes": []string{"a"}}, Wrong: "writes"},
		{Name: "reads without plan", Values: map[string]any{"argv": []string{"say"}, "reads": []string{"/"}}, Wrong: "only beside plan"},
		{Name: "environment", Values: map[string]any{"argv": []string{"say"}, "env": map[string]string{"A=B": "1"}}, Wrong: "cannot be set"},
		{Name: "user like an option", Values: map[string]any{"argv": []string{"say"}, "user": "-x"}, Wrong: "looks like an option"},
		{Name: "relative dir", Values: map[string]any{"argv": []string{"say"}, "dir": "srv"}, Wrong: "no absolute path"},
		{Name: "result given", Values: map[string]any{"argv": []string{"say"}, "stdout": "x"}, Wrong: "cannot be set"},
	}})
}

// In a plan a command that only reads is run while what it reads is untouched.
func TestCommandReadsInPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reads    []any
		changed  string
		foreseen bool
	}{
		{[]any{"/srv"}, "/etc/x", true},
		{[]any{"/srv"}, "/srv/x", false},
		{nil, "/etc/x", false},
		{nil, "", true},
	} {
		shadow := host.NewShadow(newCommandHost(t))
		if c.changed != "" {
			if err := shadow.WriteFile(t.Context(), c.changed, host.Text(""), host.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		values := map[string]any{"argv": []any{"say"}, "plan": true}
		if c.reads != nil {
			values["reads"] = c.reads
		}
		want, err := command.Module.Decode(values, fs.FS(nil))
		if err != nil {
			t.Fatal(err)
		}
		changed, _, err := command.Module.Act(t.Context(), shadow, want)
		if (err == nil) != c.foreseen || changed {
			t.Errorf("reads %v, changed %q: changed %v, error %v", c.reads, c.changed, changed, err)
		}
	}
}

// What creates and removes name are paths of the part, for its order.
func TestCommandPaths(t *testing.T) {
	t.Parallel()
	paths := command.Module.Paths(map[string]any{"argv": []any{"say"}, "creates": "/a", "dir": "/b", "reads": []any{"/c"}})
	if !slices.Equal(paths, []string{"/a", "/c"}) {
		t.Error(paths)
	}
	if command.Module.Key(nil) != "" || command.Module.NoAbsent == "" || states.KindMap != command.Module.Attribute("env").Kind {
		t.Error("the schema is wrong")
	}
}
