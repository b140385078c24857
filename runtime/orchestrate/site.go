// Package orchestrate brings machines into the state that a site declares: each is asked
// for its facts, the site is evaluated for it, and a fleet has the jobs carried out.
package orchestrate

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/secrets"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/states"
)

// Site is a loaded site, and what is wanted of it. It may be used by several goroutines.
type Site struct {
	*lang.Site
	// Target is what all machines have in common: variables, environment, secrets. Its Host
	// and its Facts are set for each.
	Target lang.Target
	Origin string // where the site lies, for records
	// Selection is what part of the site is wanted; the zero value: all of it.
	Selection graph.Selection
	Prune     bool // remove what the site has created and declares no longer
	// AllowEmpty lets rules that select nothing any more delete all that they have made.
	AllowEmpty bool
	// SecretFiles gives the digests of the files of secrets that were opened; nil: none is.
	SecretFiles func() map[string]string
	// Limit limits what cannot be cancelled, such as an evaluation, until stop is called;
	// nil: nothing does.
	Limit func() (stop func())
}

// Compilation is a site for one machine.
type Compilation struct {
	Result *graph.Result
	Run    *states.StateRun // what is selected of it
	// Unknown says what of the selection the machine does not have, where other machines may have it.
	Unknown diag.List
	site    *Site
	texts   map[string][]byte // of the files that declarations are in
}

// SelectionError says that something is selected that the site does not have for the
// machine.
type SelectionError struct{ List diag.List }

// Error gives the first reason.
func (e *SelectionError) Error() string { return e.List.Err().Error() }

// Unwrap gives the diagnostics.
func (e *SelectionError) Unwrap() error { return e.List.Err() }

// Compile evaluates the site for one machine, and plans it. Facts gives the machine's, by
// their names. Where the list has errors there is nothing else; the error is a
// *SelectionError.
func (s *Site) Compile(ctx context.Context, host string, facts func(name string) (any, error)) (*Compilation, diag.List, error) {
	d, diags := s.evaluate(ctx, host, facts)
	if diags.HasErrors() || ctx.Err() != nil {
		return nil, diags, context.Cause(ctx)
	}
	c := &Compilation{site: s, texts: map[string][]byte{}}
	for i := range d.List {
		file := d.List[i].Range.File
		if _, known := c.texts[file]; !known {
			c.texts[file], _ = s.Source(file)
		}
	}
	stop := s.limit()
	result, found := graph.Compile(d, graph.Options{Registry: s.Registry()})
	stop()
	diags = append(diags, found...)
	if found.HasErrors() {
		return nil, diags, nil
	}
	c.Result, c.Run = result, result.Run
	if s.selects() {
		if s.Selection.Elsewhere {
			c.Unknown = result.Unknown(s.Selection)
		}
		run, found := result.Select(s.Selection)
		if found.HasErrors() {
			return c, diags, &SelectionError{found}
		}
		c.Run = run
		s.allowEmpty(c)
		return c, append(diags, found...), nil
	}
	s.allowEmpty(c)
	return c, append(diags, s.prune(c)...), nil
}

// evaluate evaluates the site for one machine.
func (s *Site) evaluate(ctx context.Context, host string, facts func(name string) (any, error)) (*states.Declarations, diag.List) {
	t := s.Target
	t.Host, t.Facts = host, facts
	used := &usedSecrets{get: t.Secrets, files: map[string]bool{}}
	if t.Secrets != nil {
		t.Secrets = used.value
	}
	stop := s.limit()
	d, diags := s.Site.Evaluate(ctx, t)
	stop()
	if diags.HasErrors() {
		if d != nil {
			diags = append(diags, graph.Check(d, graph.Options{Registry: s.Registry()})...).Sorted()
		}
		return nil, diags
	}
	if s.SecretFiles != nil {
		d.SecretFiles = used.digests(s.SecretFiles())
	}
	return d, diags
}

func (s *Site) limit() (stop func()) {
	if s.Limit == nil {
		return func() {}
	}
	return s.Limit()
}

func (s *Site) selects() bool {
	return len(s.Selection.Targets)+len(s.Selection.Tags)+len(s.Selection.Exclude) > 0
}

// prune makes the run one that removes what is no longer declared, if that is wanted.
func (s *Site) prune(c *Compilation) diag.List {
	if !s.Prune || c.Run.Prune {
		return nil
	}
	if c.Run.Site == "" {
		return diag.List{{Severity: diag.Warning, Summary: "--prune has no effect on a site without a name",
			Detail: "What a site has created is known by its name.", Hint: `add site { name = "…" }`}}
	}
	run := *c.Run
	run.Prune = true
	run.Revision = graph.Revision(&run)
	c.Run = &run
	return nil
}

// allowEmpty makes a run with rules one in which those that select nothing any more delete all that they have made.
func (s *Site) allowEmpty(c *Compilation) {
	if !s.AllowEmpty || len(c.Run.Comparisons()) == 0 {
		return
	}
	run := *c.Run
	run.AllowEmpty = true
	run.Revision = graph.Revision(&run)
	c.Run = &run
}

// Job is what the site is for the machine. Who gives it to one adds what is not of the site.
func (c *Compilation) Job() *machine.Job {
	texts := c.texts // the job outlives the rest
	j := &machine.Job{
		Run: c.Run, Registry: c.site.Registry(), Files: c.site.Files(), Origin: c.site.Origin,
		Places: c.Result.Sources, Line: Lines(func(file string) string { return string(texts[file]) }),
	}
	for _, m := range c.site.ModuleFiles() {
		j.Modules = append(j.Modules, machine.Modules(m))
	}
	return j
}

// Lines gives what finds the line of a file, without space around it, quickly again and
// again; empty where there is none. Text gives that of a file.
func Lines(text func(file string) string) func(file string, number int) string {
	var mu sync.Mutex
	split := map[string][]string{}
	return func(file string, number int) string {
		mu.Lock()
		defer mu.Unlock()
		lines, known := split[file]
		if !known {
			lines = strings.Split(text(file), "\n")
			split[file] = lines
		}
		if number < 1 || number > len(lines) {
			return ""
		}
		return strings.TrimSpace(lines[number-1])
	}
}

// usedSecrets notes which files of secrets one machine needs.
type usedSecrets struct {
	get   func(name string) (string, error)
	mu    sync.Mutex
	files map[string]bool
}

func (u *usedSecrets) value(name string) (string, error) {
	if file, _, err := secrets.Locate(name); err == nil {
		u.mu.Lock()
		u.files[file] = true
		u.mu.Unlock()
	}
	return u.get(name)
}

// digests leaves out the files that only other machines need.
func (u *usedSecrets) digests(all map[string]string) map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	own := maps.Clone(all)
	maps.DeleteFunc(own, func(file, _ string) bool { return !u.files[file] })
	return own
}
