package machinetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/machine"
)

func importTests() []test {
	return []test{
		{"import a part", testImport},
		{"import nothing", testImportNothing},
		{"import no secret", testImportSecrets},
		{"import all files, and their contents", testImportAll},
		{"import by a module of the site", testImportModules},
	}
}

// importer is the machine as what tells what is set up there.
func (s *suite) importer() machine.Importer {
	s.Helper()
	i, ok := s.Machine.(machine.Importer)
	if !ok {
		s.Fatalf("%T cannot tell what is set up", s.Machine)
	}
	return i
}

// imported asks for parts, and gives them by their labels.
func (s *suite) imported(r machine.ImportRequest) (found *machine.Import, byLabel map[string]*machine.ImportPart) {
	s.Helper()
	found = must[*machine.Import](s)(s.importer().Import(s.ctx, r, machine.Observer{}))
	byLabel = map[string]*machine.ImportPart{}
	for _, a := range found.Areas {
		for _, p := range a.Parts {
			byLabel[p.Label] = p
		}
	}
	return found, byLabel
}

// unchanged wants that nothing is recorded: reading leaves nothing behind.
func (s *suite) unchanged() {
	s.Helper()
	if now := s.status(""); marshal(s, now) != marshal(s, machine.NewStatus()) || len(s.history()) > 0 || s.managed() != nil {
		s.Errorf("something is recorded: %s", marshal(s, now))
	}
}

// valueOf gives an attribute; nil: it is not given.
func valueOf(p *machine.ImportPart, name string) any {
	if p == nil {
		return nil
	}
	for _, v := range p.Values {
		if v.Name == name {
			return v.Value
		}
	}
	return nil
}

func testImport(s *suite) {
	const text = "${x} <b> \u2028\n\t\"ü\"\n"
	s.write("a", "a\nb\n")
	s.write("odd", text)
	found, parts := s.imported(machine.ImportRequest{Type: "file", Keys: machine.Values{"path": s.path("a")}})
	p := parts[s.path("a")]
	if len(found.Areas) != 1 || len(found.Omissions) > 0 || p == nil {
		s.Fatalf("it tells %s", marshal(s, found))
	}
	if p.Type != "file" || p.LabelKey != "path" || p.Copy != "" || valueOf(p, "path") != s.path("a") || valueOf(p, "content") != "a\nb\n" || valueOf(p, "mode") != "0600" {
		s.Errorf("the part is %s", marshal(s, p))
	}
	var names []string
	for _, v := range p.Values {
		names = append(names, v.Name)
	}
	if slices.Index(names, "path") != 0 || slices.Index(names, "content") > slices.Index(names, "mode") {
		s.Errorf("the values are in the order %q", names)
	}
	_, parts = s.imported(machine.ImportRequest{Type: "file", Keys: machine.Values{"path": s.path("odd")}})
	if got := valueOf(parts[s.path("odd")], "content"); got != text && got != nil { // as the line separator is no readable text, it may be left out
		s.Errorf("the text is %q", got)
	}
	_, parts = s.imported(machine.ImportRequest{Type: "line", Keys: machine.Values{"path": s.path("a"), "line": "b"}})
	if len(parts) != 1 {
		s.Errorf("the line is told as %s", marshal(s, parts))
	}
	// Numbers come as they are, whatever way they take.
	_, parts = s.imported(machine.ImportRequest{Type: "user", Keys: machine.Values{"name": "root"}})
	if _, number := valueOf(parts["root"], "uid").(json.Number); !number {
		s.Errorf("root is %s", marshal(s, parts))
	}
	s.holds("a", "a\nb\n")
	s.unchanged()
}

func testImportNothing(s *suite) {
	ask := func(r machine.ImportRequest) error {
		s.Helper()
		found, err := s.importer().Import(s.ctx, r, machine.Observer{})
		if found != nil {
			s.Errorf("%+v gives %s", r, marshal(s, found))
		}
		return err
	}
	if e := s.refused(ask(machine.ImportRequest{Type: "file", Keys: machine.Values{"path": s.path("none")}}), machine.CodeNotFound); e.Hint == "" || !strings.Contains(e.Error(), s.path("none")) {
		s.Errorf("it says %v, %q", e, e.Hint)
	}
	for _, r := range []machine.ImportRequest{
		{},
		{Type: "file", Keys: machine.Values{"path": "etc/passwd"}},
		{Type: "file"},
		{Type: "no_such_module", Keys: machine.Values{"path": "/etc/passwd"}},
		{List: []string{"no_such_module"}},
		{List: []string{"line"}},
		{List: []string{"file"}, Paths: []string{"etc"}},
		{List: []string{"file"}, Paths: []string{s.Dir + "/../x"}},
		{Contents: []string{"etc/passwd"}},
		{Type: "file", Keys: machine.Values{"path": s.path("none")}, Modules: []byte("no archive")},
	} {
		s.refused(ask(r), machine.CodeUsage)
	}
	for _, r := range []machine.ImportRequest{
		{Type: "file", Keys: machine.Values{"path": s.Dir}},
		{List: []string{"file"}, Paths: []string{s.path("none")}},
		{Contents: []string{s.path("none")}},
		{Contents: []string{s.Dir}},
	} {
		if e, ok := errors.AsType[*machine.Error](ask(r)); !ok || e.Code == machine.CodeUsage || e.Error() == "" {
			s.Errorf("%+v: %v", r, e)
		}
	}
	s.unchanged()
}

