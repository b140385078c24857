// Package syntax is the tree that all front-ends make of their sources, and what
// may stand where in it. Its expressions are those of the HCL library; a
// front-end without expressions of its own gives literals.
package syntax

import (
	"slices"
	"sync/atomic"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// Body is what stands between braces, in either syntax.
type Body struct {
	Attributes []*Attribute // in order of position
	Blocks     []*Block     // in order of position; in JSON sorted by type and label
	// Unordered counts parts that JSON gives as properties of an object, which
	// has no order.
	Unordered int
	Src       hcl2.Range
}

// Attribute is NAME = EXPRESSION.
type Attribute struct {
	Name      string
	NameRange hcl2.Range
	Expr      *Expression
}

// Block is TYPE "LABEL"… { … }.
type Block struct {
	Type        string
	Labels      []string
	LabelRanges []hcl2.Range
	TypeRange   hcl2.Range
	Header      hcl2.Range // from the type to the last label
	Body        *Body
	// Calls are the calls of functions within which a script made the block,
	// innermost first: where its author may have to look.
	Calls []hcl2.Range
	// Instance is the key of one instance of what is declared: each stands in a
	// block of its own, instead of one for_each. Nil: none.
	Instance *string
	// Generate makes the parts of a state for the values of its params, where a
	// function does; nil: they stand in the body.
	Generate func(params map[string]cty.Value) (*Body, diag.List)
	// Hosts gives the hosts of a node of a rule, where a function does, of the values of a node that it takes; nil: an attribute does.
	Hosts func(values map[string]cty.Value) (cty.Value, error)
}

// Expression is an expression and what it needs from its surroundings, which
// linking finds out.
type Expression struct {
	hclsyntax.Expression
	Needs []Need
	Bad   bool // linking reported a mistake; it has no value
	// Indexed says that it holds an index whose key is computed.
	Indexed bool
	// SameForAllHosts says that its value depends on nothing but what it needs and the hosts of the
	// site: neither on a file nor on a secret, and on nothing around it.
	SameForAllHosts bool
	// Late is the first thing in it that is known only once a host is, or on it; nil: it is known
	// before, as far as what it needs is.
	Late *Late
	// Cache is what a fixed one that takes some work gave last; nil: it takes none.
	Cache *atomic.Pointer[CachedValue]
}

// Late is something that no expression may need which is evaluated before any host is known.
type Late struct {
	What string // "fact.os", "hosts()"
	Src  hcl2.Range
}

// CachedValue is what an expression gave while the hosts of the site were these, and so what they
// export and what is known of their facts.
type CachedValue struct {
	Hosts   *expr.HostLists
	Exports any
	Facts   any
	Value   cty.Value
	List    diag.List // what was found wrong
}

// Attribute gives the attribute of a name, or nil.
func (b *Body) Attribute(name string) *Attribute {
	i := slices.IndexFunc(b.Attributes, func(a *Attribute) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return b.Attributes[i]
}

// Range is that of the attribute's value.
func (a *Attribute) Range() hcl2.Range { return a.Expr.Range() }

// Need is a value that an expression uses.
type Need struct {
	Kind  string // "var", "local", "data", "fact", "ref", "result" or "varying"
	Name  string
	Ref   states.Ref
	Value cty.Value // of a result: what stands for it until the host knows it
	// Find gives what varies: what is named on a host with these roles.
	Find func(expr.Roles) (expr.Resolution, error)
	Src  hcl2.Range
}
