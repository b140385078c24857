package sysctl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/lines"
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

// dotted is the name of a parameter, given the words of its path.
func dotted(words []string) string {
	words = slices.Clone(words)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, ".", "/")
	}
	return strings.Join(words, ".")
}

// tunable reads a file of the kernel. Such files have no size.
func tunable(h host.Reader, name string) (string, error) {
	f, err := h.Open(name)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return strings.Join(strings.Fields(string(data)), " "), errors.Join(err, f.Close())
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
		key = dotted(strings.Split(key, "/"))
	}
	return key, strings.TrimSpace(value)
}

// sets finds the lines that set a parameter.
func sets(key string) func(string) bool {
	return func(line string) bool { is, _ := parse(line); return is == key }
}

// same compares values as the kernel does: white space does not count.
func same(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// setting is what a line sets.
type setting struct{ file, key, value string }

// last is the file that is read after all others.
const last = "/etc/sysctl.conf"

// etc are the directories of files that are this host's own.
func etc() []string { return []string{"/etc/sysctl.d"} }

// settings lists what the files in these directories and the last one set, in the
// order in which they are read at boot: by their names, whatever the directory; of
// one name only the file in the last directory counts. See sysctl.d(5). An empty
// key is any.
func settings(h host.Reader, key string, dirs []string) ([]setting, error) {
	files := map[string]string{}
	for _, dir := range dirs {
		entries, err := h.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			// A link is Debian's, to the last file.
			if strings.HasSuffix(e.Name, ".conf") && e.Kind == host.Regular {
				files[e.Name] = path.Join(dir, e.Name)
			}
		}
	}
	files["\xff"] = last
	var all []setting
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t, err := lines.LoadIfThere(h, files[name])
		if err != nil {
			return nil, err
		}
		for _, r := range t {
			if is, value := parse(r.Line); is != "" && (key == "" || is == key) {
				all = append(all, setting{files[name], is, value})
			}
		}
	}
	return all, nil
}

// overridden finds a file that is read after the wanted one at boot, and sets
// another value.
func overridden(h host.Reader, want Sysctl) error {
	all, err := settings(h, want.Key, append([]string{"/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d"}, etc()...))
	if err != nil || len(all) == 0 || *want.File == last {
		return err
	}
	later := func(s setting) bool { return s.file == last || path.Base(s.file) > path.Base(*want.File) }
	if s := all[len(all)-1]; later(s) && !same(s.value, *want.Value) {
		return fmt.Errorf("%s sets %s to %q at boot, after %s: take that line away, or give file = %q",
			s.file, want.Key, s.value, *want.File, s.file)
	}
	return nil
}
