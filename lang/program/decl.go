package program

import (
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// declaration is a state, run, block or top-level part, as it stands in the
// source.
type declaration struct {
	kind     states.DeclarationKind
	base     string // its address within its directory, without an instance key
	file     string
	role     string     // the role that declares it; empty: it is every host's
	src      hcl2.Range // the header
	entry    *expr.Entry
	forEach  *syntax.Attribute
	options  []option
	guards   []guard
	parallel *syntax.Attribute
	lazy     *syntax.Attribute
	deferred *syntax.Attribute

	// States, and top-level parts, which hold one part.
	topLevel bool
	handler  bool // a handler, or a top-level part whose type is lazy by itself
	params   []*param
	parts    []*part

	// Runs.
	state *syntax.Attribute
	args  *syntax.Attribute

	// Blocks: each list is an attribute, or what is declared inline.
	members, rescue, always refList
	ordered, recovered      *syntax.Attribute

	// Components: args are the values of its variables.
	component *Program
	// generate makes the parts of a state for the values of its params, where a
	// script's function does.
	generate func(params map[string]cty.Value) (*syntax.Body, diag.List)
	rule     *ruleDecl // nil: it is no rule
	// key is the instance that a script declares, nil if it declares none. All
	// those of one base stand in group of the first.
	key   *string
	group []*declaration
	keys  map[string]bool  // of the group
	names map[string]*part // see named
	calls []hcl2.Range     // see syntax.Block.Calls

	// inline says that the declaration stands within a block.
	inline bool
}

// Owner is the role that declares it.
func (d *declaration) Owner() string { return d.role }

// refList is a list of references that is given as an attribute, or by the
// declarations that stand in its place.
type refList struct {
	attr   *syntax.Attribute
	inline []states.Ref
}

// option is an option that is given.
type option struct {
	*expr.Option
	attr *syntax.Attribute
}

// guard is an only_if or unless block.
type guard struct {
	unless                                bool
	src                                   hcl2.Range
	exists, missing, command, wouldChange *syntax.Attribute
}

// part is TYPE "LABEL" { … }.
type part struct {
	module     *states.Module
	label      string
	base       string
	src        hcl2.Range // the header
	forEach    *syntax.Attribute
	options    []option
	guards     []guard
	attributes []*syntax.Attribute
	doubtful   bool // something in it is unknown: what seems to be missing may be there
	key        *string
	calls      []hcl2.Range
}

// param is a parameter of a state.
type param struct {
	name string
	src  hcl2.Range

	convert *expr.Variable    // converts values to the type
	attr    *syntax.Attribute // the default; nil: none
}

// variable is a variable as it stands in the source.
type variable struct {
	*expr.Variable
	role        string
	attr        *syntax.Attribute // the default; nil: none
	typ         *syntax.Attribute // nil: any
	doubtful    bool              // something in it is unknown
	validations []validation
	byScript    bool
}

// Owner is the role that declares it.
func (v *variable) Owner() string { return v.role }

type validation struct {
	condition, message *syntax.Expression
	src                hcl2.Range
}

// local is one line of locals.
type local struct {
	name string
	role string
	src  hcl2.Range
	expr *syntax.Expression
}

// Owner is the role that declares it.
func (l *local) Owner() string { return l.role }
