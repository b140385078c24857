// Package program evaluates what the files of a site declare, whatever language
// they are written in: it finds the declarations in their trees, links their
// names, and gives the declarations for a host.
package program

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	hcl2 "github.com/hashicorp/hcl/v2"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// Parser reads a file into a body of the shape, whose nesting is limited.
type Parser func(name string, src []byte, in *syntax.Shape, s *syntax.Shapes, limit int) (*syntax.Body, diag.List)

// Directory is one directory of sources: a site, or a component.
type Directory struct {
	// Name tells it from others: its path in the file system of Options.All.
	Name string
	FS   fs.FS // where its functions and sources find their files
	// Registry holds the modules that its sources may use; nil: that of the
	// Options.
	Registry *states.Registry
	Sources  []Source
	// Scripts are the sources that declare by running; nil: there are none.
	Scripts syntax.Scripts
	// Library reads files of functions that blocks "functions" name; nil: there
	// are none.
	Library syntax.Scripts
	// Problems are what is wrong with the scripts whatever the host.
	Problems diag.List
}

// Options say how a program is parsed. Registry and Parse are required.
type Options struct {
	Registry *states.Registry
	// All opens the files of all directories, as parts name them.
	All fs.FS
	// Open finds the directory of a component, by the source that a file in
	// another directory names. Nil: there are no components.
	Open func(from, source string) (*Directory, error)
	// Collection tells what is wrong with a collection that a directory names, and with which of its modules, if that is it. Nil: there
	// are no collections.
	Collection func(from, name string) (module string, err error)
	// Parse reads a file in one of the languages without a program: HCL.
	Parse      Parser
	MaxNesting int // 0: expr.DefaultMaxNesting

	countUses bool // see Unused
}

// Program is what the files of one directory declare. It does not change once
// it is made, and may be evaluated by several goroutines.
type Program struct {
	dir     *Directory
	options Options
	shapes  *syntax.Shapes
	names   *expr.Namespace
	// components are the programs of all directories that this one uses,
	// directly or not, by their names; the outermost program owns the map.
	components map[string]*Program
	// ancestors are the directories that led here, outermost first.
	ancestors []string

	declarations   []*declaration // in order of files and positions
	byBase         expr.Declared[*declaration]
	variables      expr.Declared[*variable]
	locals         expr.Declared[*local]
	data           expr.Declared[*dataDecl]
	documents      *documentCache
	values         []valueFile // vars.hcl and *.auto.hcl
	outputs        expr.Declared[*output]
	roles          map[string]*role
	roleConflicts  map[nameConflict]bool // that a role has by what it takes in
	hosts          []*hostDecl
	groups         []*groupDecl
	rollout        *rolloutDecl // nil: there is none
	inventories    []*inventoryDecl
	inventoryCache *inventoryCache
	// hostVariables are those that hosts use, and where the first one does.
	hostVariables map[string]hcl2.Range
	moved         []movedDecl
	libraries     map[string]*library // blocks "functions"
	collections   map[string]hcl2.Range

	name          string
	prune         bool
	reconcile     site.Reconcile
	telemetry     *site.Telemetry // nil: nobody is told
	requires      string
	requiresRange hcl2.Range
	signers       string
	signersRange  hcl2.Range
	bodies        []syntax.Script // of the sources, while they are evaluated anew
	siteRange     *hcl2.Range
	// telemetryRange is where telemetry is described; nil: nowhere.
	telemetryRange *hcl2.Range
	pruneRange     hcl2.Range
	secrets        []namedSecret // in all expressions, but those of scripts
	facts          []string      // that expressions name, but those of scripts
	broken         bool
	uses           *uses // nil: nobody asks
}

// valueFile gives values to variables.
type valueFile struct {
	name string
	body *syntax.Body
}

// Source is the text of a file of the site.
type Source struct {
	Name string // as messages name it: its path in Options.All
	Data []byte
}

