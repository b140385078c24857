package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/orchestrate"
	"github.com/tenetcm/tenet/states"
	"github.com/tenetcm/tenet/stdlib"
)

// localhost names a host that no site names.
const localhost = "localhost"

// site is a site that was loaded.
type site struct {
	*orchestrate.Site
	host    *host.Local // this machine
	secrets *secrets.Store
	// declared is the host of the site that is meant; nil where it declares none.
	declared *lang.Host
	far      *remoteFacts // that the host itself tells; nil: it is this machine
	asker    *factAsker   // for facts of its hosts
}

// siteAt refuses what cannot be a site: nothing, a saved plan, or a file of another
// kind.
func siteAt(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, newStatus(exitSite, fmt.Errorf("the site cannot be read: %w", err), "give a directory with *.hcl or *.star files, or one such file")
	case info.IsDir() || lang.IsSource(filepath.Base(path)):
		return info, nil
	case isPlanFile(path):
		return nil, usage("tenet show FILE shows it, and tenet apply FILE does what it says", "%s is a saved plan, and this is for a site", path)
	}
	if err := readable(path, info); err != nil {
		return nil, newStatus(exitSite, err, "a saved plan is for who made it alone: look as that user")
	}
	return nil, newStatus(exitSite, fmt.Errorf("%s is no source of a site, and no saved plan", path),
		"a source is a file named *.hcl, *.hcl.json or *.star; a plan that is damaged is to be fetched or made again")
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
		at := filepath.Join(dir, filepath.FromSlash(path))
		outside, err := os.OpenRoot(at)
		if err != nil {
			s.recording().refuse()
			return nil, err
		}
		return s.recording().directory(at, outside, siteFiles(ctx, outside)), nil
	}
	files := s.recording().directory(dir, root, siteFiles(ctx, root))
	options.OpenPackage, options.CheckSigner = s.openPackages(files), packages.CheckSigner(files)
	defer s.limitEvaluation()()
	// What Load finds is in the lists of For too, in order with the rest.
	loaded, _ := lang.Load(files, options)
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

// compile loads, evaluates and plans a site for one host, and selects from it.
func (s *client) compile(ctx context.Context, path string) (*site, *orchestrate.Compilation, error) {
	c, err := s.load(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if err := s.choose(ctx, c); err != nil {
		return nil, nil, err
	}
	compiled, err := s.compileFor(ctx, c)
	return c, compiled, c.silence(err)
}

// compileFor does the same with a site that is loaded, and whose host is chosen.
func (s *client) compileFor(ctx context.Context, c *site) (*orchestrate.Compilation, error) {
	compiled, diags, wrong := s.compileHost(ctx, c, c.Target.Host, c.Target.Facts)
	if ctx.Err() != nil {
		return nil, &status{code: exitInterrupted, err: errInterrupted}
	}
	if err := s.diagnose(c, diags); err != nil {
		return nil, err
	}
	return compiled, wrong
}

// wrongSelection is the error for --target and its like.
func (s *client) wrongSelection(list diag.List) error {
	hint := ""
	if len(s.globals.Target)+len(s.globals.Exclude) > 0 {
		hint = "tenet compile lists the addresses"
	}
	return newStatus(exitUsage, list.Err(), hint)
}

// compileHost does what compileFor does, and prints nothing: so it may be called for several
// hosts at a time. The error is for wrong usage.
func (s *client) compileHost(ctx context.Context, c *site, host string, facts func(name string) (any, error)) (*orchestrate.Compilation, diag.List, error) {
	version := rightVersion(c.Site.Site, version())
	compiled, diags, err := c.Compile(ctx, host, facts)
	diags = append(diags, version...)
	if selection, ok := errors.AsType[*orchestrate.SelectionError](err); ok { // a wrong address is wrong usage, not a wrong site
		err = s.wrongSelection(selection.List)
	}
	return compiled, diags, err
}

// forHost gives the site for one of its hosts.
func (c *site) forHost(h *lang.Host) *site {
	one, own := *c, *c.Site
	one.Site, one.declared = &own, h
	one.Target.Host = h.Name
	return &one
}

// siteOf makes a site of what was loaded.
func (s *client) siteOf(loaded *lang.Site, h *host.Local) (*site, error) {
	g := s.globals
	c := &site{host: h, Site: &orchestrate.Site{
		Site: loaded, Prune: s.prune, AllowEmpty: s.allowEmpty, Limit: s.limitEvaluation,
		Selection: graph.Selection{Targets: g.Target, Tags: g.Tags, Exclude: g.Exclude},
	}}
	if s.prune && len(g.Target)+len(g.Tags)+len(g.Exclude) > 0 {
		return nil, usage("leave out one of them", "--prune is about the whole site, and --target, --tags and --exclude take a part of it")
	}
	return c, nil
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
	loaded, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	c, err := s.siteOf(loaded, h)
	if err != nil {
		return nil, err
	}
	if c.Origin, err = originOf(path); err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err)}
	}
	if c.Target, err = s.target(h); err != nil {
		return nil, err
	}
	s.useInventories(c)
	if err := s.useSecrets(ctx, c, path); err != nil {
		return c, err
	}
	s.useOutputs(c)
	s.useHostFacts(c)
	s.recording().recordTarget(c)
	return c, nil
}

// source gives the text of a file that diagnostics may name.
func (c *site) source(file string) ([]byte, bool) {
	for _, f := range c.Target.VarFiles {
		if f.Name == file {
			return f.Data, true
		}
	}
	for _, f := range c.Target.Data {
		if f.File == file {
			return f.Data, true
		}
	}
	return c.Source(file)
}

// placeLine gives what finds the source line of a place "file:line:column"; empty where
// there is none.
func placeLine(line func(file string, number int) string) func(place string) string {
	return func(place string) string {
		fields := strings.Split(place, ":")
		if len(fields) < 3 || line == nil {
			return ""
		}
		number, err := strconv.Atoi(fields[len(fields)-2])
		if err != nil {
			return ""
		}
		return line(strings.Join(fields[:len(fields)-2], ":"), number)
	}
}

// siteLine gives the lines of a site's files.
func (c *site) siteLine() func(file string, number int) string {
	return orchestrate.Lines(func(file string) string {
		text, _ := c.source(file)
		return string(text)
	})
}
