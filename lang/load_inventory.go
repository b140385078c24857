package lang

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/hcl"
	"github.com/tenetcm/tenet/lang/program"
)

// LoadInventory gives a site that declares nothing but the hosts and groups of an
// inventory of Ansible: a file or a directory in the root of the given file system, or
// "." for the root itself. A program, told by "#!" at its beginning, is asked for them
// with --list, by Target.Inventory.
func LoadInventory(files fs.FS, name string, o Options) (*Site, diag.List) {
	s := &Site{files: newDirectories(files, o)}
	block := map[string]any{"ansible": escapeTemplate(name)}
	if isProgram(files, name) {
		block = map[string]any{"command": []string{escapeTemplate("./" + name), "--list"}}
	}
	text, err := json.Marshal(map[string]any{"inventory": block})
	if err != nil {
		s.broken, s.list = true, diag.From(err)
		return s, s.list
	}
	dir := &program.Directory{Name: ".", FS: files, Registry: o.Registry,
		Sources: []program.Source{{Name: inventorySource, Data: text}}}
	p, list := program.Parse(dir, program.Options{Registry: o.Registry, All: s.files, MaxNesting: o.MaxNesting, Parse: hcl.Parse})
	s.program, s.list = p, list
	s.broken = p.Broken()
	return s, s.list
}

// isProgram reports whether a file begins as a script does. Why one cannot be read is
// said where it is read.
func isProgram(files fs.FS, name string) bool {
	if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, 2)
	n, _ := io.ReadFull(f, start)
	return bytes.Equal(start[:n], []byte("#!"))
}

// inventorySource is the name of a source that stands in no file.
const inventorySource = "inventory.hcl.json"

// escapeTemplate writes text so that it stands for itself within JSON.
func escapeTemplate(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}

// IsSite reports whether a directory holds sources of a site.
func IsSite(dir fs.FS) bool {
	entries, err := fs.ReadDir(dir, ".")
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && isSource(e.Name())
	})
}
