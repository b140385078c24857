package lang

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/program"
	"github.com/tenetcm/tenet/lang/star"
	"github.com/tenetcm/tenet/states"
)

// Where directories other than the site's own stand in Site.Files. No name in a
// source leads there.
const (
	standardName = "@std"
	parentName   = "@up" // for each ".."
	packagesName = "@packages"
)

// directories is the file system of a site with all of its components: those
// outside of its own directory stand under names of their own. It opens them
// while sources are read, and keeps them.
type directories struct {
	site    fs.FS
	options Options

	mu          sync.Mutex
	directories map[string]*program.Directory
	places      map[string]fs.FileInfo // what tells the opened apart, by the same names
	sources     map[string][]byte      // the text of all sources, by name
	custom      map[string]customModule
	broken      []string // the custom modules that have mistakes
	moduleFiles []ModuleFiles
	named       map[string]map[string]*collection // by the directory that names them, and their names there
	collected   map[string]*collection            // the modules of collections, by their directories
	// collectionRoots are the directories that are collections.
	collectionRoots []string
	rootsTold       map[string]string         // what rootOf has said of directories
	packages        map[string]*openedPackage // by the names of their directories
	signers         string                    // the file of the site that says whose signatures count; empty: none are demanded
}

func newDirectories(site fs.FS, o Options) *directories {
	return &directories{site: site, options: o, directories: map[string]*program.Directory{}, places: map[string]fs.FileInfo{}, sources: map[string][]byte{}, custom: map[string]customModule{},
		named: map[string]map[string]*collection{}, rootsTold: map[string]string{}, collected: map[string]*collection{}, packages: map[string]*openedPackage{}}
}

// Open opens a file of the site or of a component.
func (d *directories) Open(name string) (fs.File, error) {
	in, rest, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	return in.Open(rest)
}

// Stat is fs.StatFS: to ask what something is must not open it, which for a
// FIFO would wait.
func (d *directories) Stat(name string) (fs.FileInfo, error) {
	in, rest, err := d.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(in, rest)
}

// Lstat is fs.ReadLinkFS.
func (d *directories) Lstat(name string) (fs.FileInfo, error) {
	in, rest, err := d.find("lstat", name)
	if err != nil {
		return nil, err
	}
	return fs.Lstat(in, rest)
}

// ReadLink is fs.ReadLinkFS.
func (d *directories) ReadLink(name string) (string, error) {
	in, rest, err := d.find("readlink", name)
	if err != nil {
		return "", err
	}
	return fs.ReadLink(in, rest)
}

// Tree is states.TreeFS.
func (d *directories) Tree(name string) ([]states.TreeEntry, error) {
	in, rest, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	return states.ReadTree(in, rest)
}

// OpenFile is states.TreeFS.
func (d *directories) OpenFile(name string) (io.ReadCloser, error) {
	in, rest, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	return states.OpenFile(in, rest)
}

