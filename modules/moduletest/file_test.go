package moduletest_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules/file"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

const fileMotd = "/etc/motd"

// newFileHost has a program "checker" that accepts files beginning with "good".
func newFileHost(t *testing.T) host.Host {
	h := fake.Host(t)
	h.Handle("checker", func(_ context.Context, c host.Command) (host.Result, error) {
		name := "/etc/good.conf"
		if len(c.Argv) > 1 {
			name = c.Argv[1]
		}
		if !strings.HasPrefix(fake.Text(h, name), "good") {
			return host.Result{ExitCode: 1, Stderr: []byte("line 1: not good\n")}, nil
		}
		return host.Result{}, nil
	})
	return h
}

func putFile(name, content string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) { fake.Put(t, h, name, content, 0o640) }
}

func TestFile(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", host.InlineLimit/16) + "more"
	site := fstest.MapFS{
		"files/logo":  {Data: []byte("\xff\xfe\x00binary")},
		"files/large": {Data: []byte(large)},
	}
	statestest.Run(t, statestest.Suite{Module: file.Module, Host: newFileHost, Site: site, Hostile: map[string]any{"path": "/etc/motd", "content": "a", "owner": "root", "group": "root", "backup": true}, Trusted: []string{"validate"}, Cases: []statestest.Case{
		{
			Name: "create an empty file", Values: map[string]any{"path": fileMotd},
			Action: states.Create, Changes: []string{"content", "mode"}, Check: holds(fileMotd, ""),
		}, {
			Name: "create with all attributes",
			Values: map[string]any{"path": fileMotd, "content": "hello\n", "owner": "alice",
				"group": "www-data", "mode": "2640", "validate": []string{"checker", "/etc/good.conf"}},
			Prepare: putFile("/etc/good.conf", "good"),
			Action:  states.Create, Changes: []string{"content", "owner", "group", "mode"},
			Check: func(t *testing.T, h host.Host, out map[string]any) {
				info, err := h.Lstat(fileMotd)
				if err != nil || info.UID != 1000 || info.GID != 33 || states.FormatMode(info.Mode) != "2640" {
					t.Errorf("the file is %+v, %v", info, err)
				}
				if out["owner"] != "alice" {
					t.Errorf("observed: %v", out)
				}
			},
		}, {
			Name: "nothing to do", Prepare: putFile(fileMotd, "hello\n"),
			Values: map[string]any{"path": fileMotd, "content": "hello\n", "mode": "0640", "owner": "0", "group": "root"},
		}, {
			Name: "what is not given is not managed", Prepare: putFile(fileMotd, "hello\n"),
			Values: map[string]any{"path": fileMotd},
		}, {
			Name: "another content keeps the mode", Prepare: putFile(fileMotd, "hello\n"),
			Values: map[string]any{"path": fileMotd, "content": "bye\n", "backup": true},
			Action: states.Update, Changes: []string{"content"}, Check: holds(fileMotd+".~tenet~", "hello\n"),
			Stays: "the backup is compared with the first run",
		}, {
			Name: "another mode and owner", Prepare: putFile(fileMotd, "hello\n"),
			Values: map[string]any{"path": fileMotd, "mode": "0600", "owner": "1000"},
			Action: states.Update, Changes: []string{"owner", "mode"}, Check: holds(fileMotd, "hello\n"),
		}, {
			Name: "a program of another account", Prepare: func(t *testing.T, h host.Host) {
				putFile(fileMotd, "hello\n")(t, h)
				fake.Alice(t, h, fileMotd, 0o777|fs.ModeSetuid|fs.ModeSetgid)
			},
			Values: map[string]any{"path": fileMotd, "owner": "root", "backup": true},
			Action: states.Update, Changes: []string{"owner", "mode"}, Check: fake.HasMode(fileMotd, 0, 0o755),
		}, {
			Name: "another content of a setuid program", Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, fileMotd, "hello\n", 0o755|fs.ModeSetuid)
			},
			Values: map[string]any{"path": fileMotd, "content": "bye\n", "backup": true},
			Action: states.Update, Changes: []string{"content", "mode"}, Stays: "the backup is compared with the first run",
			Check: func(t *testing.T, h host.Host, out map[string]any) {
				fake.HasMode(fileMotd, 0, 0o755)(t, h, out)
				fake.HasMode(fileMotd+".~tenet~", 0, 0o755)(t, h, out)
			},
		}, {
			Name: "bytes of the site", Values: map[string]any{"path": fileMotd, "source": "files/logo"},
			Action: states.Create, Changes: []string{"content", "mode"}, Check: holds(fileMotd, "\xff\xfe\x00binary"),
		}, {
			Name: "a large source", Values: map[string]any{"path": fileMotd, "source": "files/large"},
			Action: states.Create, Changes: []string{"content", "mode"},
			Check: func(t *testing.T, h host.Host, _ map[string]any) {
				if info, err := h.Lstat(fileMotd); err != nil || info.Size != int64(len(large)) {
					t.Errorf("%+v, %v", info, err)
				}
			},
		}, {
			Name: "valid beside", Prepare: putFile(fileMotd, "good\n"),
			Values: map[string]any{"path": fileMotd, "content": "good news\n", "validate": []string{"checker", "%s"}},
			Action: states.Update, Changes: []string{"content"}, Check: holds(fileMotd, "good news\n"),
		}, {
			Name: "a symbolic link is replaced on request",
			Prepare: func(t *testing.T, h host.Host) {
				fake.Put(t, h, "/srv/other", "other", 0o600)
				fake.Link(t, h, "/srv/other", fileMotd)
			},
			Values: map[string]any{"path": fileMotd, "content": "hello\n", "replace": true},
			Action: states.Create, Changes: []string{"content", "mode"}, Check: holds("/srv/other", "other"),
		}, {
			Name: "absent", Ensure: states.Absent, Prepare: putFile(fileMotd, "hello\n"),
			Values: map[string]any{"path": fileMotd},
			Action: states.Remove, Changes: []string{"mode"},
		}, {
			Name: "absent already", Ensure: states.Absent, Values: map[string]any{"path": "/nowhere/motd"},
		},
	}})
}

