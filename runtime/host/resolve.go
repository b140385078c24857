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

// NoFollowOpener opens what somebody else may change while it is looked at.
type NoFollowOpener interface {
	// OpenNoFollow opens a regular file by a path that Resolve has given, and describes
	// what it has opened. A symbolic link on the way, which has come there since,
	// is an error.
	OpenNoFollow(path string) (io.ReadCloser, Info, error)
}

// OpenNoFollow opens a file as NoFollowOpener does. What is no NoFollowOpener is read by the
// path, after a look at the way to it.
func OpenNoFollow(h Reader, path string) (io.ReadCloser, Info, error) {
	if s, ok := h.(NoFollowOpener); ok {
		return s.OpenNoFollow(path)
	}
	return openNoFollow(noFollowReader{h}, path)
}

// openNoFollow opens a file of a host that follows no symbolic link.
func openNoFollow(h Reader, path string) (io.ReadCloser, Info, error) {
	info, err := h.Lstat(path)
	if err != nil {
		return nil, Info{}, err
	}
	f, err := h.Open(path)
	return f, info, err
}
