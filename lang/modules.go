package lang

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/states"
)

// customModule is a module that a directory brings along.
type customModule struct {
	module *states.Module
	digest string
	file   string
}

// modules loads the modules of a directory. A run knows modules by
// their names alone, so that two directories may have one of the same name only
// where it is the same.
func (d *directories) modules(files fs.FS, name string) ([]*states.Module, diag.List) {
	set, list := custom.Load(files, custom.Dir, custom.Options{Registry: d.options.Registry, Name: name})
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, file := range set.Files() {
		d.sources[file], _ = set.Source(file)
	}
	if files := set.Files(); len(files) > 0 {
		d.moduleFiles = append(d.moduleFiles, ModuleFiles{Dir: name, Files: files})
	}
	d.broken = append(d.broken, set.Broken()...)
	var own []*states.Module
	for _, m := range set.Modules() {
		loaded := customModule{module: m, digest: set.Digest(m.Name), file: set.File(m.Name)}
		first, taken := d.custom[m.Name]
		if taken && first.digest != loaded.digest {
			list.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("there is another module %q", m.Name),
				Detail:  "A host knows a module by its name, whatever directory brings it along.",
				Hint:    "rename one of them, or make them the same",
				Range:   diag.Range{File: loaded.file},
				Related: []diag.Related{{Message: "the other one", Range: diag.Range{File: first.file}}},
			})
			d.broken = append(d.broken, m.Name)
			continue
		}
		if taken {
			m = first.module
		} else {
			d.custom[m.Name] = loaded
		}
		own = append(own, m)
	}
	return own, list
}

// registry holds the program's modules, and those of all directories.
func (d *directories) registry() *states.Registry {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*states.Module
	for _, c := range d.custom {
		all = append(all, c.module)
	}
	return d.options.Registry.With(all...)
}

// dropKnownModules leaves out that modules are unknown which are there, and have mistakes
// of their own.
func (d *directories) dropKnownModules(list diag.List) diag.List {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(list, func(m diag.Diagnostic) bool {
		return slices.ContainsFunc(d.broken, func(name string) bool {
			return m.Summary == fmt.Sprintf("there is no type of part or declaration %q", name) || m.Summary == "undefined: "+name
		})
	})
}

// ModuleFiles are the files of the custom modules that one directory brings along.
type ModuleFiles struct {
	Dir   string   // in Site.Files; "." is the site's own
	Files []string // in Site.Files: the modules, and what they load
}

// ModuleFiles lists the custom modules' files, sorted by directory. Modules that
// scripts bring along by naming a component are known only once the site is
// evaluated.
func (s *Site) ModuleFiles() []ModuleFiles {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	return slices.SortedFunc(slices.Values(s.files.moduleFiles), func(a, b ModuleFiles) int { return strings.Compare(a.Dir, b.Dir) })
}
