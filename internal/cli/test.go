package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/stdlib"
)

type testCmd struct {
	Sites  []string `arg:"" optional:"" help:"Sites with cases in tests/*.hcl, directories above such sites, single files, or std/NAME."`
	Filter string   `name:"run" help:"Take the cases whose names match." placeholder:"REGEXP"`
	Update bool     `help:"Rewrite the golden files that differ."`
	JUnit  string   `name:"junit" help:"Write the results as JUnit XML, too." placeholder:"FILE"`
}

// Help says more than the list of commands has room for.
func (*testCmd) Help() string {
	return "Cases run on simulated machines in memory; this machine is not touched. docs/testing.md says how to write them."
}

// Run tests sites.
func (cmd *testCmd) Run(ctx runContext, s *client) error {
	if err := s.withoutTarget(); err != nil {
		return err
	}
	filter, err := regexp.Compile(cmd.Filter)
	if err != nil {
		return usage("", "--run: %w", err)
	}
	sites, err := findTests(cmd.Sites)
	if err != nil {
		return err
	}
	var all []testcase.Tested
	for _, site := range sites {
		tested, err := s.test(ctx, site, filter, cmd.Update)
		if err != nil {
			return err
		}
		all = append(all, tested)
	}
	if err := unread(cmd.finish(s, all)); err != nil {
		return err // where nobody reads on, the status still says how it ended
	}
	sum := testcase.SumOf(all)
	switch {
	case sum.Wrong > 0:
		return &status{code: exitSite}
	case sum.Failed > 0:
		return &status{code: exitFailed}
	case sum.Cases == 0:
		return usage("--run takes a regular expression, of which a part of the name is enough", "no case has a name that matches %q", cmd.Filter)
	}
	return nil
}

// finish writes what is written when all is known.
func (cmd *testCmd) finish(s *client, all []testcase.Tested) error {
	if cmd.JUnit != "" {
		var out bytes.Buffer
		if err := testcase.JUnit(&out, all); err != nil {
			return failed(err)
		}
		if err := replaceFile(cmd.JUnit, out.Bytes()); err != nil {
			return failed(fmt.Errorf("--junit: %w", err))
		}
	}
	if s.globals.JSON {
		return failed(testcase.JSON(s.Out, all))
	}
	return s.print(sumText(all))
}

// sumText is the last line of a test.
func sumText(all []testcase.Tested) string {
	sum, mistakes := testcase.SumOf(all), 0
	for _, t := range all {
		if t.Mistakes.HasErrors() {
			mistakes++
		}
	}
	words := fmt.Sprintf("%d cases", sum.Cases)
	if sum.Cases == 1 {
		words = "1 case"
	}
	for _, count := range []struct {
		n    int
		word string
	}{{sum.Passed, "passed"}, {sum.Failed, "failed"}, {sum.Wrong - mistakes, "wrong"}} {
		if count.n > 0 {
			words += fmt.Sprintf(", %d %s", count.n, count.word)
		}
	}
	if mistakes > 0 {
		words += ", and others with mistakes"
	}
	return fmt.Sprintf("%s in %.1fs", words, sum.Duration.Seconds())
}

// replaceFile writes a file in one piece.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".tenet-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// withoutTarget refuses the flags that say something about a real target: a
// case has values of its own.
func (s *client) withoutTarget() error {
	g := s.globals
	for flag, given := range map[string]bool{
		"--var": len(g.Var) > 0, "--var-file": len(g.VarFile) > 0, "--facts": g.Facts != "", "--root": g.Root != "",
		"--target": len(g.Target) > 0, "--tags": len(g.Tags) > 0, "--exclude": len(g.Exclude) > 0, "--state-dir": g.StateDir != "",
		"--limit": g.Limit != "",
	} {
		if given {
			return usage("write it into the case: vars, facts, host, target, tags, exclude", "%s has no meaning for a test", flag)
		}
	}
	return nil
}

// testSite is a site with the files of cases that are taken; none: all.
type testSite struct {
	path     string // a directory, one file of a site, or std/NAME
	dir      string
	files    []string
	standard bool // a component that is part of the program
}

// standardTests finds the standard component, or all of them, with their cases;
// nil where the path is none.
func standardTests(path string) []testSite {
	if path != "std" && !strings.HasPrefix(path, "std/") {
		return nil
	}
	var out []testSite
	for _, dir := range fsDirectories(stdlib.FS) {
		files, err := fs.Sub(stdlib.FS, dir)
		if err == nil && testcase.Has(files) && (path == "std" || path == "std/"+dir) {
			out = append(out, testSite{path: "std/" + dir, dir: "std/" + dir, standard: true})
		}
	}
	return out
}

