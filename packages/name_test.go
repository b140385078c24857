package packages_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/packages"
)

func TestName(t *testing.T) {
	for source, want := range map[string]string{
		"oci://registry.example/acme/nginx:1.4":                      "oci/registry.example/acme/nginx@1.4",
		"oci://localhost:5000/nginx:1.4":                             "oci/localhost%3A5000/nginx@1.4",
		"oci://localhost:5000/nginx@sha256:ab":                       "oci/localhost%3A5000/nginx@sha256%3Aab",
		"git::https://example.org/net.git//components/vlan?ref=v1.4": "git/https/example.org/net.git@v1.4+components%2Fvlan",
		"git::https://example.org/net.git?ref=feature/x":             "git/https/example.org/net.git@feature%2Fx",
		"git::ssh://git@example.org/net.git?ref=v1":                  "git/ssh/git%40example.org/net.git@v1",
		"git::file:///srv/net.git?ref=v1":                            "git/file/srv/net.git@v1",
		"oci://":                                                     "",
		"oci://registry.example/../up:1":                             "",
		"oci://registry.example/./here:1":                            "",
		"oci://registry.example//two:1":                              "",
		"git::https://example.org/net.git/../..?ref=v1":              "",
		"oci://a/b": "", "oci://a/b@1": "", "oci://a/b:": "", "git::https://a/b?ref=": "", "git::https://a/b//?ref=1": "", "git::https://a/b//../c?ref=1": "", "git::ext::sh": "", "git::https:///a?ref=1": "", "git::file://a/b?ref=1": "",
		"git::https://a/b":   "git/https/a/b@",
		"git::":              "",
		"http://example.org": "",
		"oci://registry.example/" + strings.Repeat("a", 600) + ":1": "",
		"oci://registry.example/nul\x00:1":                          "oci/registry.example/nul%00@1",
	} {
		name, err := packages.Name(source)
		if name != want || (err == nil) != (want != "") || err == nil && !fs.ValidPath(name) {
			t.Errorf("%s: %q, %v", source, name, err)
		}
	}
}

// No two sources share a place, and none lies in another one's.
func FuzzName(f *testing.F) {
	f.Add("oci://a/b:1", "oci://a/b@1")
	f.Add("git::https://a/b?ref=1", "git::https://a/b//c?ref=1")
	f.Fuzz(func(t *testing.T, a, b string) {
		one, err := packages.Name(a)
		if err != nil {
			return
		}
		other, err := packages.Name(b)
		if err == nil && strings.HasPrefix(one+"/", other+"/") && one != other {
			t.Fatalf("%q lies in %q: %s, %s", a, b, one, other)
		}
		if err == nil && one == other && a != b {
			t.Fatalf("%q and %q share %s", a, b, one)
		}
	})
}
