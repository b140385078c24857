package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
)

// Parse reads what a program prints about hosts: JSON of our own form, or that of
// Ansible's inventory programs. Name is the program, for messages.
func Parse(name string, data []byte) (*Inventory, diag.List) {
	t := newTree()
	s := diag.NewText(name, data)
	if err := expr.CheckUTF8(name, data); err != nil {
		return &Inventory{}, diag.List{*err}
	}
	n := t.json(s)
	switch {
	case n == nil:
		for i := range t.list {
			t.list[i].Hint = `print an object with hosts and groups, such as {"hosts": {"web1": {}}}, and nothing else; messages go to standard error`
		}
	case n.kind != objectKind:
		t.errorAt(n.src, `print an object with hosts and groups, such as {"hosts": {"web1": {}}}`, "the inventory is an object, and not %s", n.kind)
	case isOwnForm(n):
		t.readOwnForm(n)
	default:
		t.readDynamic(n)
	}
	return t.finish()
}

// Read reads an inventory of Ansible: a file in the form of INI, YAML or JSON, or a
// directory of such files, with group_vars and host_vars beside it.
func Read(files fs.FS, name string) (*Inventory, diag.List) {
	r := &reader{tree: newTree(), files: files}
	info, err := fs.Stat(files, name)
	if err != nil {
		r.errorAt(diag.Range{File: name}, "name a file of the site, or a directory", "the inventory cannot be read: %v", reason(err))
		return &Inventory{}, r.list
	}
	beside := path.Dir(name)
	if info.IsDir() {
		beside = name
		r.directory(name, 0)
	} else {
		r.file(name)
	}
	r.readVars(beside)
	return r.finish()
}

// reader reads the files of an inventory.
type reader struct {
	*tree
	files fs.FS
}

// reason is an error without the path, which stands beside it.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// bytes reads a file; false: it cannot be had, which is reported.
func (r *reader) bytes(name string) ([]byte, bool) {
	at := diag.Range{File: name}
	info, err := fs.Stat(r.files, name)
	switch {
	case err != nil:
		r.errorAt(at, "check that it may be read", "the file cannot be read: %v", reason(err))
		return nil, false
	case !info.Mode().IsRegular():
		r.errorAt(at, "name a file", "this is no regular file")
		return nil, false
	case info.Size() > MaxBytes:
		r.errorAt(at, "split it", "the file is larger than %d MiB", MaxBytes>>20)
		return nil, false
	}
	data, err := fs.ReadFile(r.files, name)
	if err != nil {
		r.errorAt(at, "check that it may be read", "the file cannot be read: %v", reason(err))
		return nil, false
	}
	if bytes.HasPrefix(data, []byte("#!")) {
		r.errorAt(diag.NewText(name, data).Line(1), fmt.Sprintf(`run it: command = ["./%s", "--list"]`, name), "this is a program, and no inventory")
		return nil, false
	}
	if err := expr.CheckUTF8(name, data); err != nil {
		r.list.Add(*err)
		return nil, false
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), true
}

// ignoredSuffixes are the ends of names that an inventory's directory may hold besides.
func ignoredSuffixes() []string {
	return []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry"}
}

// directory reads all files of a directory, in the order of their names.
func (r *reader) directory(name string, depth int) {
	entries, err := fs.ReadDir(r.files, name)
	if err != nil || depth > maxDepth {
		r.errorAt(diag.Range{File: name}, "check that it may be read", "the directory cannot be read: %v", reason(err))
		return
	}
	for _, e := range entries {
		full := path.Join(name, e.Name())
		info, err := fs.Stat(r.files, full) // a link's target
		switch {
		case strings.HasPrefix(e.Name(), ".") || slices.ContainsFunc(ignoredSuffixes(), func(end string) bool { return strings.HasSuffix(e.Name(), end) }):
		case err == nil && info.IsDir() && (e.Name() == "group_vars" || e.Name() == "host_vars"):
		case err == nil && info.IsDir():
			r.directory(full, depth+1)
		default:
			r.file(full)
		}
	}
}

// file reads one file, of the form that its name tells or, if that tells nothing, that
// it looks like.
func (r *reader) file(name string) {
	data, ok := r.bytes(name)
	if !ok {
		return
	}
	s := diag.NewText(name, data)
	if isVaultFile(data) {
		r.errorAt(s.Line(1), "write it without the vault; secrets of the site stand in its own files: tenet secret set", "the inventory %s", isVault)
		return
	}
	switch form := formOf(name, data); form {
	case "json":
		if n := r.json(s); n != nil {
			r.tree.jsonForm(n)
		}
	case "yaml":
		n := r.yaml(s)
		if n != nil && n.kind != objectKind {
			r.errorAt(n.src, "write groups with their hosts: all: {hosts: {web1: {}}}", "the inventory is an object, and not %s", n.kind)
		} else if n != nil {
			r.readStatic(n)
		}
	case "toml":
		r.errorAt(s.Line(1), "write it as INI or YAML", "inventories in TOML are not read")
	default:
		r.ini(s)
	}
}

// jsonForm reads an inventory in JSON of either form of Ansible.
func (t *tree) jsonForm(n *node) {
	switch {
	case n.kind != objectKind:
		t.errorAt(n.src, `write groups with their hosts: {"all": {"hosts": {"web1": {}}}}`, "the inventory is an object, and not %s", n.kind)
	case isDynamic(n):
		t.readDynamic(n)
	default:
		t.readStatic(n)
	}
}

// formOf tells the form of an inventory.
func formOf(name string, data []byte) string {
	switch path.Ext(name) {
	case ".json", ".yaml", ".toml":
		return path.Ext(name)[1:]
	case ".yml":
		return "yaml"
	case ".ini":
		return "ini"
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line == "---" || !strings.ContainsAny(line, " \t[=") && strings.HasSuffix(line, ":") {
			return "yaml"
		}
		if line[0] == '{' {
			return "json"
		}
		break
	}
	return "ini"
}

func isVaultFile(data []byte) bool { return bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT")) }
