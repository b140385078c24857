package custom_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const motd = "/etc/motd"

// load loads the modules of testdata.
func load(t testing.TB) *custom.Set {
	t.Helper()
	set, list := custom.Load(os.DirFS("testdata"), custom.Dir, custom.Options{})
	if len(list) > 0 {
		t.Fatal(list)
	}
	return set
}

func module(t testing.TB, name string) *states.Module {
	t.Helper()
	m := states.NewRegistry(load(t).Modules()...).Lookup(name)
	if m == nil {
		t.Fatalf("there is no module %s", name)
	}
	return m
}

// source makes a module of a source.
func source(t testing.TB, text string) *states.Module {
	t.Helper()
	site := fstest.MapFS{"modules/x.star": {Data: []byte(text)}}
	set, list := custom.Load(site, custom.Dir, custom.Options{})
	if len(list) > 0 {
		t.Fatal(list)
	}
	return set.Modules()[0]
}

func newHost(t *testing.T) host.Host { return fake.Host(t) }

func put(name, text string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, name, text, 0o640) }
}

func holds(name, text string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		if is := fake.Text(h, name); is != text {
			t.Errorf("%s holds %q, want %q", name, is, text)
		}
	}
}

// A file in Starlark passes what the file in Go passes.
func TestFile(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", host.InlineLimit/16) + "more"
	site := fstest.MapFS{"logo": {Data: []byte("\xff\xfe\x00binary")}, "large": {Data: []byte(large)}}
	statestest.Run(t, statestest.Suite{Module: module(t, "star_file"), Host: newHost, Site: site, Cases: []statestest.Case{
		{
			Name: "create an empty file", Values: map[string]any{"path": motd},
			Action: states.Create, Changes: []string{"content", "mode"}, Check: holds(motd, ""),
		}, {
			Name:   "create with all attributes",
			Values: map[string]any{"path": motd, "content": "\xffhello\x00\n", "owner": "alice", "group": "www-data", "mode": "2640"},
			Action: states.Create, Changes: []string{"content", "owner", "group", "mode"}, Check: holds(motd, "\xffhello\x00\n"),
		}, {
			Name: "nothing to do", Prepare: put(motd, "hello\n"),
			Values: map[string]any{"path": motd, "content": "hello\n", "mode": "0640", "owner": "0", "group": "root"},
		}, {
			Name: "what is not given is not managed", Prepare: put(motd, "hello\n"), Values: map[string]any{"path": motd},
		}, {
			Name: "another mode and owner", Prepare: put(motd, "hello\n"),
			Values: map[string]any{"path": motd, "mode": "0600", "owner": "1000"},
			Action: states.Update, Changes: []string{"owner", "mode"}, Check: holds(motd, "hello\n"),
		}, {
			Name: "another content", Prepare: put(motd, "hello\n"), Values: map[string]any{"path": motd, "content": "bye\n"},
			Action: states.Update, Changes: []string{"content"}, Check: holds(motd, "bye\n"),
		}, {
			Name: "bytes of the site", Values: map[string]any{"path": motd, "source": "logo"},
			Action: states.Create, Changes: []string{"content", "mode"}, Check: holds(motd, "\xff\xfe\x00binary"),
		}, {
			Name: "a large source", Values: map[string]any{"path": motd, "source": "large"},
			Action: states.Create, Changes: []string{"content", "mode"},
		},
		{Name: "absent already", Ensure: states.Absent, Values: map[string]any{"path": "/nowhere/motd"}},
		{Name: "a directory", Fails: "/srv is a directory, not a file", Values: map[string]any{"path": "/srv"}},
		{Name: "missing directory", Fails: "the directory /nowhere is not there", Hint: `directory "/nowhere" {}`, Values: map[string]any{"path": "/nowhere/motd"}},
		{Name: "unknown owner", Fails: `this host has no user named "nobody-here"`, Values: map[string]any{"path": motd, "owner": "nobody-here"}},
		{Name: "relative path", Wrong: "no absolute path", Values: map[string]any{"path": "etc/motd"}},
		{Name: "no path", Wrong: "required", Values: map[string]any{}},
		{Name: "mode", Wrong: "no mode", Values: map[string]any{"path": motd, "mode": "rw"}},
		{Name: "both", Wrong: "cannot be given beside content", Values: map[string]any{"path": motd, "content": "x", "source": "logo"}},
		{Name: "unknown attribute", Wrong: "no such attribute", Values: map[string]any{"path": motd, "contents": "x"}, Unknown: "contents"},
	}})
}