// Parse makes a program of the files, in their order. All that is wrong
// whatever the host is in the list; the program holds what is right.
func Parse(dir *Directory, o Options) (*Program, diag.List) {
	return parseDirectory(dir, o, &Program{components: map[string]*Program{}})
}

// parseDirectory is Parse for a directory that the program from uses.
func parseDirectory(dir *Directory, o Options, from *Program) (*Program, diag.List) {
	o.MaxNesting = cmp.Or(o.MaxNesting, expr.DefaultMaxNesting)
	if dir.Registry != nil {
		o.Registry = dir.Registry
	}
	p := &Program{dir: dir, options: o, shapes: syntax.NewShapes(o.Registry), inventoryCache: &inventoryCache{}, documents: &documentCache{},
		roles: map[string]*role{}, components: from.components}
	p.ancestors = append(from.ancestors[:len(from.ancestors):len(from.ancestors)], dir.Name)
	p.names = expr.NewNamespace(func(name string) bool { return o.Registry.Lookup(name) != nil })
	p.names.Modules = o.Registry.Lookup
	if o.countUses {
		p.countUses()
	}
	d := &decoder{shapes: p.shapes, site: p}
	d.list.Add(dir.Problems...)
	p.broken = dir.Problems.HasErrors()
	for _, src := range dir.Sources {
		if b := d.parse(src); b != nil {
			p.facts = append(p.facts, factsIn(b)...)
			d.root(b, src.Name)
		}
	}
	d.list.Add(p.resolveRoles()...)
	if p.dir.Scripts == nil && !p.broken {
		p.checkRules(d)
		d.checkClusters()
	}
	if p.dir.Scripts != nil {
		d.staticSite()
		return p, d.list.Sorted() // each evaluation links what the scripts declare, too
	}
	// Where a file does not parse, what it declares is not known, and
	// references to it would look undefined.
	l := newLinker(p, p.broken)
	l.program()
	p.secrets = l.secrets
	d.list.Add(l.list...)
	return p, d.list.Sorted()
}

// parse reads a source. A file of values goes to the program; for it, and for
// one that does not parse, the body is nil.
func (d *decoder) parse(src Source) *syntax.Body {
	in := d.shapes.Root
	if isValues(src.Name) {
		in = syntax.ValuesShape()
	}
	b, list := d.site.options.Parse(src.Name, src.Data, in, d.shapes, d.site.options.MaxNesting)
	d.list.Add(list...)
	d.site.broken = d.site.broken || list.HasErrors()
	if b != nil && isValues(src.Name) {
		d.site.values = append(d.site.values, valueFile{src.Name, b})
		return nil
	}
	return b
}

// Broken reports whether a file did not parse. Then evaluation would report
// things that only seem to be missing.
func (p *Program) Broken() bool { return p.broken }

// Name is the site's name, empty when it has none.
func (p *Program) Name() string { return p.name }

// HasInventories reports whether the site names inventories, which may tell of hosts.
func (p *Program) HasInventories() bool { return len(p.inventories) > 0 }

// Signers is the file that says whose signatures of packages count, and where the site names it; empty: it demands none.
func (p *Program) Signers() (string, diag.Range) { return p.signers, rangeOf(p.signersRange) }

// Prune is the site's option prune.
func (p *Program) Prune() bool { return p.prune }

// RequiresVersion is the constraint on the version of the program, and where it
// stands; empty when the site has none.
func (p *Program) RequiresVersion() (string, diag.Range) { return p.requires, rangeOf(p.requiresRange) }

// rangeOf gives a range of the HCL library as ours.
func rangeOf(r hcl2.Range) diag.Range { return expr.Range(r) }

// isValues reports whether a file of that name gives values to variables:
// vars.hcl and *.auto.hcl, in both syntaxes.
func isValues(name string) bool {
	base := strings.TrimSuffix(path.Base(name), ".json")
	return base == "vars.hcl" || strings.HasSuffix(base, ".auto.hcl")
}
