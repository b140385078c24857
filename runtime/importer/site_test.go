package importer_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/statefile"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
)

// whole writes a site as tenet import does.
func whole(t T, h host.Host, l statefile.Language, words, paths []string) (fstest.MapFS, *machine.Import) {
	t.Helper()
	types, err := importer.Types(modules.Standard(), words)
	if err != nil {
		t.Fatalf("%v", err)
	}
	found, err := importer.Import(t.Context(), h, types, paths, importer.Options{Inline: 100, Files: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	ext := ".hcl"
	if l == statefile.Starlark {
		ext = ".star"
	}
	files := fstest.MapFS{"site" + ext: {Data: []byte(statefile.Remarks(found))}}
	for _, a := range found.Areas {
		text, problems := lang.Format(a.Name+ext, []byte(l.Text(a)))
		if problems.HasErrors() {
			t.Fatalf("%v\n%s", problems.Err(), l.Text(a))
		}
		files[a.Name+ext] = &fstest.MapFile{Data: text}
		for _, p := range a.Parts {
			if p.Copy != "" {
				files["files"+p.Copy] = &fstest.MapFile{Data: []byte(simulated.Text(h, p.Copy))}
			}
		}
	}
	return files, found
}

// A machine plans as it is, whatever stands on it, and no secret gets out.
func TestMachinePlansAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newMachine(t, simulated.Machine{})
		for range rapid.IntRange(0, 6).Draw(t, "files") {
			dir := rapid.SampledFrom([]string{"/etc/app", "/etc/app/sub", "/etc/app/${x}", "/etc/app/a b"}).Draw(t, "dir")
			if err := simulated.MakeDirectory(h, dir, fileMode(0o750)); err != nil {
				t.Fatalf("%v", err)
			}
			name := dir + "/" + strings.NewReplacer("/", "_", "\x00", "_").Replace("f"+texts().Draw(t, "name"))
			if len(name) > 200 {
				continue
			}
			meta := host.Meta{Mode: fileMode(rapid.SampledFrom([]uint32{0o644, 0o600, 0o440}).Draw(t, "mode")), UID: new(rapid.SampledFrom([]int{0, 33, 4242}).Draw(t, "uid"))}
			secret := rapid.SampledFrom([]string{"", "", "-----BEGIN OPENSSH PRIVATE KEY-----\nTOPSECRET\n", "a:$6$salt$TOPSECRET0:1::\n"}).Draw(t, "secret")
			if err := simulated.WriteFile(t.Context(), h, name, texts().Draw(t, "content")+secret, meta); err != nil {
				t.Fatalf("%v", err)
			}
		}
		for _, l := range languages {
			files, found := whole(t, h, l, []string{"files"}, []string{"/etc/app", "/etc"})
			for name, f := range files {
				if strings.Contains(string(f.Data), "TOPSECRET") {
					t.Fatalf("%s shows a secret:\n%s", name, f.Data)
				}
			}
			rows, parts := differences(t, h, files)
			if len(rows) > 0 || parts != partsOf(found) {
				t.Fatalf("%s: %d parts of %d, %q", l, parts, partsOf(found), rows)
			}
		}
	})
}

func partsOf(s *machine.Import) int {
	n := 0
	for _, a := range s.Areas {
		n += len(a.Parts)
	}
	return n
}

// The areas are in the order in which a bare machine needs them, whatever the order of
// the words, and labels that clash are told apart.
func TestMachineInOrder(t *testing.T) {
	h := newMachine(t, simulated.Machine{
		Files:    map[string]simulated.File{"/srv/a/ü": {Content: "a\n"}, "/srv/a/ö": {Content: "b\n"}, "/srv/id_rsa": {Content: "-----BEGIN PRIVATE KEY-----\n"}},
		Packages: map[string]simulated.Package{"web": {Installed: "1", Available: []string{"1"}}},
	})
	files, found := whole(t, h, statefile.HCL, []string{"files", "packages"}, []string{"/srv"})
	var names []string
	for _, a := range found.Areas {
		names = append(names, a.Name)
	}
	if strings.Join(names, " ") != "packages files" {
		t.Errorf("the areas are %q", names)
	}
	text := string(files["files.hcl"].Data)
	for _, want := range []string{"require = [state.packages]", `directory "/srv/a"`, `file "srv_a" {`, `file "srv_a-2" {`, "\"/srv/a/ö\"\n", "\"/srv/a/ü\"\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if len(found.Omissions) != 1 || found.Omissions[0].What != `file["/srv/id_rsa"]` {
		t.Errorf("left out: %v", found.Omissions)
	}
	if rows, parts := differences(t, h, files); len(rows) > 0 || parts != partsOf(found) {
		t.Errorf("%d parts, %q", parts, rows)
	}
}

