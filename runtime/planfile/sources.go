package planfile

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// siteFiles are the files of a site that plans name. Its zero value, with from, works.
type siteFiles struct {
	from  fs.FS
	files map[string]string // by name, with the SHA-256 that parts want
	trees map[string]bool
}

// use adds the files that the parts of a run name.
func (f *siteFiles) use(run *states.StateRun, registry *states.Registry) error {
	if f.files == nil {
		f.files, f.trees = map[string]string{}, map[string]bool{}
	}
	sources, trees := Sources(run, registry)
	for _, s := range sources {
		if other := f.files[s.Path]; other != "" && other != s.SHA256 {
			return fmt.Errorf("%s has changed meanwhile", s.Path)
		}
		f.files[s.Path] = s.SHA256
	}
	for _, t := range trees {
		f.trees[t.Path] = true
	}
	return nil
}

// add adds the files, and those of modules, to an archive.
func (f *siteFiles) add(w *ArchiveWriter, modules []machine.Modules) error {
	names := slices.Collect(maps.Keys(f.files))
	for _, dir := range slices.Sorted(maps.Keys(f.trees)) {
		files, err := f.addTree(w, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		names = append(names, files...)
	}
	for _, m := range modules {
		names = append(names, m.Files...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		err := w.AddFile(path.Join(filesDir, name), func() (io.ReadCloser, error) { return states.OpenFile(f.from, name) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if want := f.files[name]; want != "" && want != w.pending[len(w.pending)-1].SHA256 {
			return fmt.Errorf("%s has changed meanwhile", name)
		}
	}
	return nil
}

// addTree adds the entries of a directory of the site, and names its files.
func (f *siteFiles) addTree(w *ArchiveWriter, dir string) ([]string, error) {
	entries, err := states.ReadTree(f.from, dir)
	if err != nil {
		return nil, err
	}
	data, err := encode(entries)
	if err == nil {
		err = w.Add(treeName(dir), data)
	}
	var names []string
	for _, e := range entries {
		if e.Kind == host.Regular {
			names = append(names, path.Join(dir, e.Name))
		}
	}
	return names, err
}
