package lang

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/hcl"
	"github.com/tenetcm/tenet/lang/program"
	"github.com/tenetcm/tenet/lang/star"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// A collection is a folder with components, modules, schemas and data that a directory names once. What it is made
// of has a name in Site.Files as any directory has: a source turns into that name, and a name into files, in one place each
// (sourceOf and openDirectory).

// collection is one that a directory names.
type collection struct {
	dir     string // its name in Site.Files; empty: it cannot be had
	err     error  // why
	files   fs.FS
	modules []*states.Module
	chosen  []string // modules that files of the directory may use
	list    diag.List
}

// collections finds those that the files of a directory write out.
func (d *directories) collections(from string, files []program.Source, scripts []star.Source) map[string]*collection {
	shapes := sync.OnceValue(func() *syntax.Shapes { return syntax.NewShapes(d.options.Registry) })
	var written []syntax.WrittenCollection
	for _, f := range files {
		written = append(written, hcl.Collections(f.Name, f.Data, shapes, d.nesting())...)
	}
	for _, s := range scripts {
		written = append(written, star.Collections(s.Name, s.Data)...)
	}
	out := map[string]*collection{}
	for _, w := range written {
		if w.Name != "" && out[w.Name] == nil { // the decoder tells of a second one
			out[w.Name] = d.openCollection(from, &w)
		}
	}
	return out
}

// openCollection opens a collection, and loads its modules.
func (d *directories) openCollection(from string, w *syntax.WrittenCollection) *collection {
	c := &collection{chosen: w.Modules}
	name, err := d.sourceOf(from, w.Source)
	var files fs.FS
	if err == nil {
		files, err = d.openDirectory(name)
	}
	if err == nil {
		_, err = fs.ReadDir(files, ".")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = &diag.HintError{Message: fmt.Sprintf("there is no collection at %q", w.Source), Hint: d.suggestSource(name, w.Source)}
	case isLinkOut(err):
		err = &diag.HintError{Message: fmt.Sprintf("the collection %q is, or lies behind, a link that leads out", w.Source), Hint: hintLinkOut}
	case err != nil && diag.HintOf(err) == "":
		err = &diag.HintError{Message: fmt.Sprintf("the collection %q cannot be read: %v", w.Source, err), Hint: `its source is a directory: "./DIR" or "../DIR"`}
	}
	if err != nil {
		c.err = err
		return c
	}
	c.dir = name
	c.modules, c.list = d.collectionModules(files, name)
	d.mu.Lock()
	if !slices.Contains(d.collectionRoots, name) {
		d.collectionRoots = append(d.collectionRoots, name)
	}
	d.mu.Unlock()
	return c
}

// collectionModules gives the modules of a collection, which are loaded once.
func (d *directories) collectionModules(files fs.FS, name string) ([]*states.Module, diag.List) {
	d.mu.Lock()
	known, ok := d.collected[name]
	d.mu.Unlock()
	if ok {
		return known.modules, known.list
	}
	modules, list := d.modules(files, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.collected[name] = &collection{files: files, modules: modules, list: list}
	return modules, list
}

// rootOf gives the collection in which a directory lies, the innermost; empty: in none.
func (d *directories) rootOf(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	root := d.rootAround(name)
	if _, told := d.rootsTold[name]; !told {
		d.rootsTold[name] = root
	}
	return root
}

// rootAround is rootOf, while the lock is held.
func (d *directories) rootAround(name string) (root string) {
	for _, r := range d.collectionRoots {
		if (name == r || strings.HasPrefix(name, r+"/")) && len(r) > len(root) {
			root = r
		}
	}
	return root
}

// lateCollections gives all collections that were found, if one of them was so only after a directory in it had been taken for another one's; else none.
// Which that is must not depend on who is read first.
func (d *directories) lateCollections() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, told := range d.rootsTold {
		if d.rootAround(name) != told {
			return slices.Sorted(slices.Values(d.collectionRoots))
		}
	}
	return nil
}

// knowCollections takes directories for collections before anything is read, and loads their modules. What is wrong with one is told where it is named.
func (d *directories) knowCollections(roots []string) {
	d.collectionRoots = roots
	for _, name := range roots {
		if files, err := d.openDirectory(name); err == nil {
			d.collectionModules(files, name)
		}
	}
}

// registryOf gives the modules that the files of a directory may use: the program's, its own, those of the collection in which it lies, and
// those that it has chosen of the collections that it names. The list tells of modules that are not right.
func (d *directories) registryOf(name string, own []*states.Module, collections map[string]*collection) (*states.Registry, diag.List) {
	var list diag.List
	all := slices.Clone(own)
	add := func(more ...*states.Module) {
		for _, m := range more {
			if !slices.ContainsFunc(all, func(have *states.Module) bool { return have.Name == m.Name }) {
				all = append(all, m) // two of one name are the same: see modules
			}
		}
	}
	if root := d.rootOf(name); root != "" {
		d.mu.Lock()
		inner := d.collected[root]
		d.mu.Unlock()
		if inner != nil {
			add(inner.modules...)
		}
	}
	for _, c := range collections {
		list = append(list, c.list...)
		for _, m := range c.modules {
			if slices.Contains(c.chosen, m.Name) {
				add(m)
			}
		}
	}
	slices.SortFunc(all, func(a, b *states.Module) int { return strings.Compare(a.Name, b.Name) })
	return d.options.Registry.With(all...), list
}