func testImportSecrets(s *suite) {
	const secret = "TOPSECRET"
	s.write("conf", "user = app\npassword = "+secret+"\n")
	s.write("key", "-----BEGIN PRIVATE KEY-----\n"+secret+"\n")
	s.write("big", "-----BEGIN PRIVATE KEY-----\n"+strings.Repeat(secret, 20_000))
	for _, name := range []string{"conf", "key", "big"} {
		for _, files := range []bool{false, true} {
			found, parts := s.imported(machine.ImportRequest{Type: "file", Keys: machine.Values{"path": s.path(name)}, Files: files, Inline: 10})
			if len(parts) > 0 || len(found.Omissions) != 1 || !found.Omissions[0].Secret || !strings.Contains(found.Omissions[0].What, s.path(name)) || strings.Contains(marshal(s, found), secret) {
				s.Errorf("it tells %s", marshal(s, found))
			}
		}
		r := newRecorder()
		_, err := s.importer().Import(s.ctx, machine.ImportRequest{Contents: []string{s.path(name)}}, r.observer())
		e := s.refused(err, "")
		if strings.Contains(e.Error(), secret) || strings.Contains(r.output["stdout"], secret) {
			s.Errorf("%s is told: %v, %q", name, e, r.output)
		}
	}
	found, _ := s.imported(machine.ImportRequest{List: []string{"file"}, Paths: []string{s.Dir}, Files: true})
	if len(found.Areas) > 0 || len(found.Omissions) != 3 || strings.Contains(marshal(s, found), secret) {
		s.Errorf("it tells %s", marshal(s, found))
	}
}

func testImportAll(s *suite) {
	binary := strings.Repeat("\x00\xff\n", 100_000)
	s.write("a", "a\n")
	s.write("binary", binary)
	s.write("key", "-----BEGIN PRIVATE KEY-----\n")
	s.write("long", strings.Repeat("long ", 100))
	request := machine.ImportRequest{List: []string{"directory", "file"}, Paths: []string{s.Dir}, Inline: 100, Files: true}
	found, parts := s.imported(request)
	if len(found.Areas) != 1 || found.Areas[0].Name != "files" || len(found.Omissions) != 1 || !found.Omissions[0].Secret {
		s.Fatalf("it tells %s", marshal(s, found))
	}
	for name, size := range map[string]int{"a": 0, "binary": len(binary), "long": 500} {
		p := parts[s.path(name)]
		switch {
		case p == nil:
			s.Errorf("%s is not among %s", name, marshal(s, found))
		case size == 0 && (p.Copy != "" || valueOf(p, "content") != "a\n"), size > 0 && (p.Copy != s.path(name) || p.Size != int64(size) || valueOf(p, "source") != "files"+s.path(name)):
			s.Errorf("%s is %s", name, marshal(s, p))
		}
	}
	if again, _ := s.imported(request); marshal(s, again) != marshal(s, found) {
		s.Errorf("first it tells %s, and then %s", marshal(s, found), marshal(s, again))
	}
	r := newRecorder()
	paths := []string{s.path("long"), s.path("binary")}
	empty := must[*machine.Import](s)(s.importer().Import(s.ctx, machine.ImportRequest{Contents: paths}, r.observer()))
	if len(empty.Areas)+len(empty.Omissions) > 0 || r.output["stderr"] != "" {
		s.Errorf("it tells %s and %q", marshal(s, empty), r.output["stderr"])
	}
	archive := tar.NewReader(strings.NewReader(r.output["stdout"]))
	for i, want := range []string{strings.Repeat("long ", 100), binary} {
		h, err := archive.Next()
		if err != nil {
			s.Fatal(err)
		}
		if data, err := io.ReadAll(archive); err != nil || "/"+h.Name != paths[i] || h.Mode != 0o600 || string(data) != want {
			s.Errorf("%s has the mode %o and %d bytes: %v", h.Name, h.Mode, len(data), err)
		}
	}
	if _, err := archive.Next(); err != io.EOF {
		s.Errorf("there is more: %v", err)
	}
	s.unchanged()
}

// settingModule reads a setting of a file, and would write it.
const settingModule = `"""One setting of a file of lines NAME = VALUE."""

attributes = {
    "name": attr("string", key = True, doc = "Name of the setting."),
    "path": attr("string", key = True, path = True, doc = "Absolute path of the file."),
    "value": attr("string", present = True, doc = "What it is set to."),
}

def read(host, want):
    for line in host.read_file(want.path, default = "").split("\n"):
        name, _, value = line.partition(" = ")
        if name == want.name:
            return {"value": value}
    return None

def write(host, have, want):
    host.write_file(want.path, "%s = %s\n" % (want.name, want.value))

def remove(host, have):
    host.write_file(have.path, "")
`

func testImportModules(s *suite) {
	s.write("conf", "port = 8080\n")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	f, err := z.Create("modules/setting_line.star")
	if err == nil {
		_, err = f.Write([]byte(settingModule))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		s.Fatal(err)
	}
	r := machine.ImportRequest{Type: "setting_line", Keys: machine.Values{"name": "port", "path": s.path("conf")}, Modules: archive.Bytes()}
	if _, parts := s.imported(r); valueOf(parts["port"], "value") != "8080" {
		s.Errorf("it tells %s", marshal(s, parts))
	}
	r.Keys["name"] = "host"
	_, err = s.importer().Import(s.ctx, r, machine.Observer{})
	s.refused(err, machine.CodeNotFound)
	s.holds("conf", "port = 8080\n")
	s.unchanged()
}
