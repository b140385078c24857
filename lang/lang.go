// Package lang turns the sources of a site into declarations. It works in two
// phases: Load reads and checks everything that can be known without a host,
// and Site.Evaluate evaluates it for one host.
//
// The package reads through the given fs.FS alone, prints nothing and keeps
// no state of its own; a Site may be used by several goroutines.
package lang

import (
	"context"
	"io/fs"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/hcl"
	"github.com/tenetcm/tenet/lang/program"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/star"
	"github.com/tenetcm/tenet/states"
)

// DefaultMaxNesting is how deep brackets, operators and conditionals may nest
// in a source.
const DefaultMaxNesting = expr.DefaultMaxNesting

// Options say how a site is loaded. Registry is required.
type Options struct {
	// Registry holds the modules that the site may use beside its own.
	Registry *states.Registry
	// Files limits the site to these files of its root; nil: all of them.
	Files []string
	// Standard holds the components that "std/NAME" means, each a directory;
	// nil: those of package stdlib.
	Standard fs.FS
	// OpenOutside opens the directory of a component that is outside of the site,
	// by its path from the site's directory: "../common/nginx". Nil: a site
	// reads nothing outside of itself.
	OpenOutside func(path string) (fs.FS, error)
	// OpenPackage opens the package that a source stands for: see IsPackage. It is asked once for each. Nil: there are none.
	OpenPackage func(source string) (*Package, error)
	// CheckSigner is an error unless a file of the site, of allowed signers, has whoever has signed a package. Nil: any signature counts.
	CheckSigner func(file, signer string) error
	// MaxNesting is how deep brackets, operators and conditionals may nest;
	// 0: DefaultMaxNesting.
	MaxNesting int
	// MaxSteps ends the scripts of a directory that take more steps for one
	// host; 0: DefaultMaxSteps.
	MaxSteps uint64
}

// DefaultMaxSteps is how many steps the scripts of one directory may take for
// one host.
const DefaultMaxSteps = star.DefaultMaxSteps

// What a site is evaluated for; see the types of the same name in lang/expr.
type (
	Target         = expr.Target
	VarFile        = expr.VarFile
	Var            = expr.Var
	DataFile       = expr.DataFile
	VariableValue  = expr.VariableValue
	VariableSource = expr.VariableSource
	OutputValue    = expr.OutputValue
	FunctionDoc    = expr.FunctionDoc
	Host           = site.Host
	Role           = site.Role
	Cluster        = site.Cluster
	Rollout        = site.Rollout
	Stage          = site.Stage
	Hook           = site.Hook
	HookRun        = expr.HookRun
	HostFacts      = expr.HostFacts
	HostFact       = expr.HostFact
	HostFactValue  = expr.HostFactValue
	Amount         = site.Amount
)

// NewHostFacts takes what asks hosts for facts, all at once; see Target.HostFacts. A fact that it gives no
// answer for is an error where it is named.
func NewHostFacts(ask func(ctx context.Context, wanted []HostFact) map[HostFact]HostFactValue) *HostFacts {
	return expr.NewHostFacts(ask)
}

// Site is a loaded site.
type Site struct {
	files   *directories
	program *program.Program
	options program.Options
	list    diag.List // of Load
	broken  bool      // a file could not be read or parsed
}

// Evaluate evaluates the site for one target. Mistakes that Load found are in the
// list too, together with all that evaluation finds, so that one run can report
// everything. When the list holds an error the Declarations are nil or
// incomplete, and good for nothing but looking for more mistakes.
func (s *Site) Evaluate(ctx context.Context, t Target) (*states.Declarations, diag.List) {
	if s.broken {
		return nil, s.list
	}
	d, found := s.program.Evaluate(ctx, t)
	list := append(s.list[:len(s.list):len(s.list)], found...).Sorted()
	return d, list
}

// Diagnostics lists the mistakes that Load has found, whatever the target.
func (s *Site) Diagnostics() diag.List { return s.list }

// Variables evaluates the site's variables for one target, sorted by name. A
// variable without a usable value is left out; the list says why.
func (s *Site) Variables(ctx context.Context, t Target) ([]VariableValue, diag.List) {
	if s.broken {
		return nil, s.list
	}
	return s.program.Variables(ctx, t)
}

// Outputs evaluates what the site gives as a component, sorted by name.
func (s *Site) Outputs(ctx context.Context, t Target) ([]OutputValue, diag.List) {
	if s.broken {
		return nil, s.list
	}
	return s.program.Outputs(ctx, t)
}

// HasOutputs reports whether hosts of the site may give outputs to others.
func (s *Site) HasOutputs() bool { return !s.broken && s.program.HasOutputs() }

// Source gives the text of a file that was read for the site, for snippets:
// its own sources, and any text file of the site, such as a template.
func (s *Site) Source(file string) ([]byte, bool) {
	return s.files.source(file)
}

