package host

import (
	"path"
	"strings"
)

// Resolve gives the path by which something stays known though symbolic links on
// the way to it are changed: none is left in what is above its last name, which
// is not followed itself. Where the way leads nowhere the rest stays as it is.
func Resolve(h Reader, name string) string {
	names := func(p string) []string { return strings.FieldsFunc(p, func(r rune) bool { return r == '/' }) }
	at, rest := "/", names(name)
	for links := 0; len(rest) > 1 && links <= maxLinks; {
		first := rest[0]
		rest = rest[1:]
		next := path.Join(at, first) // ".." of what holds no link
		target, err := h.ReadLink(next)
		if err != nil {
			at = next
			continue
		}
		links++
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(names(target), rest...)
	}
	return path.Join(append([]string{at}, rest...)...)
}