// checkCollection tells what is wrong with a collection that a directory declares; module is the one that is not there, if that is what is
// wrong.
func (d *directories) checkCollection(from, name string) (module string, err error) {
	d.mu.Lock()
	c := d.named[from][name]
	d.mu.Unlock()
	switch {
	case c == nil:
		return "", &diag.HintError{Message: fmt.Sprintf("the collection %q is not written out", name),
			Hint: "write it at top level, with texts alone: it is known before anything else"}
	case c.err != nil:
		return "", c.err
	}
	var names []string
	for _, m := range c.modules {
		names = append(names, m.Name)
	}
	for _, chosen := range c.chosen {
		if !slices.Contains(names, chosen) {
			return chosen, &diag.HintError{Message: fmt.Sprintf("the collection %s has no module %q", name, chosen),
				Hint: cmp.Or(diag.DidYouMean(chosen, names), diag.Choices(names), "its modules are files NAME.star in its directory modules")}
		}
	}
	return "", nil
}

// sourceOf gives the name of the directory that a source in another one's file names: NAME/DIR is in a collection
// that the directory names.
func (d *directories) sourceOf(from, source string) (string, error) {
	if IsPackage(source) {
		return d.packageOf(source)
	}
	if first, rest, ok := strings.Cut(source, "/"); ok && first != "std" && first != "." && first != ".." {
		d.mu.Lock()
		c, known := d.named[from][first], d.named[from]
		d.mu.Unlock()
		switch {
		case c != nil && c.err != nil:
			return "", &diag.HintError{Message: fmt.Sprintf("the collection %s is not available", first), Hint: "what is wrong with it is told at its place"}
		case c != nil && (!fs.ValidPath(rest) || rest == "."):
			return "", &diag.HintError{Message: fmt.Sprintf("%q is no component of the collection %s", source, first), Hint: "write NAME/DIR, with a directory of the collection"}
		case c != nil:
			return path.Join(c.dir, rest), nil
		case len(known) > 0 && fs.ValidPath(source):
			var names []string
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			return "", &diag.HintError{Message: fmt.Sprintf("there is no collection %q", first), Hint: cmp.Or(diag.DidYouMean(first, names), diag.Choices(names))}
		}
	}
	name, err := nameOf(from, source)
	if root := d.packageAround(from); err == nil && root != "" && !strings.HasPrefix(source, "std/") && name != root && !strings.HasPrefix(name, root+"/") {
		return "", &diag.HintError{Message: fmt.Sprintf("%q leads out of the package", source), Hint: "what a package needs is in it, or a package itself"}
	}
	if root := d.rootOf(from); err == nil && root != "" && !strings.HasPrefix(source, "std/") && name != root && !strings.HasPrefix(name, root+"/") {
		return "", &diag.HintError{Message: fmt.Sprintf("%q leads out of the collection", source), Hint: "what a collection needs is in it: it may lie anywhere else"}
	}
	return name, err
}

// suggestInCollection says what could be meant by a source NAME/DIR that there is not; empty: it is none of a collection, or there is nothing.
func (d *directories) suggestInCollection(from, source string) string {
	first, rest, _ := strings.Cut(source, "/")
	d.mu.Lock()
	c := d.named[from][first]
	d.mu.Unlock()
	if c == nil || c.err != nil {
		return ""
	}
	files, err := d.openDirectory(c.dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, in := range slices.Compact([]string{path.Dir(rest), "."}) {
		entries, _ := fs.ReadDir(files, in) // what cannot be read gives no hint
		for _, e := range entries {
			if dir := path.Join(in, e.Name()); e.IsDir() && hasSources(files, dir) {
				names = append(names, first+"/"+dir)
			}
		}
	}
	if len(names) == 0 {
		return "the collection has no component there: these are its directories with *.hcl or *.star files"
	}
	slices.Sort(names)
	return cmp.Or(diag.DidYouMean(source, names), diag.Choices(names), "write NAME/DIR, with a directory of the collection, such as "+names[0])
}

// hasSources reports whether a directory has files that a component is made of.
func hasSources(files fs.FS, dir string) bool {
	entries, _ := fs.ReadDir(files, dir) // what cannot be read has none
	return path.Base(dir) != "modules" && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && (strings.HasSuffix(e.Name(), ".hcl") || strings.HasSuffix(e.Name(), ".star"))
	})
}

// libraries gives the folders in which load("NAME/…") finds files.
func (d *directories) libraries(collections map[string]*collection) map[string]star.Library {
	out := map[string]star.Library{}
	for name, c := range collections {
		if c.err == nil {
			files, err := d.openDirectory(c.dir)
			if err == nil {
				out[name] = star.Library{Dir: c.dir, Files: files}
			}
		}
	}
	return out
}

func (d *directories) nesting() int { return cmp.Or(d.options.MaxNesting, expr.DefaultMaxNesting) }
