package git

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/states"
)

func validate(want Git) error {
	mistake := func(attribute, message string) error {
		return states.InvalidAttribute(attribute, message, "")
	}
	switch {
	case want.Path == "/":
		return mistake("path", "/ cannot be a checkout")
	case want.Ref != nil && want.Commit != nil:
		return states.InvalidAttribute("commit", "it cannot be given beside ref", "leave one of them: a commit stays what it is, a ref is followed")
	case want.Commit != nil && !isCommit(*want.Commit):
		return mistake("commit", fmt.Sprintf("%.80q is no ID of a commit, which has 40 (or 64) hex digits in lower case", *want.Commit))
	case want.Depth != nil && *want.Depth < 1:
		return mistake("depth", fmt.Sprintf("%d is no number of commits", *want.Depth))
	}
	return errors.Join(
		check.Path("path", want.Path),
		checkURL(want.URL),
		checkRef(want.Ref),
		check.Account("user", want.User),
		checkFile("ssh_key", want.SSHKey),
		checkFile("known_hosts", want.KnownHosts),
	)
}

// checkFile allows only paths that mean the same to everybody: git hands them to a
// shell, and ssh takes them for patterns.
func checkFile(attribute string, p *string) error {
	if p == nil {
		return nil
	}
	if err := check.Path(attribute, *p); err != nil {
		return err
	}
	return check.Name(attribute, *p, "/._-+@")
}

func isCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// checkRef holds a name to the rules of git-check-ref-format(1).
func checkRef(ref *string) error {
	if ref == nil || isCommit(*ref) {
		return nil
	}
	r := *ref
	odd := strings.ContainsFunc(r, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune("~^:?*[\\", c) })
	parts := strings.Split(r, "/")
	bad := slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || strings.HasPrefix(p, ".") || strings.HasSuffix(p, ".lock")
	})
	if odd || bad || r == "@" || strings.HasPrefix(r, "-") || strings.Contains(r, "..") || strings.Contains(r, "@{") || strings.HasSuffix(r, ".") || len(r) > 250 {
		return states.InvalidAttribute("ref", fmt.Sprintf("%.80q is no name of a branch or tag, and no commit", r), "")
	}
	return nil
}

// localPath is the path of a repository on the host itself.
func localPath(repository string) (string, bool) {
	if strings.HasPrefix(repository, "/") {
		return repository, true
	}
	if u, err := url.Parse(repository); err == nil && u.Scheme == "file" {
		return u.Path, true
	}
	return "", false
}

func checkURL(repository *string) error {
	if repository == nil {
		return nil
	}
	text := *repository
	e := states.InvalidAttribute(
		"url", fmt.Sprintf("%.80q names no repository", text),
		"write https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH, file:///PATH or /PATH",
	)
	odd := strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
	switch {
	case odd || len(text) > 2048 || strings.HasPrefix(text, "-") || namesHelper(text):
		return e
	case strings.HasPrefix(text, "/"):
		if path.Clean(text) != text {
			e.Hint = "write " + path.Clean(text)
			return e
		}
		return nil
	case strings.Contains(text, "://"):
		return checkFullURL(text, e)
	}
	// USER@HOST:PATH
	where, repo, ok := strings.Cut(text, ":")
	user, name, named := strings.Cut(where, "@")
	if !named {
		user, name = "git", where
	}
	if !ok || repo == "" || strings.HasPrefix(repo, "-") || check.Name("url", user, "._-") != nil || check.Name("url", name, ".-") != nil {
		return e
	}
	return nil
}

// namesHelper reports whether git would start a program of its own for it, as for
// ext::COMMAND; see gitremote-helpers(7).
func namesHelper(text string) bool {
	helper, _, ok := strings.Cut(text, "::")
	return ok && !strings.ContainsAny(helper, "/[@")
}

func checkFullURL(text string, e *states.AttributeError) error {
	u, err := url.Parse(text)
	if err != nil {
		return e
	}
	if _, secret := u.User.Password(); secret {
		e.Message, e.Hint = "a URL with a password in it is refused: it would stand in the checkout's configuration, and in the list of processes",
			"use an ssh_key, or a credential helper of git"
		return e
	}
	switch u.Scheme {
	case "https", "http", "git":
		if u.User != nil {
			e.Hint = "leave the name out; who reads it is a matter of credential helpers"
			return e
		}
	case "ssh":
		if u.User != nil && check.Name("url", u.User.Username(), "._-") != nil {
			return e
		}
	case "file":
		if u.Host != "" || path.Clean(u.Path) != u.Path || u.RawQuery != "" || u.Fragment != "" {
			return e
		}
		return nil
	default:
		return e
	}
	if check.Name("url", u.Hostname(), ".-:") != nil || u.Path == "" {
		return e
	}
	return nil
}