// Where packages come from, and with which keys, comes before packages.
func TestSourcesComeFirst(t *testing.T) {
	h := newMachine(t, simulated.Machine{
		Files: map[string]simulated.File{
			"/etc/apt/keyrings/web.asc":         {Content: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"},
			"/etc/apt/sources.list.d/web.list":  {Content: "deb [signed-by=/etc/apt/keyrings/web.asc] https://example.org stable main\n"},
			"/etc/apt/sources.list.d/a.sources": {Content: "Types: deb\nURIs: https://example.org\nSuites: stable\nComponents: main\n"},
			"/etc/web.conf":                     {Content: "a\n"},
		},
		Packages: map[string]simulated.Package{"web": {Installed: "1", Available: []string{"1"}}},
	})
	if err := simulated.WriteFile(t.Context(), h, "/etc/sudoers.d/web", "web ALL=(root) PASSWD: ALL, NOPASSWD: /bin/true\n", host.Meta{Mode: fileMode(0o440)}); err != nil {
		t.Fatal(err)
	}
	files, found := whole(t, h, statefile.HCL, []string{"packages", "files", "apt_repository"}, []string{"/etc"})
	if found.Areas[0].Name != "sources" || found.Areas[1].Name != "packages" || len(found.Areas[0].Require) > 0 || found.Areas[1].Require[0] != "state.sources" {
		t.Errorf("%+v, %+v", found.Areas[0], found.Areas[1])
	}
	text := string(files["sources.hcl"].Data)
	key, list, source := strings.Index(text, "keyrings/web.asc"), strings.Index(text, "d/web.list"), strings.Index(text, "apt_repository")
	if key < 0 || list < key || source < list || strings.Contains(text, "web.conf") {
		t.Errorf("%s", text)
	}
	if len(found.Omissions) > 0 {
		t.Errorf("left out: %v", found.Omissions)
	}
	if rows, parts := differences(t, h, files); len(rows) > 0 || parts != partsOf(found) {
		t.Errorf("%d parts, %q", parts, rows)
	}
}

// The hash of a user's password is named, and not shown.
func TestPasswordIsNamed(t *testing.T) {
	h := newMachine(t, simulated.Machine{Users: map[string]simulated.User{
		"deploy": {UID: new(1500), Password: "$6$salt$TOPSECRET"}, "plain": {UID: new(1501), Password: "*"},
	}})
	for name, secret := range map[string]bool{"deploy": true, "plain": false} {
		p, err := importer.Read(t.Context(), h, modules.Standard().Lookup("user"), map[string]any{"name": name}, importer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := statefile.HCL.Print(p)
		if strings.Contains(text, "TOPSECRET") || strings.Contains(text, "password is left out") != secret {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// What others may not read, and has a password in it, stays where it is.
func TestPasswordsInPrivateFiles(t *testing.T) {
	for text, secret := range map[string]bool{
		"PW=TOPSECRET\n":                                 true,
		"# db\nDB_PASS='TOPSECRET'\n":                    true,
		"mysql_pwd: TOPSECRET\n":                         true,
		`{"pass": "TOPSECRET"}`:                          true,
		"AWS_SECRET_ACCESS_KEY=TOPSECRET\n":              true,
		"DATABASE_URL=postgres://app:TOPSECRET@db/app\n": true,
		"redis://:TOPSECRET@cache\n":                     true,
		"requirepass TOPSECRET\n":                        true,
		"port 1\n masterauth \"TOPSECRET\"\n":            true,
		"PresharedKey = TOPSECRET\n":                     true,
		"wpa-psk=TOPSECRET\n":                            true,
		"bypass = TOPSECRET\n":                           false,
		"%wheel ALL=(ALL) NOPASSWD: ALL\n":               false,
		"a ALL=NOPASSWD:/bin/x\nPASSWD: TOPSECRET\n":     true,
		"# the password TOPSECRET is elsewhere\n":        false,
		"proxy = http://proxy:3128/@\n":                  false,
		"pwd=\n":                                         false,
	} {
		h := newMachine(t, simulated.Machine{})
		if err := simulated.WriteFile(t.Context(), h, "/etc/app.env", text, host.Meta{Mode: fileMode(0o600)}); err != nil {
			t.Fatal(err)
		}
		part, err := importer.Read(t.Context(), h, modules.Standard().Lookup("file"), map[string]any{"path": "/etc/app.env"}, importer.Options{})
		if _, left := errors.AsType[*importer.OmissionError](err); left != secret || !left && err != nil {
			t.Errorf("%q: %v, %v", text, part, err)
		}
		if err != nil && (strings.Contains(err.Error(), "TOPSECRET") || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), " _")) {
			t.Errorf("%q is told: %v", text, err)
		}
	}
}