func TestLine(t *testing.T) {
	const conf = "/etc/conf"
	edit := func(name, before, after string, values map[string]any, action states.Action) statestest.Case {
		values["path"] = conf
		c := statestest.Case{Name: name, Values: values, Action: action, Prepare: put(conf, before), Check: holds(conf, after)}
		if action == states.Update {
			c.Changes = []string{"line"}
		}
		return c
	}
	absent := edit("absent", "a\nc\nb\nc\n", "a\nb\n", map[string]any{"line": "none", "match": "^c$"}, states.Remove)
	absent.Ensure, absent.Changes = states.Absent, nil
	statestest.Run(t, statestest.Suite{Module: module(t, "star_line"), Host: newHost, Cases: []statestest.Case{
		edit("append", "a\nb\n", "a\nb\nc\n", map[string]any{"line": "c"}, states.Create),
		edit("there", "a\nc\nb\n", "a\nc\nb\n", map[string]any{"line": "c"}, ""),
		edit("match", "a\n#Port 22\nb\n", "a\nPort 2222\nb\n", map[string]any{"line": "Port 2222", "match": "^#?Port "}, states.Update),
		edit("several match", "Port 1\na\nPort 2\n", "Port 22\na\n", map[string]any{"line": "Port 22", "match": "^Port "}, states.Update),
		absent,
		{Name: "missing file", Values: map[string]any{"path": "/etc/none", "line": "a"}, Fails: "there is no file /etc/none"},
		{Name: "two lines", Values: map[string]any{"path": conf, "line": "a\nb"}, Wrong: "several lines"},
	}})
}

// databaseHost has a program db, which keeps a file for each database.
func databaseHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Dir(t, h, "/var/lib/db", 0o755)
	h.Handle("db", func(ctx context.Context, c host.Command) (host.Result, error) {
		name := "/var/lib/db/" + c.Argv[2]
		there := fake.Exists(h, name)
		switch c.Argv[1] {
		case "show":
			if !there {
				return host.Result{ExitCode: 4}, nil
			}
			return host.Result{Stdout: []byte(fake.Text(h, name) + "\n")}, nil
		case "drop":
			return host.Result{}, h.Remove(name)
		}
		if string(c.Stdin) == "13" {
			return host.Result{ExitCode: 1, Stderr: []byte("db: unlucky\n")}, nil
		}
		if len(c.Env) != 1 || c.Env[0] != "LANG=C" {
			return host.Result{}, fmt.Errorf("the environment is %q", c.Env)
		}
		return host.Result{}, h.WriteFile(ctx, name, host.Text(string(c.Stdin)), host.Meta{})
	})
	return h
}

func TestPrograms(t *testing.T) {
	m := module(t, "database")
	statestest.Run(t, statestest.Suite{Module: m, Host: databaseHost, Cases: []statestest.Case{
		{Name: "create", Values: map[string]any{"name": "shop"}, Action: states.Create, Changes: []string{"size"}, Check: holds("/var/lib/db/shop", "1")},
		{
			Name: "resize", Prepare: put("/var/lib/db/shop", "5"), Values: map[string]any{"name": "shop", "size": 7},
			Action: states.Update, Changes: []string{"size"},
			Check: func(t *testing.T, _ host.Host, out map[string]any) {
				if out["version"] != "1.2" {
					t.Errorf("observed %v", out)
				}
			},
		},
		{Name: "as it is", Prepare: put("/var/lib/db/shop", "5"), Values: map[string]any{"name": "shop"}},
		{Name: "refused", Values: map[string]any{"name": "shop", "size": 13}, Fails: "db ended with exit status 1: db: unlucky", OnlyOnHost: true},
	}})
	if m.Retry == nil || m.Retry.Attempts != 3 || m.Retry.Backoff != 2 || len(m.Locks) != 1 {
		t.Errorf("retry %v, locks %v", m.Retry, m.Locks)
	}
}

