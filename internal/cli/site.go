package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// localhost names a host that no site names.
const localhost = "localhost"

// site is a site that was loaded and compiled for this machine.
type site struct {
	lang    *lang.Site // nil: there is none, only a run
	sources fs.FS      // opens the files that parts name
	target  lang.Target
	result  *graph.Result
	run     *states.StateRun // what is selected of it
	host    *host.Local

	// What forget leaves of lang and result.
	places map[string]diag.Range
	texts  map[string][]string // the lines of source files
}

// forget lets go of what only compiling needs, which in a large site is most of
// its memory, before it is carried out.
func (c *site) forget() {
	c.places, c.texts = c.result.Sources, map[string][]string{}
	if c.lang != nil {
		for _, place := range c.places {
			if _, known := c.texts[place.File]; !known {
				src, _ := c.lang.Source(place.File)
				c.texts[place.File] = strings.Split(string(src), "\n")
			}
		}
	}
	c.lang, c.result = nil, nil
}

// openSite opens a site, a directory or one file of it. Nothing outside of the
// directory is read, symbolic links included.
func (s *session) openSite(path string) (*lang.Site, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err),
			hint: "give a directory with *.hcl files, or one such file"}
	}
	dir, options := path, lang.Options{Registry: modules.Standard()}
	if !info.IsDir() {
		dir, options.Files = filepath.Dir(path), []string{filepath.Base(path)}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &status{code: exitSite, err: fmt.Errorf("the site cannot be read: %w", err)}
	}
	// What Load finds is in the lists of For too, in order with the rest.
	loaded, _ := lang.Load(root.FS(), options)
	return loaded, nil
}

// compile loads, evaluates and plans a site, and selects from it.
func (s *session) compile(ctx context.Context, path string) (*site, error) {
	h, err := s.newHost()
	if err != nil {
		return nil, err
	}
	c := &site{host: h}
	if c.lang, err = s.openSite(path); err != nil {
		return nil, err
	}
	c.sources = c.lang.Files()
	if c.target, err = s.target(h); err != nil {
		return nil, err
	}
	declarations, diags := c.lang.For(ctx, c.target)
	diags = append(diags, rightVersion(c.lang, version())...)
	if err := s.diagnose(c, diags); err != nil {
		return nil, err
	}
	if err := s.plan(c, declarations); err != nil {
		return nil, err
	}
	return c, nil
}

// plan compiles declarations, and selects from the run.
func (s *session) plan(c *site, declarations *states.Declarations) error {
	var diags diag.List
	c.result, diags = graph.Compile(declarations, graph.Options{Registry: modules.Standard()})
	if err := s.diagnose(c, diags); err != nil {
		return err
	}
	g := s.globals
	c.run = c.result.Run
	if len(g.Target)+len(g.Tags)+len(g.Exclude) == 0 {
		return nil
	}
	c.run, diags = c.result.Select(graph.Selection{Targets: g.Target, Tags: g.Tags, Exclude: g.Exclude})
	if diags.HasErrors() { // a wrong address is wrong usage, not a wrong site
		return &status{code: exitUsage, err: diags.Err(), hint: "tenet compile lists the addresses"}
	}
	return s.diagnose(c, diags)
}

// source gives the text of a file that diagnostics may name.
func (c *site) source(file string) ([]byte, bool) {
	for _, f := range c.target.VarFiles {
		if f.Name == file {
			return f.Data, true
		}
	}
	if c.lang == nil {
		return nil, false
	}
	return c.lang.Source(file)
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
	return c.lineOf(strings.Join(fields[:len(fields)-2], ":"), number)
}

// lineOf gives a line of a source file, without space around it.
func (c *site) lineOf(file string, number int) string {
	lines := c.texts[file]
	if number < 1 || number > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[number-1])
}
