package moduletest_test

import (
	_ "embed"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules/aptrepository"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/states/statestest"
)

//go:embed testdata/one.asc
var armored string

//go:embed testdata/one.gpg
var binary string

const (
	aptRepositoryFile = "/etc/apt/sources.list.d/vendor.sources"
	keyring           = "/etc/apt/keyrings/vendor.asc"
	aptRepositoryHead = "# Written by tenet, which undoes changes made here.\nTypes: deb\nURIs: https://deb.example.test/debian\nSuites: bookworm\nComponents: main\n"
)

func newAptRepositoryHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Apt(t, h)
	fake.Dir(t, h, "/etc/apt/sources.list.d", 0o755)
	fake.Put(t, h, "/usr/share/keyrings/vendor.gpg", binary, 0o644)
	return h
}

// aptRepositoryValues are those of a common source, with changes: key, value, key, value, …
func aptRepositoryValues(changes ...any) map[string]any {
	v := map[string]any{
		"name": "vendor", "uris": []string{"https://deb.example.test/debian"}, "suites": []string{"bookworm"},
		"components": []string{"main"},
	}
	for i := 0; i < len(changes); i += 2 {
		v[changes[i].(string)] = changes[i+1]
	}
	return v
}

// exposed is a source with a key, of which a file has this mode and owner.
func exposed(name string, mode fs.FileMode, uid int) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		t.Helper()
		fake.Put(t, h, aptRepositoryFile, aptRepositoryHead+"Signed-By: "+keyring+"\n", 0o644)
		fake.Put(t, h, keyring, armored, 0o644)
		if err := h.SetMeta(name, host.Meta{Mode: &mode, UID: &uid}); err != nil {
			t.Fatal(err)
		}
	}
}

// closed holds both files to be root's own.
func closed(t *testing.T, h host.Host, _ map[string]any) {
	t.Helper()
	for _, name := range []string{aptRepositoryFile, keyring} {
		if info, err := h.Lstat(name); err != nil || info.UID != 0 || info.Mode != 0o644 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// aptRepositoryHolds checks the files of the source; no text: none.
func aptRepositoryHolds(source, key string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		if got := fake.Text(h, aptRepositoryFile); got != source {
			t.Errorf("the source is %q, want %q", got, source)
		}
		if got := fake.Text(h, keyring); got != key {
			t.Errorf("the key is %q, want %q", got, key)
		}
	}
}

func aptRepositoryThere(text, key string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		fake.Put(t, h, aptRepositoryFile, text, 0o644)
		if key != "" {
			fake.Put(t, h, keyring, key, 0o644)
		}
	}
}

const signed = aptRepositoryHead + "Signed-By: " + keyring + "\n"

