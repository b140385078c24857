package states

import (
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// Declarations is everything that a site declares for one host, evaluated and
// flat: what a front-end hands to the planner. Its order is the order of
// declaration: files by name, within a file from top to bottom, instances of
// one declaration by key.
type Declarations struct {
	Site string // the site's name, empty when it has none
	Host string // the host's name
	List []Declaration
	// Empty lists the bases of declarations and parts whose for_each has no
	// element (state.h, state.a.file.x): references to them mean nothing, but
	// are no mistake.
	Empty []string
	// Moved tells the former addresses of what was renamed.
	Moved []Moved
	Prune bool // what the site has created and declares no longer is removed
	// Reconcile says how the host is kept so; nil: as usual.
	Reconcile *site.Reconcile
	// Cluster is the one that the host has joined; nil: none.
	Cluster *site.Membership
	// Telemetry says who is told what runs do; nil: nobody.
	Telemetry *site.Telemetry
	// Partial: other hosts of the site are the same machine.
	Partial bool
	// Secrets are the sensitive texts that values were computed from, sorted.
	// Whoever carries the run out masks them wherever they turn up.
	Secrets []string
	// SecretFiles are the digests of the encrypted files that secrets came from,
	// by path: what a run is made of changes with them.
	SecretFiles map[string]string
}

// Moved says that what had one address now has another.
type Moved struct {
	From  string     `json:"from"`
	To    string     `json:"to"`
	Range diag.Range `json:"-"`
}

// DeclarationKind tells states, runs and blocks apart.
type DeclarationKind int

// The kinds of declaration.
const (
	StateKind DeclarationKind = iota
	RunKind
	BlockKind
)

// Declaration is one state, run or block: one instance where it has for_each.
// A part at top level is a state of its own.
type Declaration struct {
	Kind    DeclarationKind
	Address string // state.NAME["key"], run.LABEL["key"], block.NAME["key"], TYPE.LABEL["key"]
	Base    string // the address without the instance key
	File    string // the source file, for the order of top-level parts
	Range   diag.Range
	Options Options
	Cluster string // the host has it by this cluster alone; empty: by other means

	// Rules.

	Node   *RuleNode
	Within []Ref // what has to have gone well before, though its handlers need not

	// States and runs.

	TopLevel   bool // the declaration is a part at top level
	Parallel   bool // the parts have no order of their own, but for their requires
	Lazy       bool // states: not invoked unless notified, required or run
	Defer      bool // states: at most once, in the tail
	NeedsRun   bool // states: a param has no default, so that only a run can invoke it
	ParamNames []string
	State      string // runs: the address or base of the state it invokes; none: it is of a rule
	Parts      []PartDeclaration

	// Blocks.

	// Component marks the block around all that a component declares.
	Component bool
	Members   []Ref
	Rescue    []Ref
	Always    []Ref
	Ordered   bool
	Recovered bool
}

// PartDeclaration is one part of a state or run.
type PartDeclaration struct {
	Address string         // within the state: TYPE.LABEL["key"]
	Base    string         // the address without the instance key
	Type    string         // the module
	Key     string         // Module.Key of the values
	Values  map[string]any // canonical, see Attribute.Normalize
	// Results are the attributes whose values depend on results: the host
	// computes them, and they are not in Values. If a key is among them, Key is
	// empty, and Paths holds only what is known.
	Results   map[string]*Expr
	Sensitive []string // attributes whose values are never shown, sorted
	Paths     []string // the paths that it touches, see Module.Paths
	Options   Options
	Act       NodeAct    // see Part.Act
	Range     diag.Range // the header: TYPE "LABEL"
	// Unknown are the attributes that were given, and whose values are not known: they are
	// wrong, or secrets that were not opened.
	Unknown []string `json:"-"`
}

// Ref names a declaration, or a part of one, in an option.
type Ref struct {
	Address string // a declaration's Address or Base
	Part    string // a part's Address or Base within it; empty: the whole
	Self    bool   // a part of the same invocation; Address is empty
	Range   diag.Range
}

// Text is the reference as the site writes it.
func (r Ref) Text() string {
	switch {
	case r.Self:
		return "self." + r.Part
	case r.Part != "":
		return r.Address + "." + r.Part
	}
	return r.Address
}

// Options are what every declaration and part may carry. The zero value is no
// option at all.
type Options struct {
	Require       []Ref
	Follows       []Ref
	Notify        []Ref
	NotifyFailure []Ref
	Listen        []Ref
	ListenFailure []Ref
	LeftOut       bool // when = false
	Doubtful      bool `json:"-"` // something was given that is wrong, or not known
	Guards        []GuardDeclaration
	Ensure        Ensure        // empty: not given
	Retry         *Retry        // nil: not given
	Become        string        // a user; empty: not given
	Timeout       time.Duration // 0: none
	IgnoreFailure bool
	Locks         []string // sorted, unique
	Sensitive     bool
	// Retain: what was declared stays where it is declared no longer, or inherits that it
	// shall be absent; or a number of it.
	Retain      Retention
	Tags        []string // sorted, unique
	Description string
	Confirm     *Confirm // blocks and components; nil: none
}

// GuardDeclaration is an only_if or unless block.
type GuardDeclaration struct {
	Unless      bool // otherwise only_if
	Exists      string
	Missing     string
	Command     []string
	WouldChange []Ref
	// Results are conditions that depend on results: "exists", "missing",
	// "command", and "when" for the option of that name.
	Results map[string]*Expr
	Range   diag.Range
}

// LateKey reports whether the part's key is known only on the host.
func (p *PartDeclaration) LateKey(m *Module) bool {
	for _, a := range m.Attributes {
		if a.Key && p.Results[a.Name] != nil {
			return true
		}
	}
	return false
}

// LatePath reports whether a path that the part touches, be it of a guard, is
// known only on the host.
func (p *PartDeclaration) LatePath(m *Module) bool {
	for _, a := range m.Attributes {
		if (a.Path || a.Within || a.Below) && p.Results[a.Name] != nil {
			return true
		}
	}
	return LateGuard(p.Options.Guards)
}

// LateGuard reports whether a path of a guard is known only on the host.
func LateGuard(guards []GuardDeclaration) bool {
	for _, g := range guards {
		if g.Results["exists"] != nil || g.Results["missing"] != nil {
			return true
		}
	}
	return false
}