func fsDirectories(in fs.FS) []string {
	entries, err := fs.ReadDir(in, ".")
	if err != nil {
		return nil // of embedded files: there are none
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// openTest opens the site.
func (s *client) openTest(at testSite) (*lang.Site, error) {
	if !at.standard {
		return s.openSite(at.path)
	}
	files, err := fs.Sub(stdlib.FS, strings.TrimPrefix(at.path, "std/"))
	if err != nil {
		return nil, failed(err)
	}
	site, _ := lang.Load(files, lang.Options{Registry: modules.Standard()})
	return site, nil
}

// findTests finds the sites with cases at and below the given paths.
func findTests(paths []string) ([]testSite, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var out []testSite
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			if standard := standardTests(path); standard != nil {
				out = append(out, standard...)
				continue
			}
			return nil, &status{code: exitSite, err: err, hint: "give a directory with cases in tests/*.hcl, or a file of cases"}
		}
		dir := filepath.Dir(path)
		switch {
		case info.IsDir():
			found, err := findBelow(path)
			if err != nil {
				return nil, &status{code: exitSite, err: err}
			}
			out = append(out, found...)
			if len(found) == 0 {
				return nil, &status{code: exitSite, err: fmt.Errorf("there are no cases in %s", path),
					hint: "write them into tests/*.hcl beside a site; docs/testing.md shows how"}
			}
		case filepath.Base(dir) == testcase.Dir && strings.HasSuffix(path, ".hcl"):
			site := filepath.Dir(dir)
			out = append(out, testSite{path: site, dir: site, files: []string{filepath.Base(path)}})
		default:
			out = append(out, testSite{path: path, dir: dir})
		}
	}
	return out, nil
}

// findBelow finds the sites with cases in a directory and below it. What is
// within the cases' own directories is material of theirs.
func findBelow(dir string) ([]testSite, error) {
	var out []testSite
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == testcase.Dir) {
			return fs.SkipDir
		}
		if testcase.Has(os.DirFS(path)) {
			out = append(out, testSite{path: path, dir: path})
		}
		return nil
	})
	return out, err
}

// test carries out the cases of one site, and shows how they end.
func (s *client) test(ctx context.Context, at testSite, filter *regexp.Regexp, update bool) (testcase.Tested, error) {
	tested := testcase.Tested{Site: at.path, Dir: at.dir}
	site, err := s.openTest(at)
	if err != nil {
		return tested, err
	}
	cases, mistakes := testcase.Read(site.Files(), at.files...)
	tested.Mistakes = mistakes
	source := func(file string) ([]byte, bool) {
		if text, ok := cases.Source(file); ok {
			return text, true
		}
		return site.Source(file)
	}
	o := testcase.Options{Site: site, Registry: modules.Standard()}
	if update && !at.standard {
		o.Update = updater(at.dir)
	}
	shown := &shownTests{client: s, site: at.path, dir: at.dir, source: source}
	shown.mistakes(mistakes)
	for _, c := range cases.List {
		if !filter.MatchString(c.Name) {
			continue
		}
		result := testcase.Run(ctx, c, o)
		if ctx.Err() != nil {
			return tested, &status{code: exitInterrupted, err: errInterrupted}
		}
		tested.Results = append(tested.Results, result)
		shown.result(result)
	}
	return tested, failed(unread(shown.err))
}

// updater writes golden files, in the site's directory alone.
func updater(dir string) func(string, []byte) error {
	return func(name string, data []byte) error {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		return root.WriteFile(name, data, 0o666)
	}
}

// shownTests shows results as they come.
type shownTests struct {
	*client
	site   string
	dir    string
	source func(string) ([]byte, bool)
	titled bool
	last   string // diagnostics shown last
	err    error
}

func (t *shownTests) line(text string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.Out, text)
	}
}

func (t *shownTests) title() {
	if !t.titled {
		t.line(ui.Clean(t.site))
		t.titled = true
	}
}

// mistakes shows what is wrong with the files of cases.
func (t *shownTests) mistakes(list diag.List) {
	if len(list) == 0 {
		return
	}
	if err := t.show(list, t.source); err != nil && !list.HasErrors() {
		t.err = err
	}
}

// mark stands before a case.
func (t *shownTests) mark(good bool) string {
	if good {
		return ui.Green("✓", t.color(t.Out))
	}
	return ui.Red("✗", t.color(t.Out))
}

func (t *shownTests) result(r testcase.Result) {
	if t.globals.JSON {
		return
	}
	name := ui.Clean(r.Case.Name)
	switch {
	case r.Outcome == testcase.Failed:
		t.title()
		t.line("  " + t.mark(false) + " " + name)
		t.details(r.Text(t.dir))
	case r.Outcome == testcase.Wrong:
		t.title()
		t.line("  " + t.mark(false) + " " + name + "  cannot be tested")
		t.details(t.diagnostics(r.Diagnostics))
	case !t.globals.Quiet:
		t.title()
		t.line("  " + t.mark(true) + " " + name)
		if t.globals.Verbose && r.Case.Description != "" {
			t.details(r.Case.Description)
		}
		t.details(t.diagnostics(r.Diagnostics))
	}
	for _, note := range r.Notes {
		if !t.globals.Quiet {
			t.line("    " + ui.Clean(note))
		}
	}
	for _, file := range r.Updated {
		t.line("    rewrote " + ui.Clean(filepath.Join(t.dir, file)))
	}
}

// diagnostics writes mistakes and warnings, but the same ones only once.
func (t *shownTests) diagnostics(list diag.List) string {
	if len(list) == 0 {
		return ""
	}
	var out bytes.Buffer
	if err := diag.Write(&out, list, diag.WriteOptions{Source: t.source}); err != nil {
		t.err = err
	}
	text := out.String()
	if text == t.last {
		return "as above\n"
	}
	t.last = text
	return text
}

func (t *shownTests) details(text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		t.line(strings.TrimRight("      "+ui.Clean(line), " "))
	}
}
