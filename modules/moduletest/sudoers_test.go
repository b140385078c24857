package moduletest_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/modules/sudoers"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const sudoersMain = "root ALL=(ALL:ALL) ALL\n# x\n@includedir /etc/sudoers.d\nDefaults env_reset\n"

// newSudoersHost has a visudo that reads what is included, and takes "wrong" for a mistake
// and a second "twice" for a name that is defined twice.
func newSudoersHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Put(t, h, "/etc/sudoers", sudoersMain, 0o440)
	fake.Put(t, h, "/etc/sudoers.d/README", "# as Debian has it\n", 0o440)
	h.Handle("visudo", func(_ context.Context, c host.Command) (host.Result, error) {
		all := ""
		for i, line := range strings.Split(string(c.Stdin), "\n") {
			if file, found := strings.CutPrefix(line, "@include "); found {
				if all += fake.Text(h, file); strings.Contains(fake.Text(h, file), "wrong") {
					return host.Result{ExitCode: 1, Stderr: []byte(file + ":1:1: syntax error\n")}, nil
				}
				continue
			}
			if all += line; strings.Contains(line, "wrong") || strings.Count(all, "twice") > 1 {
				return host.Result{ExitCode: 1, Stderr: fmt.Appendf(nil, "stdin:%d:1: syntax error\n", i+1)}, nil
			}
		}
		return host.Result{Stdout: []byte("stdin: parsed OK\n")}, nil
	})
	return h
}

func sudoersHolds(name, text string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, "/etc/sudoers.d/"+name); is != text {
			t.Errorf("%s holds %q, want %q", name, is, text)
		}
		if info, err := h.Lstat("/etc/sudoers.d/" + name); err != nil || info.Mode != 0o440 || info.UID != 0 {
			t.Errorf("%s is %+v, %v", name, info, err)
		}
	}
}

func putSudoers(name, text string, mode fs.FileMode) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/sudoers.d/"+name, text, mode) }
}