// find gives the directory that a file is in, and its name there.
func (d *directories) find(op, name string) (fs.FS, string, error) {
	for dir := path.Dir(name); strings.HasPrefix(name, "@") && dir != "."; dir = path.Dir(dir) {
		d.mu.Lock()
		in, collected := d.directories[dir], d.collected[dir]
		d.mu.Unlock()
		switch {
		case in != nil:
			return in.FS, strings.TrimPrefix(name, dir+"/"), nil
		case collected != nil:
			return collected.files, strings.TrimPrefix(name, dir+"/"), nil
		}
	}
	if first, _, _ := strings.Cut(name, "/"); first == standardName || first == parentName || first == packagesName {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return d.site, name, nil
}

// source gives the text of a source, or of another text file.
func (d *directories) source(name string) ([]byte, bool) {
	d.mu.Lock()
	src, ok := d.sources[name]
	d.mu.Unlock()
	if ok {
		return src, true
	}
	if !fs.ValidPath(name) {
		return nil, false
	}
	src, err := fs.ReadFile(d, name)
	return src, err == nil
}

// names lists the sources within the site's directory.
func (d *directories) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.sources {
		if !strings.HasPrefix(name, "@") && fs.ValidPath(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// components lists the directories but the site's own.
func (d *directories) components() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.directories {
		if name != "." {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// read reads the sources in the root of a file system, as the directory of
// that name. The list says what cannot be read.
func (d *directories) read(files fs.FS, name string, only []string) (*program.Directory, diag.List) {
	out := &program.Directory{Name: name, FS: files}
	own, problems := d.modules(files, name)
	names, list := sourceNames(files, only)
	var scripts []star.Source
	reader := expr.NewFilesOf(files, name)
	for _, base := range names {
		full := path.Join(name, base)
		data, err := reader.Bytes(".", base)
		if err != nil {
			found := diag.Diagnose(err, diag.Range{File: full})
			found.Hint = cmp.Or(found.Hint, "check that it is a file, and may be read")
			list.Add(found)
			continue
		}
		d.mu.Lock()
		d.sources[full] = data
		d.mu.Unlock()
		if star.IsSource(base) {
			scripts = append(scripts, star.Source{Name: base, Data: data})
		} else {
			out.Sources = append(out.Sources, program.Source{Name: full, Data: data})
		}
	}
	collections := d.collections(name, out.Sources, scripts)
	d.mu.Lock()
	d.named[name] = collections
	d.mu.Unlock()
	registry, more := d.registryOf(name, own, collections)
	out.Registry, out.Problems = registry, append(problems, more...)
	options := star.Options{Registry: out.Registry, Site: files, Dir: name,
		Std: d.options.Standard, Collections: d.libraries(collections), MaxNesting: d.options.MaxNesting, MaxSteps: d.options.MaxSteps}
	out.Library, _ = star.Parse(nil, options) // of nothing
	if len(scripts) > 0 {
		parsed, found := star.Parse(scripts, options)
		out.Scripts, out.Problems = parsed, append(out.Problems, found...)
		d.storeTexts(parsed)
	}
	place, err := fs.Stat(files, ".")
	d.mu.Lock()
	d.directories[name] = out
	if err == nil { // else it is none other that can be told
		d.places[name] = place
	}
	d.mu.Unlock()
	return out, list
}

// storeTexts holds the texts that scripts have loaded.
func (d *directories) storeTexts(scripts *star.Scripts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, text := range scripts.Texts() {
		d.sources[name] = text
	}
}

// component finds the directory that a source in another one names. The error
// has a hint.
func (d *directories) component(from, source string) (*program.Directory, error) {
	name, err := d.sourceOf(from, source)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	known := d.directories[name]
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	files, err := d.openDirectory(name)
	if err == nil {
		_, err = fs.ReadDir(files, ".")
	}
	if err == nil {
		if known := d.sameDirectory(files); known != nil {
			return known, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &diag.HintError{Message: fmt.Sprintf("there is no component %q", source), Hint: cmp.Or(d.suggestInCollection(from, source), d.suggestSource(name, source))}
	case isLinkOut(err):
		return nil, &diag.HintError{Message: fmt.Sprintf("the component %q is, or lies behind, a link that leads out", source), Hint: hintLinkOut}
	case err != nil:
		return nil, &diag.HintError{Message: fmt.Sprintf("the component %q cannot be read: %v", source, err),
			Hint: `a source is a directory: "./DIR", "../DIR" or "std/NAME"; or a package: "oci://…" or "git::…"`}
	}
	dir, list := d.read(files, name, nil)
	if list.HasErrors() {
		return nil, &diag.HintError{Message: fmt.Sprintf("the component %q: %s", source, list[0].Summary),
			Hint: cmp.Or(list[0].Hint, "look at its files")}
	}
	return dir, nil
}

// sameDirectory gives the directory that was opened already by another name: through a
// symbolic link, or by a way out of the site and back. Each is read once, so
// that links in a circle have an end.
func (d *directories) sameDirectory(files fs.FS) *program.Directory {
	info, err := fs.Stat(files, ".")
	if err != nil {
		return nil // to read it will say why
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.places)) {
		if os.SameFile(info, d.places[name]) {
			return d.directories[name]
		}
	}
	return nil
}

// nameOf gives the name of a directory, from the one whose file names it.
func nameOf(from, source string) (string, error) {
	hint := `write "./DIR" or "../DIR", from the directory of this file, "std/NAME", or "oci://…" or "git::…" for a package`
	if name, ok := strings.CutPrefix(source, "std/"); ok {
		if !fs.ValidPath(name) || name == "." {
			return "", &diag.HintError{Message: fmt.Sprintf("%q is no standard component", source), Hint: hint}
		}
		return path.Join(standardName, name), nil
	}
	if !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") || strings.ContainsAny(source, "\x00\\@") {
		return "", &diag.HintError{Message: fmt.Sprintf("%q is no source of a component", source), Hint: hint}
	}
	plain := swapLeading(from, parentName, "..")
	name := path.Join(plain, source)
	if standard, ok := strings.CutPrefix(from+"/", standardName+"/"); ok {
		if below := path.Join(standard, source); below == ".." || strings.HasPrefix(below, "../") {
			return "", &diag.HintError{Message: fmt.Sprintf("%q leads out of the standard components", source), Hint: hint}
		}
	}
	if name == "." || name == plain {
		return "", &diag.HintError{Message: "a component cannot contain itself", Hint: "name another directory"}
	}
	return swapLeading(name, "..", parentName), nil
}

// swapLeading puts another name in the place of those that a path begins with.
func swapLeading(name, old, by string) string {
	steps := strings.Split(name, "/")
	for i := 0; i < len(steps) && steps[i] == old; i++ {
		steps[i] = by
	}
	return strings.Join(steps, "/")
}

// openDirectory opens a directory by its name.
func (d *directories) openDirectory(name string) (fs.FS, error) {
	if below, ok := strings.CutPrefix(name, standardName+"/"); ok {
		if d.options.Standard == nil {
			return nil, fs.ErrNotExist
		}
		return fs.Sub(d.options.Standard, below)
	}
	if strings.HasPrefix(name, packagesName+"/") {
		return d.openInPackage(name)
	}
	if strings.HasPrefix(name+"/", parentName+"/") {
		if d.options.OpenOutside == nil {
			return nil, errors.New("it is outside of the site, where nothing can be read here")
		}
		return d.options.OpenOutside(swapLeading(name, parentName, ".."))
	}
	return fs.Sub(d.site, name)
}

// hintLinkOut is the cure for such a link.
const hintLinkOut = "put the directory itself there: what a link names may be another thing, or nothing, where the site goes"

// isLinkOut reports whether something cannot be read since a link leads out of where it has to be. The standard library has words for that alone.
func isLinkOut(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "path escapes from parent")
}

// suggestSource says what could be meant by a source that there is not.
func (d *directories) suggestSource(name, source string) string {
	in, prefix := d.site, "./"
	dir := path.Dir(name)
	switch {
	case strings.HasPrefix(name, standardName+"/"):
		in, prefix, dir = d.options.Standard, "std/", "."
	case strings.HasPrefix(name+"/", parentName+"/"), strings.HasPrefix(name, packagesName+"/"):
		return "name a directory with *.hcl or *.star files, from the directory of this file"
	}
	var names []string
	if in != nil {
		entries, _ := fs.ReadDir(in, dir) // what cannot be read gives no hint
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				names = append(names, prefix+path.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(names)
	return cmp.Or(diag.DidYouMean(source, names), diag.Choices(names),
		"name a directory with *.hcl or *.star files, from the directory of this file")
}