func TestAptRepository(t *testing.T) {
	t.Parallel()
	inline := aptRepositoryHead + "Signed-By:\n " + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(armored), "\n\n", "\n.\n"), "\n", "\n ") + "\n"
	statestest.Run(t, statestest.Suite{
		Module: aptrepository.Module, Host: newAptRepositoryHost, Hostile: aptRepositoryValues("architectures", []string{"amd64"}, "signed_by", "/usr/share/keyrings/vendor.gpg"),
		Site: fstest.MapFS{"one.asc": {Data: []byte(armored)}, "one.gpg": {Data: []byte(binary)}, "text": {Data: []byte("some other text")}},
		Cases: []statestest.Case{
			{Name: "plain", Values: aptRepositoryValues(), Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "enabled"}, Check: aptRepositoryHolds(aptRepositoryHead, "")},
			{Name: "there", Prepare: aptRepositoryThere(aptRepositoryHead, ""), Values: aptRepositoryValues()},
			{Name: "there in other words", Prepare: aptRepositoryThere("enabled: yes\ncomponents: main\nTypes: deb\n\n\nuris:\n https://deb.example.test/debian\nSuites: bookworm", ""), Values: aptRepositoryValues(), Action: states.Update, Changes: []string{"uris", "suites", "name"}},
			{Name: "key", Values: aptRepositoryValues("signed_by", armored), Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "signed_by", "enabled"}, Check: aptRepositoryHolds(signed, armored)},
			{Name: "key is there", Prepare: aptRepositoryThere(signed, armored), Values: aptRepositoryValues("signed_by", armored)},
			{Name: "key is there within", Prepare: aptRepositoryThere(inline, ""), Values: aptRepositoryValues("signed_by", armored)},
			{Name: "key is gone", Prepare: aptRepositoryThere(signed, ""), Values: aptRepositoryValues("signed_by", armored), Action: states.Update, Changes: []string{"signed_by"}, Check: aptRepositoryHolds(signed, armored)},
			{Name: "another key", Prepare: aptRepositoryThere(signed, "old"), Values: aptRepositoryValues("signed_by", armored), Action: states.Update, Changes: []string{"signed_by"}, Check: aptRepositoryHolds(signed, armored)},
			{Name: "others may change the source", Prepare: exposed(aptRepositoryFile, 0o666, 0), Values: aptRepositoryValues("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "the source is somebody else's", Prepare: exposed(aptRepositoryFile, 0o644, 1000), Values: aptRepositoryValues("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "others may change the key", Prepare: exposed(keyring, 0o664, 0), Values: aptRepositoryValues("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "apt may not read the key", Prepare: exposed(keyring, 0o600, 0), Values: aptRepositoryValues("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "a key of the site", Values: aptRepositoryValues("source", "one.asc"), Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "signed_by", "enabled"}, Check: aptRepositoryHolds(signed, armored)},
			{Name: "a binary key of the site", Prepare: aptRepositoryThere(signed, armored), Values: aptRepositoryValues("source", "one.gpg"), Action: states.Update, Changes: []string{"signed_by"}, Check: aptRepositoryHolds(aptRepositoryHead+"Signed-By: /etc/apt/keyrings/vendor.gpg\n", "")},
			{Name: "a keyring of the host", Prepare: aptRepositoryThere(signed, armored), Values: aptRepositoryValues("signed_by", "/usr/share/keyrings/vendor.gpg"), Action: states.Update, Changes: []string{"signed_by"}, Check: aptRepositoryHolds(aptRepositoryHead+"Signed-By: /usr/share/keyrings/vendor.gpg\n", "")},
			{Name: "without the key", Prepare: aptRepositoryThere(signed, armored), Values: aptRepositoryValues("signed_by", ""), Action: states.Update, Changes: []string{"signed_by"}, Check: aptRepositoryHolds(aptRepositoryHead, "")},
			{Name: "all", Values: aptRepositoryValues("types", []string{"deb", "deb-src"}, "architectures", []string{"amd64", "i386"}, "enabled", false, "trusted", true),
				Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "architectures", "enabled", "trusted"},
				Check: aptRepositoryHolds(strings.Replace(aptRepositoryHead, "deb\n", "deb deb-src\n", 1)+"Architectures: amd64 i386\nEnabled: no\nTrusted: yes\n", "")},
			{Name: "a directory", Prepare: aptRepositoryThere(aptRepositoryHead, ""), Values: map[string]any{"name": "vendor", "uris": []string{"file:/srv"}, "suites": []string{"./"}},
				Action: states.Update, Changes: []string{"uris", "suites", "components"},
				Check: aptRepositoryHolds("# Written by tenet, which undoes changes made here.\nTypes: deb\nURIs: file:/srv\nSuites: ./\n", "")},
			{Name: "another field", Prepare: aptRepositoryThere(aptRepositoryHead+"By-Hash: no\n", ""), Values: aptRepositoryValues(), Action: states.Update, Changes: []string{"name"}, Check: aptRepositoryHolds(aptRepositoryHead, "")},
			{Name: "two sources", Prepare: aptRepositoryThere(aptRepositoryHead+"\n"+aptRepositoryHead, ""), Values: aptRepositoryValues(), Action: states.Update, Changes: []string{"name"}, Check: aptRepositoryHolds(aptRepositoryHead, "")},
			{Name: "absent", Ensure: states.Absent, Prepare: aptRepositoryThere(signed, armored), Values: map[string]any{"name": "vendor"}, Action: states.Remove,
				Changes: []string{"uris", "suites", "components", "types", "architectures", "signed_by", "enabled", "trusted"}, Check: aptRepositoryHolds("", "")},
			{Name: "absent and cut short", Ensure: states.Absent, Prepare: aptRepositoryThere(signed, ""), Values: map[string]any{"name": "vendor"}, Action: states.Remove,
				Changes: []string{"uris", "suites", "components", "types", "architectures", "enabled", "trusted"}, Check: aptRepositoryHolds("", "")},
			{Name: "a directory stands there", Prepare: func(t *testing.T, h host.Host) { fake.Dir(t, h, aptRepositoryFile, 0o755) }, Values: aptRepositoryValues(), Fails: "is a directory, not a file"},
			{Name: "a keyring that is not there", Values: aptRepositoryValues("signed_by", "/usr/share/keyrings/none.gpg"), Fails: "there is no keyring /usr/share/keyrings/none.gpg"},
			{Name: "a source that is no key", Values: aptRepositoryValues("source", "text"), Fails: "source: it is no key"},

			{Name: "a path as name", Values: aptRepositoryValues("name", "../x"), Wrong: "is no name of a source"},
			{Name: "no URI", Values: aptRepositoryValues("uris", []string{"deb.example.test"}), Wrong: "is no URI"},
			{Name: "two lines", Values: aptRepositoryValues("uris", []string{"https://x\nTrusted: yes"}), Wrong: "is no URI"},
			{Name: "no suites", Values: aptRepositoryValues("suites", []string{}), Wrong: "it names none"},
			{Name: "no components", Values: aptRepositoryValues("components", []string{}), Wrong: "the suite bookworm needs them"},
			{Name: "components of a directory", Values: aptRepositoryValues("suites", []string{"./"}), Wrong: "there are none in ./"},
			{Name: "another type", Values: aptRepositoryValues("types", []string{"rpm"}), Wrong: "is no type"},
			{Name: "no key", Values: aptRepositoryValues("signed_by", "ABCD"), Wrong: "neither an armored key nor an absolute path"},
			{Name: "a damaged key", Values: aptRepositoryValues("signed_by", strings.Replace(armored, "mDME", "!", 1)), Wrong: "damaged"},
			{Name: "half a key", Values: aptRepositoryValues("signed_by", armored[:100]), Wrong: "it is no whole public key"},
			{Name: "a private key", Values: aptRepositoryValues("signed_by", strings.ReplaceAll(armored, "PUBLIC", "PRIVATE")), Wrong: "it is a private key"},
			{Name: "both", Values: aptRepositoryValues("signed_by", armored, "source", "one.asc"), Wrong: "cannot be given beside signed_by"},
		},
	})
	statestest.Run(t, statestest.Suite{
		Module: aptrepository.Module, Host: func(t *testing.T) host.Host {
			h := host.NewMemory()
			fake.Dir(t, h, "/etc", 0o755)
			return h
		},
		Cases: []statestest.Case{{Name: "no apt", Values: aptRepositoryValues(), Fails: "this host has no apt"}},
	})
}

