package inventory

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// readVars reads group_vars and host_vars of a directory.
func (r *reader) readVars(dir string) {
	for _, name := range slices.Clone(r.order) {
		g := r.groups[name]
		g.files = map[string]value{}
		for _, file := range r.varFiles(path.Join(dir, "group_vars"), name) {
			r.varFile(file, g.files)
		}
	}
	for _, name := range r.names {
		h := r.hosts[name]
		h.files = map[string]value{}
		for _, file := range r.varFiles(path.Join(dir, "host_vars"), name) {
			r.varFile(file, h.files)
		}
	}
}

// varFiles finds the files of a name, as Ansible does: NAME, a file or a directory, or
// else one with an ending.
func (r *reader) varFiles(dir, name string) []string {
	if strings.ContainsAny(name, "/\\") || name == "." || name == ".." {
		return nil
	}
	for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
		full := path.Join(dir, name+ext)
		info, err := fs.Stat(r.files, full)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return r.varDirectory(full, 0)
		}
		return []string{full}
	}
	return nil
}

func (r *reader) varDirectory(dir string, depth int) []string {
	entries, err := fs.ReadDir(r.files, dir)
	if err != nil || depth > maxDepth {
		return nil
	}
	var out []string
	for _, e := range entries {
		full, ext := path.Join(dir, e.Name()), path.Ext(e.Name())
		info, err := fs.Stat(r.files, full)
		switch {
		case err != nil || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "~"):
		case info.IsDir() && ext == "":
			out = append(out, r.varDirectory(full, depth+1)...)
		case !info.IsDir() && slices.Contains([]string{"", ".yml", ".yaml", ".json"}, ext):
			out = append(out, full)
		}
	}
	return out
}

// varFile reads variables.
func (r *reader) varFile(name string, to map[string]value) {
	data, ok := r.bytes(name)
	if !ok {
		return
	}
	s := diag.NewText(name, data)
	if isVaultFile(data) {
		r.omit("all of "+name, s.Line(1), isVault)
		return
	}
	n := r.yaml(s)
	if n == nil || n.isNull() {
		return
	}
	vars := r.vars(n, "file "+name)
	for _, key := range slices.Sorted(maps.Keys(vars)) {
		r.set(to, key, vars[key])
	}
}