// Hosts gives the hosts that the site declares, in the order of declaration,
// and the names of their groups; none where the site is for one machine.
func (s *Site) Hosts(ctx context.Context, t Target) (hosts []Host, groups []string, list diag.List) {
	if s.broken {
		return nil, nil, s.list
	}
	return s.program.Hosts(ctx, t)
}

// Clusters gives the clusters of the site, in the order of declaration.
func (s *Site) Clusters(ctx context.Context, t Target) ([]Cluster, diag.List) {
	if s.broken {
		return nil, s.list
	}
	return s.program.Clusters(ctx, t)
}

// HasInventories reports whether the site names inventories, which may tell of hosts.
func (s *Site) HasInventories() bool { return !s.broken && s.program.HasInventories() }

// Rollout gives the site's rollout for the hosts that are meant, nil for all: its
// stages hold no others, and those without one are left out. It is nil where the site
// has none.
func (s *Site) Rollout(ctx context.Context, t Target, hosts []Host) (*Rollout, diag.List) {
	if s.broken {
		return nil, s.list
	}
	return s.program.Rollout(ctx, t, hosts)
}

// ParseBatch reads the batches of a rollout, such as "1,10%,100%".
func ParseBatch(text string) ([]Amount, error) { return site.ParseBatch(text) }

// ParseAmount reads a number of hosts or a share of them, such as "3" or "20%".
func ParseAmount(text string) (Amount, error) { return site.ParseAmount(text) }

// AllFacts is the name that FactNames gives where any fact may be asked for.
const AllFacts = program.AllFacts

// FactNames lists, sorted, the top-level facts that an evaluation of the site may
// ask for, whatever the host: those that its sources name, with all components,
// and home, which "~" stands for. There may be some that are never asked for, and
// names that are no facts. Where it cannot be seen which they are, as in a script that
// computes their names, it is AllFacts alone.
func (s *Site) FactNames() []string {
	if s.broken {
		return []string{AllFacts}
	}
	return s.program.FactNames()
}

// Roles describes the roles that the site declares, sorted by name.
func (s *Site) Roles(ctx context.Context, t Target) ([]Role, diag.List) {
	if s.broken {
		return nil, s.list
	}
	return s.program.Roles(ctx, t)
}

// CheckNames reports the names of which one of these hosts of the site has two, by its roles, as far
// as they are declared without a script. An evaluation says the same of its host.
func (s *Site) CheckNames(hosts []Host) diag.List {
	if s.broken {
		return nil
	}
	return s.program.CheckNames(hosts)
}

// Signers is the file of the site that says whose signatures of packages count; empty: it demands none.
func (s *Site) Signers() string {
	name, _ := s.program.Signers()
	return name
}

// Name is the site's name, empty when it has none.
func (s *Site) Name() string { return s.program.Name() }

// DataFile is the file of a document that the site declares by its path. The error is a *diag.HintError.
func (s *Site) DataFile(name string) (string, error) { return s.program.DataFile(name) }

// Prune reports whether the site asks for the removal of what it no longer
// declares.
func (s *Site) Prune() bool { return s.program.Prune() }

// RequiresVersion is the site's constraint on the version of tenet, and its
// place; empty when it has none.
func (s *Site) RequiresVersion() (string, diag.Range) { return s.program.RequiresVersion() }

// Registry holds the modules that the site may use: those of the Options, and
// those that the site and its components bring along. What plans or carries out
// the site's declarations needs it.
func (s *Site) Registry() *states.Registry { return s.files.registry() }

// Files is the file system that the site was loaded from, with the directories
// of its components: it opens what parts name as their sources.
func (s *Site) Files() fs.FS { return s.files }

// Functions describes the functions of the language, sorted by name.
func Functions() []FunctionDoc { return expr.FunctionDocs() }

// SelectHosts gives the hosts that a pattern names, such as "web*,!web3,@db". The
// error has a hint, see diag.HintOf.
func SelectHosts(hosts []Host, groups []string, pattern string) ([]Host, error) {
	return site.SelectHosts(hosts, groups, pattern)
}

// Orders lists the orders in which hosts may take their turns.
func Orders() []string { return site.Orders() }

// SourceNames lists the files that were read as sources of the site, sorted: its
// own, and those of its components and scripts in directories below. Components
// that scripts name are known only once the site is evaluated.
func (s *Site) SourceNames() []string { return s.files.names() }

// Components lists the directories of the components that were read for the site, as Files
// names them, sorted. Components that scripts name are known only once the site is evaluated.
func (s *Site) Components() []string { return s.files.components() }

// Format rewrites a file, in the language that its name tells, in the canonical
// layout: white space and nothing that has a meaning. JSON is left as it is, and a
// file that does not parse is not touched: the list says why.
func Format(filename string, src []byte) ([]byte, diag.List) {
	if star.IsSource(filename) {
		return star.Format(filename, src)
	}
	return hcl.Format(filename, src)
}
