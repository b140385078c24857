package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// session is one run of the program.
type session struct {
	Environment
	globals *Globals
	model   *kong.Application
}

// site is a site that was loaded and compiled for this machine.
type site struct {
	lang   *lang.Site
	target lang.Target
	result *graph.Result
	run    *states.StateRun // what is selected of it
	host   *host.Local
}

// getenv gives an environment variable, or "".
func (s *session) getenv(name string) string {
	for i := len(s.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(s.Environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// terminal gives the width of a terminal, and whether w is one.
func terminal(w any) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return width, true
}

// color reports whether text on w is coloured.
func (s *session) color(w any) bool {
	_, tty := terminal(w)
	return tty && !s.globals.NoColor && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

// print writes data to standard output.
func (s *session) print(args ...any) error {
	_, err := fmt.Fprintln(s.Out, args...)
	return failed(err)
}

// printJSON writes one indented JSON value to standard output.
func (s *session) printJSON(v any) error {
	e := json.NewEncoder(s.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return failed(e.Encode(v))
}

// newHost opens the machine.
func (s *session) newHost() (*host.Local, error) {
	h, err := host.NewLocal(host.LocalOptions{Root: s.globals.Root})
	return h, failed(err)
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
	loaded, diags := lang.Load(root.FS(), options)
	return loaded, s.diagnose(loaded, diags)
}

// diagnose prints diagnostics, and gives an error if one of them is.
func (s *session) diagnose(loaded *lang.Site, diags diag.List) error {
	source := func(string) ([]byte, bool) { return nil, false }
	if loaded != nil {
		source = loaded.Source
	}
	return s.show(diags, source)
}

// diagnoseText prints diagnostics about one text.
func (s *session) diagnoseText(name string, src []byte, diags diag.List) error {
	return s.show(diags, func(file string) ([]byte, bool) { return src, file == name })
}

func (s *session) show(diags diag.List, source func(string) ([]byte, bool)) error {
	if len(diags) == 0 {
		return nil
	}
	var err error
	if s.globals.JSON {
		e := json.NewEncoder(s.Err)
		e.SetEscapeHTML(false)
		for _, d := range diags {
			err = errors.Join(err, e.Encode(struct {
				Type string `json:"type"`
				diag.Diagnostic
			}{"diagnostic", d}))
		}
	} else {
		o := diag.WriteOptions{Color: s.color(s.Err), Source: source}
		if width, tty := terminal(s.Err); tty {
			o.Width = width
		}
		err = diag.Write(s.Err, diags, o)
	}
	if diags.HasErrors() {
		return &status{code: exitSite}
	}
	return failed(err)
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
	if c.target, err = s.target(h); err != nil {
		return nil, err
	}
	declarations, diags := c.lang.For(ctx, c.target)
	if err := s.diagnose(c.lang, diags); err != nil {
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
	if err := s.diagnose(c.lang, diags); err != nil {
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
	return s.diagnose(c.lang, diags)
}

// target is this machine, with the values that the command line gives.
func (s *session) target(h host.Host) (lang.Target, error) {
	t := lang.Target{Host: "localhost", Environment: map[string]string{}}
	facts, err := s.facts(h)
	if err != nil {
		return t, err
	}
	t.Facts = facts.Fact
	for _, entry := range s.Environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "TENET_VAR_") {
			t.Environment[strings.TrimPrefix(name, "TENET_VAR_")] = value
		}
	}
	for _, name := range s.globals.VarFile {
		data, err := os.ReadFile(name)
		if err != nil {
			return t, usage("", "--var-file: %w", err)
		}
		t.VarFiles = append(t.VarFiles, lang.VarFile{Name: name, Data: data})
	}
	for _, entry := range s.globals.Var {
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return t, usage("write --var NAME=VALUE", "--var %s: there is no value", strconv.Quote(entry))
		}
		t.Vars = append(t.Vars, lang.Var{Name: name, Value: value})
	}
	return t, nil
}

// facts are the machine's, or those of --facts.
func (s *session) facts(h host.Host) (*host.Facts, error) {
	if s.globals.Facts == "" {
		return host.NewFacts(h, nil), nil
	}
	f, err := os.Open(s.globals.Facts)
	if err != nil {
		return nil, usage("", "--facts: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.UseNumber()
	var given map[string]any
	if err := d.Decode(&given); err != nil {
		return nil, usage("", "--facts: %s is no JSON object: %w", s.globals.Facts, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, usage("", "--facts: %s holds more than one JSON value", s.globals.Facts)
	}
	return host.NewFacts(h, given), nil
}

// stateDir is where the records of runs are kept.
func (s *session) stateDir() (string, error) {
	switch {
	case s.globals.StateDir != "":
		return filepath.Abs(s.globals.StateDir)
	case s.globals.Root != "" && s.globals.Root != "/":
		return filepath.Join(s.globals.Root, "var/lib/tenet"), nil
	case os.Geteuid() == 0:
		return "/var/lib/tenet", nil
	case s.getenv("XDG_STATE_HOME") != "":
		return filepath.Join(s.getenv("XDG_STATE_HOME"), "tenet"), nil
	case s.getenv("HOME") != "":
		return filepath.Join(s.getenv("HOME"), ".local/state/tenet"), nil
	}
	return "", usage("give --state-dir DIR", "there is no HOME to keep the records of runs in")
}

// files is the site's file system, for sources; nil without a site.
func (c *site) files() fs.FS {
	if c.lang == nil {
		return nil
	}
	return c.lang.Files()
}

// line gives the source line of a place "file:line:column", or "".
func (c *site) line(place string) string {
	fields := strings.Split(place, ":")
	if c.lang == nil || len(fields) < 3 {
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
	split := map[string][]string{}
	return func(file string, number int) string {
		lines, known := split[file]
		if !known && c.lang != nil {
			src, _ := c.lang.Source(file)
			lines = strings.Split(string(src), "\n")
			split[file] = lines
		}
		if number < 1 || number > len(lines) {
			return ""
		}
		return strings.TrimSpace(lines[number-1])
	}
}
