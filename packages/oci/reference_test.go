package oci_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/oci"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseReference(t *testing.T) {
	for text, want := range map[string]oci.Reference{
		"oci://registry.example/acme/nginx:1.4":          {Registry: "registry.example", Repository: "acme/nginx", Tag: "1.4"},
		"oci://localhost:5000/nginx@" + someDigest:       {Registry: "localhost:5000", Repository: "nginx", Digest: someDigest},
		"oci://[::1]:5000/a/b-c__d.e:v1.0.0-rc.1":        {Registry: "[::1]:5000", Repository: "a/b-c__d.e", Tag: "v1.0.0-rc.1"},
		"oci://10.0.0.1/nginx":                           {Registry: "10.0.0.1", Repository: "nginx"},
		"oci://registry.example/nginx:" + someDigest[7:]: {Registry: "registry.example", Repository: "nginx", Tag: someDigest[7:]},
	} {
		if got, err := oci.ParseReference(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v (%s), %v", text, got, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                         "it does not begin with oci://",
		"registry.example/nginx:1":                 "it does not begin with oci://",
		"OCI://registry.example/nginx:1":           "it does not begin with oci://",
		"oci://nginx":                              "it names no registry and repository",
		"oci:///nginx":                             "it names no registry and repository",
		"oci://registry.example/":                  "it names no registry and repository",
		"oci://registry.example/nginx:":            `"" is no tag`,
		"oci://registry.example/nginx:-1":          `"-1" is no tag`,
		"oci://registry.example/nginx:a/b":         `"a/b" is no tag`,
		"oci://registry.example/nginx@":            "what follows @",
		"oci://registry.example/nginx@sha256:AB":   "what follows @",
		"oci://registry.example/nginx@sha512:ab":   "what follows @",
		"oci://registry.example/a:1@" + someDigest: "it has a tag and a digest",
		"oci://registry.example/Nginx":             `"Nginx" is no repository`,
		"oci://registry.example/a//b":              `"a//b" is no repository`,
		"oci://registry.example/../b":              `"../b" is no repository`,
		"oci://user:secret@registry.example/a":     `"user:secret@registry.example" is no host`,
		"oci://registry.example?a/b":               "is no host",
		"oci://registry example/b":                 "is no host",
		"oci://registry.example:x/b":               "is no host",
		"oci://a/" + strings.Repeat("b", 600):      "more than 512 bytes",
	} {
		_, err := oci.ParseReference(text)
		if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What is parsed is written as it was, and asks no other host than it shows.
func FuzzParseReference(f *testing.F) {
	for _, text := range []string{"oci://registry.example/acme/nginx:1.4", "oci://localhost:5000/nginx@" + someDigest, "oci://[::1]/a", "oci://a@b/c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := oci.ParseReference(text)
		if err != nil {
			return
		}
		if ref.String() != text {
			t.Errorf("%q is written %q", text, ref)
		}
		if again, err := oci.ParseReference(ref.String()); err != nil || again != ref {
			t.Errorf("%q: %+v, %v", text, again, err)
		}
		if strings.ContainsAny(ref.Registry, "/@?# \\") || strings.Contains(ref.Repository, "..") || ref.Tag != "" && ref.Digest != "" {
			t.Errorf("%q: %+v", text, ref)
		}
	})
}
