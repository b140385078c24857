package aptrepository

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/states"
)

var (
	namePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	})
	uriPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z][a-z0-9+.-]*:[!-~]+$`)
	})
	suitePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9./][A-Za-z0-9./~+_-]*$`)
	})
	componentPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./+_-]*$`)
	})
	archPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	})
	typePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^deb(-src)?$`)
	})
)

func validName(name string) error {
	if len(name) > 100 || !namePattern().MatchString(name) {
		return states.InvalidAttribute("name", fmt.Sprintf("%.100q is no name of a source", name),
			`apt reads only files whose names are made of letters, digits, "_", "-" and "."`)
	}
	return nil
}

func validate(want Repository) error {
	if err := validName(want.Name); err != nil {
		return err
	}
	for _, list := range []struct {
		attribute, what string
		values          []string
		pattern         *regexp.Regexp
		longest         int
	}{
		{"uris", "URI", want.URIs, uriPattern(), 1000},
		{"suites", "suite", want.Suites, suitePattern(), 200},
		{"components", "component", want.Components, componentPattern(), 200},
		{"types", `type: write "deb" or "deb-src"`, want.Types, typePattern(), 200},
		{"architectures", "architecture", want.Architectures, archPattern(), 40},
	} {
		for _, v := range list.values {
			if len(v) > list.longest || !list.pattern.MatchString(v) {
				return states.InvalidAttribute(list.attribute, fmt.Sprintf("%.100q is no %s", v, list.what), "")
			}
		}
		if list.values != nil && len(list.values) == 0 && list.attribute != "components" && list.attribute != "architectures" {
			return states.InvalidAttribute(list.attribute, "it names none", "")
		}
	}
	if err := validSuites(want); err != nil {
		return err
	}
	return validKey(want)
}

// validSuites holds that a suite is either a release, which has components, or a
// directory, which has none.
func validSuites(want Repository) error {
	for _, s := range want.Suites {
		switch exact := strings.HasSuffix(s, "/"); {
		case exact && len(want.Components) > 0:
			return states.InvalidAttribute("components", "there are none in "+s+", which is a directory", "")
		case !exact && len(want.Components) == 0:
			return states.InvalidAttribute("components", "the suite "+s+" needs them",
				`such as ["main"]; a suite that is a directory ends in "/"`)
		}
	}
	return nil
}

func validKey(want Repository) error {
	if want.SignedBy == nil {
		return nil
	}
	if want.Source != nil {
		return states.InvalidAttribute("source", "it cannot be given beside signed_by",
			"use signed_by for a key as text or a path of the host, source for a file of the site")
	}
	text, inline := want.SignedBy.Inline()
	switch {
	case !inline:
		return states.InvalidAttribute("signed_by", "it is too large for a key", "")
	case text == "":
		return nil
	case strings.HasPrefix(text, "/"):
		if strings.ContainsAny(text, " \t\r\n,\x00") || len(text) > 4000 {
			return states.InvalidAttribute("signed_by", fmt.Sprintf("%.100q cannot stand as a path in a source of apt", text), "")
		}
		return check.Path("signed_by", text)
	case !isArmored(text) && checkKey("signed_by", text) == nil: // binary
		return nil
	case !isArmored(text):
		return states.InvalidAttribute("signed_by", "it is neither an armored key nor an absolute path",
			"an armored key begins with "+beginKey+"; a binary one is given as source")
	}
	return checkKey("signed_by", text)
}

const (
	beginKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	endKey   = "-----END PGP PUBLIC KEY BLOCK-----"
)

func isArmored(text string) bool { return strings.Contains(text, "-----BEGIN PGP ") }

// keyFile is where the key of a source is kept; apt tells by the ending how to read
// it.
func keyFile(name string, armored bool) string {
	if armored {
		return keyrings + "/" + name + ".asc"
	}
	return keyrings + "/" + name + ".gpg"
}

// checkKey holds that a text is a public key, or several (RFC 9580): as packets, or
// armored. It does not tell whose.
func checkKey(attribute, text string) error {
	wrong := func(message, hint string) error {
		return states.InvalidAttribute(attribute, message, hint)
	}
	packets := text
	if isArmored(text) {
		if strings.Contains(text, "PRIVATE KEY") {
			return wrong("it is a private key", "export the public one: gpg --armor --export KEY")
		}
		_, after, begins := strings.Cut(text, beginKey)
		body, _, ends := strings.Cut(after, endKey)
		if !begins || !ends {
			return wrong("it is no whole public key", "it goes from "+beginKey+" to "+endKey)
		}
		var err error
		if packets, err = dearmor(body); err != nil {
			return wrong("the armored key is damaged: "+err.Error(), "")
		}
	}
	if len(packets) < 16 || packets[0]&0x80 == 0 {
		return wrong("it is no key", "gpg --armor --export KEY gives one")
	}
	tag := packets[0] & 0x3f // in the new form
	if packets[0]&0x40 == 0 {
		tag = packets[0] >> 2 & 0xf
	}
	if tag != 6 { // a public key
		return wrong(fmt.Sprintf("it does not begin with a public key, but with a packet of type %d", tag), "gpg --armor --export KEY gives one")
	}
	return nil
}

// dearmor gives what stands between the first and the last line: after headers and
// an empty line, base64 and a checksum, which is optional.
func dearmor(body string) (string, error) {
	var text strings.Builder
	headers := true
	for i, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case i == 0: // the end of the first line
		case headers && (line == "" || strings.Contains(line, ":")):
			headers = line != ""
		case strings.HasPrefix(line, "="):
			headers = false
		default:
			headers = false
			text.WriteString(line)
		}
	}
	packets, err := base64.StdEncoding.DecodeString(text.String())
	return string(packets), err
}