// Below a root the module only touches files.
func TestAptRepositoryBelowRoot(t *testing.T) {
	t.Parallel()
	statestest.Run(t, statestest.Suite{
		Module: aptrepository.Module,
		Host: func(t *testing.T) host.Host {
			h, err := host.NewLocal(host.LocalOptions{Root: t.TempDir()})
			if err == nil {
				err = h.Mkdir("/etc", host.Meta{})
			}
			if err == nil {
				err = h.Mkdir("/etc/apt", host.Meta{Mode: new(fs.FileMode(0o755))})
			}
			if err != nil {
				t.Fatal(err)
			}
			return h
		},
		Cases: []statestest.Case{{Name: "key", Values: aptRepositoryValues("signed_by", armored), Action: states.Create,
			Changes: []string{"uris", "suites", "components", "types", "signed_by", "enabled"}, Check: aptRepositoryHolds(signed, armored)}},
	})
}

func TestAptRepositoryList(t *testing.T) {
	t.Parallel()
	h := newAptRepositoryHost(t)
	fake.Put(t, h, aptRepositoryFile, aptRepositoryHead, 0o644)
	fake.Put(t, h, "/etc/apt/sources.list.d/two.sources", aptRepositoryHead+"\n"+aptRepositoryHead, 0o644)
	fake.Put(t, h, "/etc/apt/sources.list.d/old.list", "deb https://x y z\n", 0o644)
	keys, err := aptrepository.Module.List(t.Context(), h, nil)
	if err != nil || len(keys) != 1 || keys[0].(*aptrepository.Repository).Name != "vendor" {
		t.Errorf("%v, %v", keys, err)
	}
}
