package runtime_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// plainUser plans and applies where others have files, too.
func plainUser() host.Credentials {
	return host.Credentials{UID: 4001, GID: 4001, Groups: []int{4002}}
}

// owned is one thing in a tree of mixed ownership.
type owned struct {
	Path   string
	Kind   host.Kind
	Mode   fs.FileMode
	UID    int
	GID    int
	Text   string
	Target string
	Flag   string // "i" or "a", as chattr has them
}

// ownedFiles and ownedDirs are few, so that parts meet on them.
func ownedFiles() []string {
	return []string{"/w/a", "/w/b", "/w/d/f", "/w/d/g", "/w/d/e/h", "/w/s/i"}
}

func ownedDirs() []string { return []string{"/w", "/w/d", "/w/d/e", "/w/s"} }

func accounts(t *rapid.T) (uid, gid int) {
	me := plainUser()
	uid = rapid.SampledFrom([]int{me.UID, me.UID, 0, 4003}).Draw(t, "uid")
	return uid, rapid.SampledFrom([]int{me.GID, me.Groups[0], 0, 4003}).Draw(t, "gid")
}

// drawOwned is a tree in which files and directories are anybody's, with modes that let
// some in. Flags are drawn where the host has them.
func drawOwned(t *rapid.T, flags bool) []owned {
	var list []owned
	missing := map[string]bool{}
	add := func(path string, kind host.Kind, modes []fs.FileMode) {
		dir := path[:strings.LastIndexByte(path, '/')]
		if missing[dir] || path != "/w" && rapid.IntRange(0, 4).Draw(t, "missing") == 0 {
			missing[path] = true
			return
		}
		o := owned{Path: path, Kind: kind, Mode: rapid.SampledFrom(modes).Draw(t, "mode")}
		o.UID, o.GID = accounts(t)
		switch kind {
		case host.Regular:
			o.Text = rapid.SampledFrom([]string{"", "one\n", "two\n"}).Draw(t, "text")
		case host.Symlink:
			o.Target = rapid.SampledFrom([]string{"/w/d", "/w/a", "nowhere"}).Draw(t, "target")
		}
		if flags && kind != host.Symlink && rapid.IntRange(0, 11).Draw(t, "flagged") == 0 {
			o.Flag = rapid.SampledFrom([]string{"i", "a"}).Draw(t, "flag")
		}
		list = append(list, o)
	}
	for _, dir := range ownedDirs() {
		add(dir, host.Directory, []fs.FileMode{0o755, 0o755, 0o775, 0o777, 0o777 | fs.ModeSticky, 0o775 | fs.ModeSetgid, 0o750, 0o700, 0o500, 0o600})
	}
	for _, file := range ownedFiles() {
		add(file, host.Regular, []fs.FileMode{0o644, 0o644, 0o664, 0o640, 0o600, 0o000, 0o755 | fs.ModeSetgid, 0o755 | fs.ModeSetuid})
	}
	add("/w/l", host.Symlink, []fs.FileMode{0o777})
	return list
}

// drawOwnedSite is a site over such a tree, with or without programs that it runs.
func drawOwnedSite(t *rapid.T, registry *states.Registry, programs bool) *states.Declarations {
	d := &states.Declarations{Host: "host"}
	for i := range rapid.IntRange(1, 4).Draw(t, "declarations") {
		decl := states.Declaration{Address: fmt.Sprintf("state.s%d", i), File: "site.hcl"}
		decl.Base = decl.Address
		decl.Range = diag.Range{File: "site.hcl", Start: diag.Pos{Line: i + 1, Column: 1, Byte: i}}
		for k := range rapid.IntRange(1, 2).Draw(t, "parts") {
			p := drawOwnedPart(t, registry, programs)
			p.Base = fmt.Sprintf("%s.p%d", p.Type, k)
			p.Address = p.Base
			decl.Parts = append(decl.Parts, p)
		}
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "after") == 0 {
			decl.Options.Require = []states.Ref{{Address: d.List[i-1].Address}}
		}
		d.List = append(d.List, decl)
	}
	return d
}

func drawOwnedPart(t *rapid.T, registry *states.Registry, programs bool) states.PartDeclaration {
	types := []string{"file", "file", "file", "directory", "directory", "symlink", "line", "marked_block"}
	if programs {
		types = append(types, "command")
	}
	p := states.PartDeclaration{Type: rapid.SampledFrom(types).Draw(t, "type")}
	maybe := func(n int) bool { return rapid.IntRange(0, n).Draw(t, "maybe") == 0 }
	values := map[string]any{}
	text := func(name string, of ...string) { values[name] = rapid.SampledFrom(of).Draw(t, name) }
	switch p.Type {
	case "file":
		text("path", append(ownedFiles(), "/w/n", "/w/d/n", "/w/s/n", "/w/l/n", "/w/l")...)
		if !maybe(3) {
			text("content", "", "one\n", "three\n")
			values["backup"] = maybe(3)
		}
		values["replace"] = maybe(3)
	case "directory":
		text("path", append(ownedDirs(), "/w/n", "/w/d/n", "/w/s/n/m")...)
		values["parents"], values["recurse"], values["purge"], values["force"] = maybe(2), maybe(4), maybe(5), maybe(2)
		if values["recurse"] == true {
			text("file_mode", "0644", "2755")
		}
	case "symlink":
		text("path", "/w/l", "/w/d/k", "/w/s/k", "/w/a")
		text("target", "/w/d", "/w/s", "nowhere")
		values["replace"] = maybe(1)
	case "line":
		text("path", append(ownedFiles(), "/w/n")...)
		text("line", "one", "two")
		values["create"] = maybe(1)
	case "marked_block":
		text("path", append(ownedFiles(), "/w/n")...)
		text("content", "one", "two")
		values["create"], values["name"] = maybe(1), "n"
	case "command":
		values["argv"] = []any{"good"}
		if maybe(1) {
			text("user", "root", "me")
		}
	}
	if p.Type == "file" || p.Type == "directory" {
		if maybe(1) {
			text("mode", "0600", "0644", "0755", "2755", "4755", "0000", "0500", "1777")
		}
		if maybe(2) {
			text("owner", "0", "4001", "4003")
		}
		if maybe(2) {
			text("group", "0", "4001", "4002", "4003")
		}
	}
	if p.Type != "command" && maybe(4) {
		p.Options.Ensure = states.Absent
	}
	m := registry.ModuleOf(p.Type)
	for name, v := range values {
		a := m.Attribute(name)
		if a == nil || v == false {
			delete(values, name)
			continue
		}
		canonical, err := a.Normalize(v)
		if err != nil {
			panic(err)
		}
		values[name] = canonical
	}
	p.Values, p.Key, p.Paths = values, m.Key(values), m.Paths(values)
	return p
}

// inMemory makes the tree on a host in memory.
func inMemory(list []owned) (*host.Memory, error) {
	h := machine()
	h.Handle("good", func(context.Context, host.Command) (host.Result, error) { return host.Result{}, nil })
	err := h.Add("/etc/passwd", "root:x:0:0::/:\nme:x:4001:4001::/:\n")
	for _, o := range list {
		m := host.Meta{Mode: &o.Mode, UID: &o.UID, GID: &o.GID}
		switch {
		case err != nil:
		case o.Kind == host.Directory:
			err = h.Mkdir(o.Path, m)
		case o.Kind == host.Symlink:
			err = h.Symlink(o.Target, o.Path, m)
		default:
			err = h.WriteFile(context.Background(), o.Path, host.Text(o.Text), m)
		}
	}
	return h, err
}
