package sysctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/settings"
	"github.com/tenetcm/tenet/runtime/host"
)

// pathOf is where the kernel shows a parameter.
func pathOf(key string) string {
	words := strings.Split(key, ".")
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "/", ".")
	}
	return "/proc/sys/" + strings.Join(words, "/")
}

// dotName is the name of a parameter, given the words of its path.
func dotName(words []string) string {
	words = slices.Clone(words)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, ".", "/")
	}
	return strings.Join(words, ".")
}

// tunable reads a file of the kernel. Such files have no size.
func tunable(h host.Reader, name string) (string, error) {
	data, err := host.ReadFile(h, name, 1<<20)
	return strings.Join(strings.Fields(string(data)), " "), err
}

// parse reads a line of sysctl.conf(5): the parameter with dots, and its value.
// In a name the first separator decides: with dots a slash stands for a dot, and
// the other way round. What sets nothing has no key.
func parse(line string) (key, value string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", ""
	}
	key, value, ok := strings.Cut(line, "=")
	key = strings.TrimSpace(strings.TrimPrefix(key, "-"))
	if !ok || key == "" {
		return "", ""
	}
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		key = dotName(strings.Split(key, "/"))
	}
	return key, strings.TrimSpace(value)
}

// isSame compares values as the kernel does: white space does not count.
func isSame(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// files are read at boot; see sysctl.d(5).
func files() settings.Kind {
	return settings.Kind{
		Dir:   "/etc/sysctl.d",
		Brand: []string{"/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d"},
		Last:  "/etc/sysctl.conf",
		Parse: parse,
	}
}

// overridden finds a file that is read after the wanted one at boot, and sets
// another value.
func overridden(h host.Reader, want Sysctl) error {
	s, later, err := files().Overrides(h, want.Key, *want.File)
	if err == nil && later && !isSame(s.Value, *want.Value) {
		return fmt.Errorf("%s sets %s to %q at boot, after %s: take that line away, or give file = %q",
			s.File, want.Key, s.Value, *want.File, s.File)
	}
	return err
}
