package aptrepository

import (
	"slices"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// What is written is read as it was, whatever passes the checks.
func FuzzSource(f *testing.F) {
	f.Add("https://deb.example.test/debian", "bookworm", "main", "amd64", "/usr/share/keyrings/a.gpg", "Types: deb\n\n# x\nURIs:\n a\n b\n")
	f.Add("file:/srv", "./", "", "", "", "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n x")
	f.Fuzz(func(t *testing.T, uri, suite, component, arch, key, text string) {
		parse(text) // anything may stand there
		checkKey("key", text)
		want := Repository{Name: "x", Types: []string{"deb"}, URIs: []string{uri}, Suites: []string{suite}, SignedBy: new(host.Text(key)), Enabled: new(arch == ""), Trusted: new(key == "")}
		if component != "" {
			want.Components = []string{component}
		}
		if arch != "" {
			want.Architectures = []string{arch}
		}
		if validate(want) != nil || key != "" && key[0] != '/' {
			return
		}
		have := parse(render(want, key))
		signed, _ := have.SignedBy.Inline()
		if have.foreign != "" || !slices.Equal(have.URIs, want.URIs) || !slices.Equal(have.Suites, want.Suites) ||
			!slices.Equal(have.Components, want.Components) || !slices.Equal(have.Architectures, want.Architectures) ||
			!slices.Equal(have.Types, want.Types) || signed != key || *have.Enabled != *want.Enabled || *have.Trusted != *want.Trusted {
			t.Errorf("%+v is read as %+v", want, have)
		}
	})
}
