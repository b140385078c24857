package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

// packageDir is a directory that is to be a package.
type packageDir struct {
	path     string // of a directory, or std/NAME
	files    fs.FS
	root     *os.Root // nil: it is a standard component, which is part of the program
	standard bool
}

// openPackageDir opens what is to be a package.
func openPackageDir(path string) (*packageDir, error) {
	root, err := os.OpenRoot(path)
	if err == nil {
		return &packageDir{path: path, root: root, files: root.FS()}, nil
	}
	if name, ok := strings.CutPrefix(path, "std/"); ok && slices.Contains(fsDirectories(stdlib.FS), name) {
		files, err := fs.Sub(stdlib.FS, name)
		return &packageDir{path: path, files: files, standard: true}, failure(err)
	}
	return nil, newStatus(exitSite, fmt.Errorf("the package cannot be read: %w", err), "give the directory of a component or a collection, or std/NAME")
}

func (p *packageDir) close() {
	if p.root != nil {
		p.root.Close()
	}
}

// checkPackage checks what is to be a package: its modules, each of its components, and their cases. Warnings count as errors. It tells what the
// comment at its head says, which is empty where there is none. What it shows is no data: it goes to standard error.
func (s *client) checkPackage(ctx context.Context, p *packageDir) (text string, err error) {
	if err := s.withoutTarget(); err != nil {
		return "", err
	}
	out := s.Out
	s.Out = s.Err
	defer func() { s.Out = out }()
	own, list := custom.Load(p.files, custom.Dir, custom.Options{Registry: modules.Standard(), Name: "."})
	if err := s.show(list, own.Source); err != nil {
		return "", err
	}
	components, err := componentsIn(p.files)
	if err != nil {
		return "", failure(err)
	}
	if len(components) == 0 && len(own.Modules()) == 0 {
		return "", newStatus(exitSite, fmt.Errorf("%s has no component and no module", p.path), "a component is a directory with *.hcl or *.star files; modules are in modules/*.star")
	}
	for _, name := range components {
		d, err := s.checkComponent(ctx, p, name, own.Modules())
		if err != nil {
			return "", err
		}
		if name == "." {
			text = d
		}
	}
	if s.diagnosticCount > 0 {
		return "", newStatus(exitSite, fmt.Errorf("%s, and a package has none", people(s.diagnosticCount, "warning", "warnings")), "mend what they name")
	}
	return text, s.testPackage(ctx, p)
}

// componentsIn lists the directories with state files; "." is the package's own. Scripts alone, which others load, are no component.
func componentsIn(files fs.FS) ([]string, error) {
	var list []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == testcase.Dir || d.Name() == custom.Dir || name == packages.Vendor):
			return fs.SkipDir
		case !d.IsDir() || !hasStateFiles(files, name):
			return nil
		}
		list = append(list, name)
		return nil
	})
	return list, err
}

func hasStateFiles(files fs.FS, dir string) bool {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return false // the walk tells of it
	}
	for _, e := range entries {
		base, extension, _ := strings.Cut(e.Name(), ".")
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && lang.IsSource(e.Name()) && (extension != "star" || base == "main" || base == "site") {
			return true
		}
	}
	return false
}

// checkComponent checks one component. One whose inputs all have defaults is evaluated as well; what others do with their inputs, cases try.
func (s *client) checkComponent(ctx context.Context, p *packageDir, name string, shared []*states.Module) (string, error) {
	sub, err := fs.Sub(p.files, name)
	if err != nil {
		return "", failure(err)
	}
	registry := modules.Standard()
	if name != "." {
		registry = registry.With(shared...)
	}
	stop := s.limitEvaluation()
	site, _ := lang.Load(sub, lang.Options{Registry: registry, Standard: stdlib.FS, OpenPackage: s.openPackages(p.files), OpenOutside: openBelow(p.files, name)})
	description, list := site.Describe(ctx)
	stop()
	if err := s.show(placed(list, name), func(file string) ([]byte, bool) {
		return site.Source(strings.TrimPrefix(file, name+"/"))
	}); err != nil {
		return "", err
	}
	for _, v := range description.Variables {
		if v.Required {
			return description.Text, nil
		}
	}
	switch {
	case name != "." && len(shared) > 0: // by itself it does not have the modules
	case p.standard: // evaluated by its cases
	case len(list) == 0: // else it would be told twice
		_, err = s.validate(ctx, filepath.Join(p.path, filepath.FromSlash(name)), false)
	}
	return description.Text, err
}

// openBelow opens what a component names outside of itself: other directories of the package.
func openBelow(files fs.FS, name string) func(string) (fs.FS, error) {
	return func(outside string) (fs.FS, error) {
		at := path.Join(name, outside)
		if !fs.ValidPath(at) {
			return nil, &diag.HintError{Message: fmt.Sprintf("%q leads out of the package", outside), Hint: "what a package needs is in it, or a package itself"}
		}
		if _, err := fs.Stat(files, at); err != nil {
			return nil, err
		}
		return fs.Sub(files, at)
	}
}

// placed names the files of diagnostics from the package's directory.
func placed(list diag.List, name string) diag.List {
	var out diag.List
	for _, d := range list {
		if d.Range.File != "" {
			d.Range.File = path.Join(name, d.Range.File)
		}
		out = append(out, d)
	}
	return out
}

// testPackage runs the cases of a package.
func (s *client) testPackage(ctx context.Context, p *packageDir) (err error) {
	sites := standardTests(p.path)
	if !p.standard {
		if sites, err = findBelow(p.path); err != nil {
			return failure(err)
		}
		vendored := filepath.Join(p.path, packages.Vendor) + string(filepath.Separator)
		sites = slices.DeleteFunc(sites, func(at testSite) bool { return strings.HasPrefix(at.dir, vendored) })
	}
	if len(sites) == 0 {
		return s.say("there are no cases that try it: tests/*.hcl, as docs/testing.md says")
	}
	all, err := s.testAll(ctx, sites, regexp.MustCompile(""), false)
	if err != nil {
		return err
	}
	if sum := testcase.SumOf(all); sum.Failed > 0 || sum.Invalid > 0 {
		return &status{code: exitFailed, err: errors.New("not all cases pass: " + sumText(all))}
	}
	return s.say(sumText(all))
}