func TestFileFails(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{Module: file.Module, Host: newFileHost, Cases: []statestest.Case{
		{
			Name: "not valid beside", Prepare: putFile(fileMotd, "good\n"), Fails: "the new content is not valid: checker ended with exit status 1: line 1: not good",
			Values: map[string]any{"path": fileMotd, "content": "bad\n", "validate": []string{"checker", "%s"}}, OnlyOnHost: true,
		}, {
			Name: "not valid in place", Prepare: putFile("/etc/good.conf", "good\n"), Fails: "the new content is not valid",
			Values: map[string]any{"path": "/etc/good.conf", "content": "bad\n", "validate": []string{"checker"}}, OnlyOnHost: true,
		}, {
			Name: "not valid and new", Fails: "the new content is not valid",
			Values: map[string]any{"path": "/etc/good.conf", "content": "bad\n", "validate": []string{"checker"}}, OnlyOnHost: true,
		}, {
			Name: "not valid in the place of a link", Fails: "the new content is not valid", OnlyOnHost: true,
			Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "other", "/etc/good.conf") },
			Values:  map[string]any{"path": "/etc/good.conf", "content": "bad\n", "validate": []string{"checker"}, "replace": true},
		}, {
			Name: "not valid and large", Fails: "the new content is not valid", OnlyOnHost: true,
			Prepare: putFile("/etc/good.conf", "good"+strings.Repeat(" ", host.InlineLimit)),
			Values:  map[string]any{"path": "/etc/good.conf", "content": "bad\n", "validate": []string{"checker"}},
		}, {
			Name: "missing directory", Fails: "the directory /nowhere is not there", Hint: `directory "/nowhere" {}`,
			Values: map[string]any{"path": "/nowhere/motd", "content": "x"},
		}, {
			Name: "unknown owner", Fails: `this host has no user named "nobody-here"`,
			Values: map[string]any{"path": fileMotd, "owner": "nobody-here"},
		}, {
			Name: "unknown group", Fails: `this host has no group named "nobody-here"`, Prepare: putFile(fileMotd, "x"),
			Values: map[string]any{"path": fileMotd, "group": "nobody-here"},
		}, {
			Name: "a symbolic link", Fails: "is a symbolic link, not a file", Hint: "replace = true",
			Prepare: func(t *testing.T, h host.Host) { fake.Link(t, h, "/srv", fileMotd) },
			Values:  map[string]any{"path": fileMotd},
		}, {
			Name: "a directory", Fails: "/srv is a directory, not a file", Hint: `absent "/srv" { force = true }`, Values: map[string]any{"path": "/srv"},
		},
		{Name: "no path", Wrong: "required", Values: map[string]any{}},
		{Name: "relative path", Wrong: "no absolute path", Values: map[string]any{"path": "etc/motd"}},
		{Name: "long path", Wrong: "not the shortest form", Values: map[string]any{"path": "/etc/../motd"}},
		{Name: "root", Wrong: "is a directory", Values: map[string]any{"path": "/"}},
		{Name: "mode", Wrong: "no mode", Values: map[string]any{"path": fileMotd, "mode": "rw"}},
		{Name: "numeric mode", Wrong: "a mode is a string", Values: map[string]any{"path": fileMotd, "mode": 644}},
		{Name: "owner like an option", Wrong: "looks like an option", Values: map[string]any{"path": fileMotd, "owner": "-x"}},
		{Name: "unknown attribute", Wrong: "no such attribute", Values: map[string]any{"path": fileMotd, "contents": "x"}, Unknown: "contents"},
		{Name: "empty validate", Wrong: "names no program", Values: map[string]any{"path": fileMotd, "validate": []string{}}},
	}})
}

// A content beside a source is refused wherever the bytes come from.
func TestFileContentBesideSource(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: file.Module, Host: newFileHost, Site: fstest.MapFS{"a": {Data: []byte("a")}},
		Cases: []statestest.Case{{
			Name: "both", Wrong: "cannot be given beside content",
			Values: map[string]any{"path": fileMotd, "content": "x", "source": "a"},
		}},
	})
}

// Content that is refused leaves no copy of the file that is in its place still; one that
// was there before stays.
func TestFileRefusedContentLeavesNoBackup(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "older\n"} {
		h := newFileHost(t)
		putFile("/etc/good.conf", "good\n")(t, h)
		if before != "" {
			putFile("/etc/good.conf.~tenet~", before)(t, h)
		}
		want, err := file.Module.Decode(map[string]any{"path": "/etc/good.conf", "content": "bad\n", "validate": []any{"checker"}, "backup": true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := file.Module.Read(t.Context(), h, want)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Module.Write(t.Context(), h, have, file.Module.Fill(have, want)); err == nil {
			t.Error("it is not refused")
		}
		if _, err := h.Lstat("/etc/good.conf.~tenet~"); (err == nil) != (before != "") {
			t.Errorf("with %q before, there is a backup: %v", before, err)
		}
	}
}
