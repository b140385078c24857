package aptrepository_test

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
	file    = "/etc/apt/sources.list.d/vendor.sources"
	keyring = "/etc/apt/keyrings/vendor.asc"
	head    = "# Written by tenet, which undoes changes made here.\nTypes: deb\nURIs: https://deb.example.test/debian\nSuites: bookworm\nComponents: main\n"
)

func newHost(t *testing.T) host.Host {
	h := fake.Host(t)
	fake.Apt(t, h)
	fake.Dir(t, h, "/etc/apt/sources.list.d", 0o755)
	fake.Put(t, h, "/usr/share/keyrings/vendor.gpg", binary, 0o644)
	return h
}

// values are those of a common source, with changes: key, value, key, value, …
func values(changes ...any) map[string]any {
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
		fake.Put(t, h, file, head+"Signed-By: "+keyring+"\n", 0o644)
		fake.Put(t, h, keyring, armored, 0o644)
		if err := h.SetMeta(name, host.Meta{Mode: &mode, UID: &uid}); err != nil {
			t.Fatal(err)
		}
	}
}

// closed holds both files to be root's own.
func closed(t *testing.T, h host.Host, _ map[string]any) {
	t.Helper()
	for _, name := range []string{file, keyring} {
		if info, err := h.Lstat(name); err != nil || info.UID != 0 || info.Mode != 0o644 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// holds checks the files of the source; no text: none.
func holds(source, key string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		t.Helper()
		if got := fake.Text(h, file); got != source {
			t.Errorf("the source is %q, want %q", got, source)
		}
		if got := fake.Text(h, keyring); got != key {
			t.Errorf("the key is %q, want %q", got, key)
		}
	}
}

func there(text, key string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		fake.Put(t, h, file, text, 0o644)
		if key != "" {
			fake.Put(t, h, keyring, key, 0o644)
		}
	}
}

const signed = head + "Signed-By: " + keyring + "\n"