func sudoersValues(more ...any) map[string]any {
	v := map[string]any{"name": "ops"}
	for i := 0; i < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

func TestSudoers(t *testing.T) {
	t.Parallel()
	content := []string{"content"}
	one := sudoersValues("users", []string{"alice"}, "groups", []string{"ops"}, "hosts", []string{"web1"}, "run_as", []string{"www-data"}, "commands", []string{"/usr/bin/id"})
	statestest.Run(t, statestest.Suite{Module: sudoers.Module, Host: newSudoersHost, Hostile: one, Cases: []statestest.Case{
		{Name: "create", Values: sudoersValues("content", "alice ALL=ALL\n"), Action: states.Create, Changes: content, Check: sudoersHolds("ops", "alice ALL=ALL\n")},
		{
			Name: "a rule", Values: sudoersValues("users", []string{"alice", "bob"}, "groups", []string{"adm"}, "commands", []string{"/bin/x a=b,c:d", `/bin/y ""`, "ALL"}, "nopasswd", true, "setenv", false),
			Action: states.Create, Changes: content, Check: sudoersHolds("ops", "alice, bob, %adm ALL = (root) NOPASSWD: NOSETENV: /bin/x a\\=b\\,c\\:d, /bin/y \"\", ALL\n"),
		},
		{Name: "where and whom", Values: one, Action: states.Create, Changes: content, Check: sudoersHolds("ops", "alice, %ops web1 = (www-data) /usr/bin/id\n")},
		{Name: "nothing to do", Prepare: putSudoers("ops", "x\n", 0o440), Values: sudoersValues("content", "x\n")},
		{Name: "other content", Prepare: putSudoers("ops", "twice\n", 0o440), Values: sudoersValues("content", "twice too\n"), Action: states.Update, Changes: content, Check: sudoersHolds("ops", "twice too\n")},
		{Name: "a mode that sudo does not like", Prepare: putSudoers("ops", "x\n", 0o666), Values: sudoersValues("content", "x\n"), Action: states.Update, Changes: []string{"mode"}, Check: sudoersHolds("ops", "x\n")},
		{Name: "an owner that sudo does not like", Values: sudoersValues("content", "x\n"), Action: states.Update, Changes: []string{"owner"}, Check: sudoersHolds("ops", "x\n"), Prepare: func(t *testing.T, h host.Host) {
			putSudoers("ops", "x\n", 0o440)(t, h)
			if err := h.SetMeta("/etc/sudoers.d/ops", host.Meta{UID: new(1000)}); err != nil {
				t.Fatal(err)
			}
		}},
		{Name: "absent", Ensure: states.Absent, Prepare: putSudoers("ops", "x\n", 0o440), Values: sudoersValues(), Action: states.Remove, Changes: content},
		{Name: "a mistake", Values: sudoersValues("content", "x\nwrong\n"), Fails: "/etc/sudoers.d/ops:2:1: syntax error"},
		{Name: "a mistake of others", Prepare: putSudoers("zzz", "wrong\n", 0o440), Values: sudoersValues("content", "x\n"), Fails: "/etc/sudoers.d/zzz:1:1: syntax error"},
		{Name: "a mistake in the main file", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/sudoers", sudoersMain+"wrong\n", 0o440) }, Values: sudoersValues("content", "x\n"), Fails: "/etc/sudoers:"},
		{Name: "defined by another", Prepare: putSudoers("a", "twice\n", 0o440), Values: sudoersValues("content", "twice\n"), Fails: "/etc/sudoers.d/ops:1:1:"},
		{Name: "absent, and still a mistake", Ensure: states.Absent, Prepare: func(t *testing.T, h host.Host) {
			putSudoers("ops", "x\n", 0o440)(t, h)
			putSudoers("zzz", "wrong\n", 0o440)(t, h)
		}, Values: sudoersValues(), Fails: "zzz:1:1:"},
		{Name: "not included", Prepare: func(t *testing.T, h host.Host) { fake.Put(t, h, "/etc/sudoers", "root ALL=ALL\n", 0o440) }, Values: sudoersValues("content", "x\n"), Fails: "does not include /etc/sudoers.d"},
		{Name: "no sudo", Prepare: func(t *testing.T, h host.Host) {
			if err := h.Remove("/etc/sudoers"); err != nil {
				t.Fatal(err)
			}
		}, Values: sudoersValues("content", "x\n"), Fails: "this host has no sudo"},
		{Name: "a link", Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/etc/passwd", "/etc/sudoers.d/ops") }, Values: sudoersValues("content", "x\n"), Fails: "is a symlink"},
		{Name: "nothing", Values: sudoersValues(), Fails: "required"},
		{Name: "no commands", Values: sudoersValues("users", []string{"alice"}), Fails: "needs the commands"},
		{Name: "both", Values: sudoersValues("content", "x\n", "users", []string{"alice"}), Wrong: "beside content"},
		{Name: "a name with a dot", Values: map[string]any{"name": "a.b", "content": "x\n"}, Wrong: "cannot contain"},
		{Name: "a path", Values: map[string]any{"name": "../x", "content": "x\n"}, Wrong: "cannot contain"},
		{Name: "an alias", Values: sudoersValues("users", []string{"ADMINS"}, "commands", []string{"ALL"}), Wrong: "for an alias"},
		{Name: "a relative command", Values: sudoersValues("users", []string{"alice"}, "commands", []string{"id"}), Wrong: "absolute path"},
		{Name: "two lines", Values: sudoersValues("users", []string{"alice"}, "commands", []string{"/bin/id\nALL ALL=ALL"}), Wrong: "one space"},
		{Name: "a negation", Values: sudoersValues("users", []string{"alice"}, "commands", []string{"/bin/id !x"}), Wrong: "cannot contain"},
	}})
}

func TestSudoersNoVisudo(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: sudoers.Module, Host: func(t *testing.T) host.Host {
		h := fake.Host(t)
		fake.Put(t, h, "/etc/sudoers", sudoersMain, 0o440)
		return h
	}, Cases: []statestest.Case{{Name: "no visudo", Values: sudoersValues("content", "x\n"), Fails: "this host has no visudo"}}})
}

// A whole file is taken as it is, once visudo has read it.
func TestSudoersHostileContent(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: sudoers.Module, Host: newSudoersHost, Hostile: sudoersValues("content", "x\n")})
}
