package git

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
)

func TestParseReference(t *testing.T) {
	for text, want := range map[string]Reference{
		"git::https://example.org/net.git//components/vlan?ref=v1.4":                {"https://example.org/net.git", "components/vlan", "v1.4"},
		"git::https://example.org:8443/net.git":                                     {URL: "https://example.org:8443/net.git"},
		"git::ssh://git@example.org/acme/net?ref=refs/heads/main":                   {URL: "ssh://git@example.org/acme/net", Ref: "refs/heads/main"},
		"git::file:///srv/net.git//a/b":                                             {URL: "file:///srv/net.git", Dir: "a/b"},
		"git::https://example.org/a/b?ref=0123456789012345678901234567890123456789": {URL: "https://example.org/a/b", Ref: "0123456789012345678901234567890123456789"},
	} {
		got, err := ParseReference(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
}

// What Git would take for something else than an address of a repository is refused, and so is what names nothing.
func TestParseReferenceMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/net.git":                           "does not begin with git::",
		"git::git@example.org:net.git":                          "write ssh://git@HOST/PATH",
		"git::ext::sh -c id":                                    "is no URL",
		"git::ext::sh://-c/id":                                  "is no way to a repository",
		"git::--upload-pack=id":                                 "is no URL",
		"git::-https://example.org/a":                           "is no",
		"git::https://-oProxyCommand=id/a":                      `is no host`,
		"git::ssh://-oProxyCommand=id/a":                        `is no host`,
		"git::ssh://-l@example.org/a":                           "is no user",
		"git::ssh://example.org/-a":                             "names no repository",
		"git::ssh://example.org/a`id`":                          "characters that an address has not",
		"git::https://user:secret@example.org/a":                "has a password in it",
		"git::https://user:sec%zzret@example.org/a":             "is no",
		"git::https://example.org":                              "names no repository",
		"git::https://example.org/":                             "names no repository",
		"git::file://host/a":                                    "is no address of a directory",
		"git::file:a":                                           "is no URL",
		"git::https://example.org/a//../b":                      "is no directory in a repository",
		"git::https://example.org/a//b//c":                      "is no directory in a repository",
		"git::https://example.org/a//":                          "is no directory in a repository",
		"git::https://example.org/a?ref=":                       "is empty",
		"git::https://example.org/a?ref=-x":                     "begins with -",
		"git::https://example.org/a?ref=a..b":                   "is an expression",
		"git::https://example.org/a?ref=@{1}":                   "characters",
		"git::https://example.org/a?ref=main^{tree}":            "characters",
		"git::https://example.org/a?ref=a:b":                    "characters",
		"git::https://example.org/a?ref=a.lock":                 "ends with .lock",
		"git::https://example.org/a?ref=refs/*":                 "characters",
		"git::https://example.org/a?depth=1":                    "only ?ref= can follow",
		"git::https://example.org/a#b":                          "more than the path",
		"git::https://example.org/a\n":                          "control characters",
		"git::https://example.org/" + strings.Repeat("a", 1000): "has more than 1000 bytes",
		"git::ftp://example.org/a":                              "is no way to a repository",
		"git::htTps://example.org/a":                            "in small letters",
	} {
		_, err := ParseReference(text)
		if err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == "" {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "sec") {
			t.Errorf("it shows a password: %v", err)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	for _, text := range []string{"git::https://example.org/net.git//components/vlan?ref=v1.4", "git::ssh://git@h/a", "git::file:///a", "git::ext::sh", "git::https://h/a//b?ref=@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReference(text)
		if err != nil {
			return
		}
		again, err := ParseReference(r.String())
		if err != nil || again != r {
			t.Errorf("%q: %+v, and %+v %v", text, r, again, err)
		}
		for _, part := range []string{r.URL, r.Dir, r.Ref} {
			if strings.HasPrefix(part, "-") || strings.ContainsAny(part, "\n\x00`$;' ") {
				t.Errorf("%q has %q", text, part)
			}
		}
		for _, scheme := range []string{"https://", "http://", "ssh://", "file:///"} {
			if strings.HasPrefix(r.URL, scheme) {
				return
			}
		}
		t.Errorf("%q has the address %q", text, r.URL)
	})
}