func TestRepository(t *testing.T) {
	inline := head + "Signed-By:\n " + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(armored), "\n\n", "\n.\n"), "\n", "\n ") + "\n"
	statestest.Run(t, statestest.Suite{
		Module: aptrepository.Module, Host: newHost, Hostile: values("architectures", []string{"amd64"}, "signed_by", "/usr/share/keyrings/vendor.gpg"),
		Site: fstest.MapFS{"one.asc": {Data: []byte(armored)}, "one.gpg": {Data: []byte(binary)}, "text": {Data: []byte("some other text")}},
		Cases: []statestest.Case{
			{Name: "plain", Values: values(), Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "enabled"}, Check: holds(head, "")},
			{Name: "there", Prepare: there(head, ""), Values: values()},
			{Name: "there in other words", Prepare: there("enabled: yes\ncomponents: main\nTypes: deb\n\n\nuris:\n https://deb.example.test/debian\nSuites: bookworm", ""), Values: values(), Action: states.Update, Changes: []string{"uris", "suites", "name"}},
			{Name: "key", Values: values("signed_by", armored), Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "signed_by", "enabled"}, Check: holds(signed, armored)},
			{Name: "key is there", Prepare: there(signed, armored), Values: values("signed_by", armored)},
			{Name: "key is there within", Prepare: there(inline, ""), Values: values("signed_by", armored)},
			{Name: "key is gone", Prepare: there(signed, ""), Values: values("signed_by", armored), Action: states.Update, Changes: []string{"signed_by"}, Check: holds(signed, armored)},
			{Name: "another key", Prepare: there(signed, "old"), Values: values("signed_by", armored), Action: states.Update, Changes: []string{"signed_by"}, Check: holds(signed, armored)},
			{Name: "others may change the source", Prepare: exposed(file, 0o666, 0), Values: values("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "the source is somebody else's", Prepare: exposed(file, 0o644, 1000), Values: values("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "others may change the key", Prepare: exposed(keyring, 0o664, 0), Values: values("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "apt may not read the key", Prepare: exposed(keyring, 0o600, 0), Values: values("signed_by", armored), Action: states.Update, Changes: []string{"file"}, Check: closed},
			{Name: "a key of the site", Values: values("source", "one.asc"), Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "signed_by", "enabled"}, Check: holds(signed, armored)},
			{Name: "a binary key of the site", Prepare: there(signed, armored), Values: values("source", "one.gpg"), Action: states.Update, Changes: []string{"signed_by"}, Check: holds(head+"Signed-By: /etc/apt/keyrings/vendor.gpg\n", "")},
			{Name: "a keyring of the host", Prepare: there(signed, armored), Values: values("signed_by", "/usr/share/keyrings/vendor.gpg"), Action: states.Update, Changes: []string{"signed_by"}, Check: holds(head+"Signed-By: /usr/share/keyrings/vendor.gpg\n", "")},
			{Name: "without the key", Prepare: there(signed, armored), Values: values("signed_by", ""), Action: states.Update, Changes: []string{"signed_by"}, Check: holds(head, "")},
			{Name: "all", Values: values("types", []string{"deb", "deb-src"}, "architectures", []string{"amd64", "i386"}, "enabled", false, "trusted", true),
				Action: states.Create, Changes: []string{"uris", "suites", "components", "types", "architectures", "enabled", "trusted"},
				Check: holds(strings.Replace(head, "deb\n", "deb deb-src\n", 1)+"Architectures: amd64 i386\nEnabled: no\nTrusted: yes\n", "")},
			{Name: "a directory", Prepare: there(head, ""), Values: map[string]any{"name": "vendor", "uris": []string{"file:/srv"}, "suites": []string{"./"}},
				Action: states.Update, Changes: []string{"uris", "suites", "components"},
				Check: holds("# Written by tenet, which undoes changes made here.\nTypes: deb\nURIs: file:/srv\nSuites: ./\n", "")},
			{Name: "another field", Prepare: there(head+"By-Hash: no\n", ""), Values: values(), Action: states.Update, Changes: []string{"name"}, Check: holds(head, "")},
			{Name: "two sources", Prepare: there(head+"\n"+head, ""), Values: values(), Action: states.Update, Changes: []string{"name"}, Check: holds(head, "")},
			{Name: "absent", Ensure: states.Absent, Prepare: there(signed, armored), Values: map[string]any{"name": "vendor"}, Action: states.Remove,
				Changes: []string{"uris", "suites", "components", "types", "architectures", "signed_by", "enabled", "trusted"}, Check: holds("", "")},
			{Name: "absent and cut short", Ensure: states.Absent, Prepare: there(signed, ""), Values: map[string]any{"name": "vendor"}, Action: states.Remove,
				Changes: []string{"uris", "suites", "components", "types", "architectures", "enabled", "trusted"}, Check: holds("", "")},
			{Name: "a directory stands there", Prepare: func(t *testing.T, h host.Host) { fake.Dir(t, h, file, 0o755) }, Values: values(), Fails: "is a directory, not a file"},
			{Name: "a keyring that is not there", Values: values("signed_by", "/usr/share/keyrings/none.gpg"), Fails: "there is no keyring /usr/share/keyrings/none.gpg"},
			{Name: "a source that is no key", Values: values("source", "text"), Fails: "source: it is no key"},

			{Name: "a path as name", Values: values("name", "../x"), Wrong: "is no name of a source"},
			{Name: "no URI", Values: values("uris", []string{"deb.example.test"}), Wrong: "is no URI"},
			{Name: "two lines", Values: values("uris", []string{"https://x\nTrusted: yes"}), Wrong: "is no URI"},
			{Name: "no suites", Values: values("suites", []string{}), Wrong: "it names none"},
			{Name: "no components", Values: values("components", []string{}), Wrong: "the suite bookworm needs them"},
			{Name: "components of a directory", Values: values("suites", []string{"./"}), Wrong: "there are none in ./"},
			{Name: "another type", Values: values("types", []string{"rpm"}), Wrong: "is no type"},
			{Name: "no key", Values: values("signed_by", "ABCD"), Wrong: "neither an armored key nor an absolute path"},
			{Name: "a damaged key", Values: values("signed_by", strings.Replace(armored, "mDME", "!", 1)), Wrong: "damaged"},
			{Name: "half a key", Values: values("signed_by", armored[:100]), Wrong: "it is no whole public key"},
			{Name: "a private key", Values: values("signed_by", strings.ReplaceAll(armored, "PUBLIC", "PRIVATE")), Wrong: "it is a private key"},
			{Name: "both", Values: values("signed_by", armored, "source", "one.asc"), Wrong: "cannot be given beside signed_by"},
		},
	})
	statestest.Run(t, statestest.Suite{
		Module: aptrepository.Module, Host: func(t *testing.T) host.Host {
			h := host.NewMemory()
			fake.Dir(t, h, "/etc", 0o755)
			return h
		},
		Cases: []statestest.Case{{Name: "no apt", Values: values(), Fails: "this host has no apt"}},
	})
}

// Below a root the module only touches files.
func TestBelowRoot(t *testing.T) {
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
		Cases: []statestest.Case{{Name: "key", Values: values("signed_by", armored), Action: states.Create,
			Changes: []string{"uris", "suites", "components", "types", "signed_by", "enabled"}, Check: holds(signed, armored)}},
	})
}

func TestList(t *testing.T) {
	h := newHost(t)
	fake.Put(t, h, file, head, 0o644)
	fake.Put(t, h, "/etc/apt/sources.list.d/two.sources", head+"\n"+head, 0o644)
	fake.Put(t, h, "/etc/apt/sources.list.d/old.list", "deb https://x y z\n", 0o644)
	keys, err := aptrepository.Module.List(t.Context(), h, nil)
	if err != nil || len(keys) != 1 || keys[0].(*aptrepository.Repository).Name != "vendor" {
		t.Errorf("%v, %v", keys, err)
	}
}
