package host

import (
	"io"
	"path"
	"strings"
)

// Resolve gives the path by which something stays known though symbolic links on
// the way to it are changed: none is left in what is above its last name, which
// is not followed itself. Where the way leads nowhere the rest stays as it is.
func Resolve(h Reader, name string) string {
	at, _ := Way(h, name)
	return at
}

// Way is Resolve, with the links that were followed, each by the path by which it is known.
func Way(h Reader, name string) (to string, links []string) {
	names := func(p string) []string { return strings.FieldsFunc(p, func(r rune) bool { return r == '/' }) }
	at, rest := "/", names(name)
	for len(rest) > 1 && len(links) <= maxLinks {
		first := rest[0]
		rest = rest[1:]
		next := path.Join(at, first) // ".." of what holds no link
		target, err := h.ReadLink(next)
		if err != nil {
			at = next
			continue
		}
		links = append(links, next)
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(names(target), rest...)
	}
	return path.Join(append([]string{at}, rest...)...), links
}

// StillOpener opens what somebody else may change while it is looked at.
type StillOpener interface {
	// OpenStill opens a regular file by a path that Resolve has given, and describes
	// what it has opened. A symbolic link on the way, which has come there since,
	// is an error.
	OpenStill(path string) (io.ReadCloser, Info, error)
}

// OpenStill opens a file as StillOpener does. What is no StillOpener is read by the
// path, after a look at the way to it.
func OpenStill(h Reader, path string) (io.ReadCloser, Info, error) {
	if s, ok := h.(StillOpener); ok {
		return s.OpenStill(path)
	}
	return openStill(stillReader{h}, path)
}

// openStill opens a file of a host that follows no symbolic link.
func openStill(h Reader, path string) (io.ReadCloser, Info, error) {
	info, err := h.Lstat(path)
	if err != nil {
		return nil, Info{}, err
	}
	f, err := h.Open(path)
	return f, info, err
}
