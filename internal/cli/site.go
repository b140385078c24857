package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

// localhost names a host that no site names.
const localhost = "localhost"

// site is a site that was loaded and compiled for this machine.
type site struct {
	lang    *lang.Site // nil: there is none, only a run
	origin  string     // where it lies
	sources fs.FS      // opens the files that parts name
	target  lang.Target
	targets []string // addresses that are selected beside those of --target
	result  *graph.Result
	run     *states.StateRun // what is selected of it
	host    *host.Local
	secrets *secrets.Store
	// declared is the host of the site that is meant; nil where it declares
	// none.
	declared *lang.Host
	far      *farFacts // that the host itself tells; nil: it is this machine

	own    *states.Registry  // the modules of the site and the program's; nil: the latter
	texts  map[string][]byte // the source files, once lang is let go
	places map[string]diag.Range
	// modules are the files of the site's own modules, once lang is let go.
	modules []lang.ModuleFiles
	// saved are the places of a saved plan, with their lines.
	saved map[string]journal.Source
	plan  string // the file of that plan
	// rows, unless they are nil, must be what a plan says with the lock held, or
	// nothing is applied; stale is told what differs.
	rows  []states.Event
	stale func([]machine.Difference) error
}

// registry holds the modules that the site may use.
func (c *site) registry() *states.Registry {
	if c.own == nil {
		return modules.Standard()
	}
	return c.own
}

// forgetSyntax lets go of the parsed site, which in a large one is most of its
// memory, once it has been evaluated.
func (c *site) forgetSyntax(d *states.Declarations) {
	c.texts = map[string][]byte{}
	for i := range d.List {
		file := d.List[i].Range.File
		if _, known := c.texts[file]; !known {
			c.texts[file], _ = c.lang.Source(file)
		}
	}
	c.modules, c.lang = c.lang.ModuleFiles(), nil
}

// forgetPlanner lets go of all but the run, before it is carried out.
func (c *site) forgetPlanner() { c.places, c.result = c.result.Sources, nil }

// siteAt refuses what cannot be a site: nothing, a saved plan, or a file of another
// kind.
func siteAt(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err),
			hint: "give a directory with *.hcl or *.star files, or one such file"}
	case info.IsDir() || lang.IsSource(filepath.Base(path)):
		return info, nil
	case isPlanFile(path):
		return nil, usage("tenet show FILE shows it, and tenet apply FILE does what it says", "%s is a saved plan, and this is for a site", path)
	}
	if err := readable(path, info); err != nil {
		return nil, &status{code: exitSite, err: err, hint: "a saved plan is for who made it alone: look as that user"}
	}
	return nil, &status{code: exitSite, err: fmt.Errorf("%s is no source of a site, and no saved plan", path),
		hint: "a source is a file named *.hcl, *.hcl.json or *.star; a plan that is damaged is to be fetched or made again"}
}

// openSite opens a site, a directory or one file of it. Nothing outside of the
// directory is read, symbolic links included.
func (s *client) openSite(ctx context.Context, path string) (*lang.Site, error) {
	info, err := siteAt(path)
	if err != nil {
		return nil, err
	}
	dir, options := path, lang.Options{Registry: modules.Standard(), Standard: stdlib.FS}
	if !info.IsDir() {
		dir, options.Files = filepath.Dir(path), []string{filepath.Base(path)}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err)}
	}
	options.OpenOutside = func(path string) (fs.FS, error) {
		outside, err := os.OpenRoot(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		return siteFiles(ctx, outside), nil
	}
	defer s.limited()()
	// What Load finds is in the lists of For too, in order with the rest.
	loaded, _ := lang.Load(siteFiles(ctx, root), options)
	return loaded, nil
}

// siteFiles gives the files of a site's directory, for as long as ctx lasts.
func siteFiles(ctx context.Context, root *os.Root) fs.FS {
	r, err := host.NewLocal(host.LocalOptions{Root: root.Name()})
	if err != nil { // then it is the slow way
		return states.WithTrees(ctx, root.FS(), nil)
	}
	return states.WithTrees(ctx, root.FS(), r)
}

// compile loads, evaluates and plans a site, and selects from it.
func (s *client) compile(ctx context.Context, path string) (*site, error) {
	c, declarations, err := s.evaluate(ctx, path)
	if err != nil {
		return nil, err
	}
	c.forgetSyntax(declarations)
	if err := s.plan(c, declarations); err != nil {
		return nil, err
	}
	return c, nil
}

// compileChosen does the same with a site that is loaded, and whose host is chosen.
func (s *client) compileChosen(ctx context.Context, c *site) error {
	declarations, err := s.declarations(ctx, c)
	if err != nil {
		return err
	}
	c.forgetSyntax(declarations)
	return s.plan(c, declarations)
}

