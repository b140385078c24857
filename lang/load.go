package lang

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/hcl"
	"github.com/tenetcm/tenet/lang/program"
	"github.com/tenetcm/tenet/lang/star"
	"github.com/tenetcm/tenet/stdlib"
)

// Load reads the site in the root of the given file system and checks what
// does not depend on a host. All that is wrong is in the list; the Site is
// never nil, so that Evaluate can report what else is wrong.
func Load(site fs.FS, o Options) (*Site, diag.List) {
	if o.Standard == nil {
		o.Standard = stdlib.FS
	}
	s := load(site, o, nil)
	for roots := s.files.lateCollections(); len(roots) > 0; roots = s.files.lateCollections() {
		s = load(site, o, roots)
	}
	return s, s.list
}

// load loads a site of which these directories are known to be collections, whatever names them first.
func load(site fs.FS, o Options, collections []string) *Site {
	files := newDirectories(site, o)
	s := &Site{files: files}
	files.knowCollections(collections)
	dir, list := files.read(site, ".", o.Files)
	s.list = list
	s.options = program.Options{Registry: o.Registry, All: files, Open: files.component, Collection: files.checkCollection, MaxNesting: o.MaxNesting, Parse: hcl.Parse}
	p, found := program.Parse(dir, s.options)
	s.program = p
	s.broken = list.HasErrors() || p.Broken()
	s.list = append(files.dropKnownModules(append(s.list, found...)), files.demandSignatures(p.Signers())...).Sorted()
	return s
}

// IsSource reports whether a file of that name is read as one of a site.
func IsSource(name string) bool { return isSource(name) }

func isSource(name string) bool { return hcl.IsSource(name) || star.IsSource(name) }

// sourceNames lists the files to read, sorted and without repeats.
func sourceNames(site fs.FS, only []string) ([]string, diag.List) {
	var names []string
	var list diag.List
	if only != nil {
		for _, name := range only {
			if !fs.ValidPath(name) || !isSource(name) {
				list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%q is no source of a site", name),
					Hint: "a source is a file named *.hcl, *.hcl.json or *.star"})
				continue
			}
			names = append(names, name)
		}
		slices.Sort(names)
		return slices.Compact(names), list
	}
	entries, err := fs.ReadDir(site, ".")
	if err != nil {
		list.Add(diag.Diagnostic{Summary: "the site's directory cannot be read: " + err.Error(),
			Hint: "name an existing directory, or a file"})
		return nil, list
	}
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && isSource(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		list.Add(noSources(entries))
	}
	slices.Sort(names)
	return names, list
}