func TestAct(t *testing.T) {
	hostWith := func(t *testing.T) host.Host {
		h := fake.Host(t)
		h.Handle("setup", func(context.Context, host.Command) (host.Result, error) {
			return host.Result{Stdout: []byte("well done")}, nil
		})
		return h
	}
	statestest.Run(t, statestest.Suite{Module: module(t, "once"), Host: hostWith, Cases: []statestest.Case{
		{
			Name: "first", Values: map[string]any{"stamp": "/etc/stamp", "word": "yes"}, Acts: true,
			Check: func(t *testing.T, h host.Host, out map[string]any) {
				if out["said"] != "well done" || fake.Text(h, "/etc/stamp") != "yes" {
					t.Errorf("observed %v", out)
				}
			},
		},
		{Name: "done", Prepare: put("/etc/stamp", ""), Values: map[string]any{"stamp": "/etc/stamp"}},
		{Name: "no stamp", Values: map[string]any{}, Wrong: "required"},
	}})
}

// What a program will do is foreseen, and what only the host knows filled in.
func TestForeseeAndComplete(t *testing.T) {
	hostWith := func(t *testing.T) host.Host {
		h := fake.Host(t)
		h.Handle("shells", func(context.Context, host.Command) (host.Result, error) {
			return host.Result{Stdout: []byte("/bin/new")}, nil
		})
		h.Handle("account", func(ctx context.Context, c host.Command) (host.Result, error) {
			if len(c.Argv) == 2 {
				return host.Result{}, h.Remove(c.Argv[1])
			}
			return host.Result{}, h.WriteFile(ctx, c.Argv[1], host.Text(c.Argv[2]), host.Meta{})
		})
		return h
	}
	m := module(t, "account")
	statestest.Run(t, statestest.Suite{Module: m, Host: hostWith, Cases: []statestest.Case{
		{Name: "create", Values: map[string]any{"name": "ada", "shell": "/bin/sh"}, Action: states.Create, Changes: []string{"shell"}, Check: holds("/srv/ada", "/bin/sh")},
		{Name: "change", Prepare: put("/srv/ada", "/bin/sh"), Values: map[string]any{"name": "ada", "shell": "/bin/ash"}, Action: states.Update, Changes: []string{"shell"}},
		{Name: "remove", Ensure: states.Absent, Prepare: put("/srv/ada", "/bin/sh"), Values: map[string]any{"name": "ada"}, Action: states.Remove, Changes: []string{"shell"}},
	}})
	shadow := host.NewShadow(hostWith(t))
	want, err := m.Decode(map[string]any{"name": "ada", "shell": "latest"}, nil)
	if err == nil {
		want, err = m.Complete(t.Context(), shadow, want)
	}
	if err == nil {
		err = m.Foresee(t.Context(), shadow, nil, want)
	}
	if err != nil || fake.Text(shadow, "/srv/ada") != "/bin/new" {
		t.Errorf("foreseen: %q, %v", fake.Text(shadow, "/srv/ada"), err)
	}
	if err := m.Foresee(t.Context(), shadow, want, nil); err != nil || fake.Exists(shadow, "/srv/ada") {
		t.Errorf("foreseen to be gone: %v", err)
	}
}

// A set has what a host needs to have the modules too.
func TestSet(t *testing.T) {
	set := load(t)
	copied := fstest.MapFS{}
	for _, file := range set.Files() {
		src, ok := set.Source(file)
		if !ok {
			t.Fatalf("%s has no source", file)
		}
		copied[file] = &fstest.MapFile{Data: src}
	}
	if _, ok := copied["modules/_lines.star"]; !ok {
		t.Errorf("the files are %v", set.Files())
	}
	again, list := custom.Load(copied, custom.Dir, custom.Options{})
	if len(list) > 0 || len(again.Modules()) != len(set.Modules()) {
		t.Fatal(list)
	}
	for _, m := range set.Modules() {
		if a, b := set.Digest(m.Name), again.Digest(m.Name); a != b || len(a) != 64 {
			t.Errorf("%s: %s, and then %s", m.Name, a, b)
		}
	}
	copied["modules/_lines.star"].Data = append(copied["modules/_lines.star"].Data, "# more\n"...)
	changed, _ := custom.Load(copied, custom.Dir, custom.Options{})
	if changed.Digest("star_line") == set.Digest("star_line") || changed.Digest("star_file") != set.Digest("star_file") {
		t.Error("a digest is that of the module's own file and what it loads")
	}
	if none, list := custom.Load(fstest.MapFS{}, path.Join("a", custom.Dir), custom.Options{}); len(list) > 0 || len(none.Modules()) > 0 {
		t.Errorf("without a directory: %v", list)
	}
}