// load opens a site, to be evaluated for this machine or a host that it
// declares.
func (s *client) load(ctx context.Context, path string) (*site, error) {
	return s.loadBy(ctx, path, s.openSite)
}

// loadBy opens a site in the way that is given.
func (s *client) loadBy(ctx context.Context, path string, open func(ctx context.Context, path string) (*lang.Site, error)) (*site, error) {
	h, err := s.newHost()
	if err != nil {
		return nil, err
	}
	c := &site{host: h}
	if c.lang, err = open(ctx, path); err != nil {
		return nil, err
	}
	if c.origin, err = originOf(path); err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err)}
	}
	c.sources, c.own = c.lang.Files(), c.lang.Registry()
	if c.target, err = s.target(h); err != nil {
		return nil, err
	}
	s.useInventories(c)
	return c, s.useSecrets(ctx, c, path)
}

// evaluate loads a site, and evaluates it for one host.
func (s *client) evaluate(ctx context.Context, path string) (*site, *states.Declarations, error) {
	c, err := s.load(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if err := s.choose(ctx, c); err != nil {
		return nil, nil, err
	}
	declarations, err := s.declarations(ctx, c)
	return c, declarations, c.silence(err)
}

// declarations evaluates a site for the host that was chosen.
func (s *client) declarations(ctx context.Context, c *site) (*states.Declarations, error) {
	declarations, diags := s.evaluated(ctx, c)
	if ctx.Err() != nil {
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	}
	if err := s.diagnose(c, diags); err != nil {
		return nil, err
	}
	declarations.SecretFiles = c.secrets.Digests()
	return declarations, nil
}

// evaluated evaluates a site for the host that was chosen, and prints nothing: so it
// may be called for several hosts at a time.
func (s *client) evaluated(ctx context.Context, c *site) (*states.Declarations, diag.List) {
	stop := s.limited()
	declarations, diags := c.lang.Evaluate(ctx, c.target)
	stop()
	if diags.HasErrors() && declarations != nil {
		diags = append(diags, graph.Cycles(declarations)...).Sorted()
	}
	return declarations, append(diags, rightVersion(c.lang, version())...)
}

// plan compiles declarations, and selects from the run.
func (s *client) plan(c *site, declarations *states.Declarations) error {
	diags, wrong := s.compiled(c, declarations)
	if err := s.diagnose(c, diags); err != nil {
		return err
	}
	return wrong
}

// compiled does what plan does, and prints nothing. The error is for wrong usage.
func (s *client) compiled(c *site, declarations *states.Declarations) (diags diag.List, err error) {
	stop := s.limited()
	c.result, diags = graph.Compile(declarations, graph.Options{Registry: c.registry()})
	stop()
	if diags.HasErrors() {
		return diags, nil
	}
	g := s.globals
	c.run = c.result.Run
	selection := graph.Selection{Targets: slices.Concat(c.targets, g.Target), Tags: g.Tags, Exclude: g.Exclude}
	if len(selection.Targets)+len(g.Tags)+len(g.Exclude) == 0 {
		return append(diags, s.usePrune(c)...), nil
	}
	if s.prune {
		return diags, usage("leave out one of them", "--prune is about the whole site, and --target, --tags and --exclude take a part of it")
	}
	run, found := c.result.Select(selection)
	if found.HasErrors() { // a wrong address is wrong usage, not a wrong site
		wrong := &status{code: exitUsage, err: found.Err()}
		if len(g.Target)+len(g.Exclude) > 0 {
			wrong.hint = "tenet compile lists the addresses"
		}
		return diags, wrong
	}
	c.run = run
	return append(diags, found...), nil
}

// source gives the text of a file that diagnostics may name.
func (c *site) source(file string) ([]byte, bool) {
	for _, f := range c.target.VarFiles {
		if f.Name == file {
			return f.Data, true
		}
	}
	if c.lang != nil {
		return c.lang.Source(file)
	}
	text, ok := c.texts[file]
	return text, ok
}

// line gives the source line of a place "file:line:column", or "".
func (c *site) line(place string) string {
	fields := strings.Split(place, ":")
	if len(fields) < 3 {
		return ""
	}
	number, err := strconv.Atoi(fields[len(fields)-2])
	if err != nil {
		return ""
	}
	return c.lines()(strings.Join(fields[:len(fields)-2], ":"), number)
}

// lines gives what finds the line of a place quickly, again and again.
func (c *site) lines() func(file string, number int) string {
	if c.saved != nil {
		_, line := machine.PlacesOf(c.saved)
		return line
	}
	split := map[string][]string{}
	return func(file string, number int) string {
		lines, known := split[file]
		if !known {
			text, _ := c.source(file)
			lines = strings.Split(string(text), "\n")
			split[file] = lines
		}
		if number < 1 || number > len(lines) {
			return ""
		}
		return strings.TrimSpace(lines[number-1])
	}
}
