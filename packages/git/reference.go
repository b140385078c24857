package git

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/lang/diag"
)

// Prefix begins each reference.
const Prefix = "git::"

const (
	maxReference = 1000
	maxRef       = 200
)

// Reference says where the files of a folder are: git::URL//DIR?ref=REF.
type Reference struct {
	URL string // of the repository
	Dir string // in the repository; empty: all of it
	Ref string // a tag, a branch or a commit; empty: HEAD
}

// ParseReference reads a reference.
func ParseReference(text string) (Reference, error) {
	wrong := func(format string, args ...any) (Reference, error) {
		return Reference{}, &diag.HintError{Code: "reference", Message: fmt.Sprintf("%q: %s", diag.Shorten(WithoutPassword(text)), fmt.Sprintf(format, args...)),
			Hint: "it is written git::https://git.example/acme/net.git//components/vlan?ref=v1.4; ssh:// and file:// are known as well"}
	}
	address, ok := strings.CutPrefix(text, Prefix)
	switch {
	case !ok:
		return wrong("it does not begin with %s", Prefix)
	case len(text) > maxReference:
		return wrong("it has more than %d bytes", maxReference)
	}
	address, ref, hasRef := strings.Cut(address, "?ref=")
	scheme, place, ok := strings.Cut(address, "://")
	switch {
	case !ok && isShortForm(address):
		return wrong("write ssh://git@HOST/PATH in the place of git@HOST:PATH")
	case !ok:
		return wrong("what follows %s is no URL", Prefix)
	case strings.Contains(address, "?"):
		return wrong("only ?ref= can follow the repository")
	}
	place, dir, hasDir := strings.Cut(place, "//")
	r := Reference{URL: scheme + "://" + place, Dir: dir, Ref: ref}
	if err := checkURL(r.URL); err != nil {
		return wrong("%v", err)
	}
	if hasDir {
		if err := checkDir(dir); err != nil {
			return wrong("%v", err)
		}
	}
	if hasRef {
		if err := checkRef(ref); err != nil {
			return wrong("%v", err)
		}
	}
	return r, nil
}

// String writes a reference as it is parsed.
func (r Reference) String() string {
	text := Prefix + r.URL
	if r.Dir != "" {
		text += "//" + r.Dir
	}
	if r.Ref != "" {
		text += "?ref=" + r.Ref
	}
	return text
}

// WithoutPassword is a text in which nobody reads what somebody has put before an @.
func WithoutPassword(text string) string {
	text = regexp.MustCompile(`://([^:@/]*):.*@`).ReplaceAllString(text, "://$1:***@") // also one with slashes and @ in it
	return regexp.MustCompile(`:[^/@]*@`).ReplaceAllString(text, ":***@")
}

// isShortForm reports whether an address is one as scp has it.
func isShortForm(address string) bool {
	host, path, ok := strings.Cut(address, ":")
	return ok && path != "" && strings.ContainsAny(host, "@.") && !strings.Contains(host, "/") && !strings.HasPrefix(path, ":")
}

// checkURL looks at the address of a repository. Git knows more forms, some of which run programs.
func checkURL(text string) error {
	if strings.ContainsFunc(text, isStrange) || !utf8.ValidString(text) {
		return fmt.Errorf("%q has blanks, control characters or characters that an address has not", diag.Shorten(text))
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("it is no address that can be read") // the error repeats passwords
	}
	if _, has := u.User.Password(); has {
		return fmt.Errorf("the address of %s has a password in it, which would be shown: put it into a token file", u.Host)
	}
	switch {
	case u.Scheme == "file" && (u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/")):
		return fmt.Errorf("%q is no address of a directory: write file:///PATH", text)
	case u.Scheme == "file" && strings.HasPrefix(text, "file://"):
	case u.Scheme != "file" && u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh":
		return fmt.Errorf("%q is no way to a repository: there are https, ssh, file, and http where it is asked for", diag.Shorten(u.Scheme))
	case !strings.HasPrefix(text, u.Scheme+"://"):
		return fmt.Errorf("%q is no address: write %s:// in small letters", diag.Shorten(WithoutPassword(text)), u.Scheme)
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-"):
		return fmt.Errorf("%q is no host", u.Host)
	case strings.HasPrefix(u.User.Username(), "-"):
		return fmt.Errorf("%q is no user", u.User.Username())
	}
	switch {
	case u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(text, "?#"):
		return fmt.Errorf("%q has more than the path of a repository", text)
	case strings.Trim(u.Path, "/") == "" || strings.HasPrefix(strings.TrimLeft(u.Path, "/"), "-"):
		return fmt.Errorf("%q names no repository", text)
	case strings.Contains(strings.TrimPrefix(u.Path, "/"), "//"):
		return fmt.Errorf("%q has two slashes in a row", text)
	}
	return nil
}

// isStrange reports whether no address has a character.
func isStrange(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune("\\\"'`<>{}|^*$;&()", r)
}

func checkDir(dir string) error {
	if !fs.ValidPath(dir) || dir == "." || strings.ContainsFunc(dir, isStrange) || !utf8.ValidString(dir) || strings.ContainsRune(dir, ':') {
		return fmt.Errorf("%q is no directory in a repository", diag.Shorten(dir))
	}
	return nil
}

// checkRef keeps to what git check-ref-format allows, and no more than a name.
func checkRef(ref string) error {
	wrong := func(why string) error {
		return fmt.Errorf("%q is no tag, branch or commit: it %s", diag.Shorten(ref), why)
	}
	switch {
	case ref == "":
		return wrong("is empty")
	case len(ref) > maxRef:
		return wrong(fmt.Sprintf("has more than %d bytes", maxRef))
	case !utf8.ValidString(ref) || strings.ContainsFunc(ref, isStrange) || strings.ContainsAny(ref, "~:?[#"):
		return wrong("has characters that none has")
	case strings.HasPrefix(ref, "-"):
		return wrong("begins with -")
	case ref == "@" || strings.Contains(ref, "@{") || strings.Contains(ref, ".."):
		return wrong("is an expression of Git")
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return wrong("has a part that is empty, begins or ends with a dot, or ends with .lock")
		}
	}
	return nil
}

// IsCommit reports whether a text is the whole name of a commit, by either hash that Git has.
func IsCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}
