package states

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
)

// Expr is an expression over results: over what parts before have left on the
// host, or over the result of the part's own act. It is plain data, so that a
// host can evaluate it without a site; what does not depend on results is
// folded into literals. Nodes are made by New and are not changed after it, so
// that expressions may share them.
//
// The fields have a meaning for some kinds only, see ExprKind.
type Expr struct {
	Kind      ExprKind
	Name      string     // of a function, operator, attribute or local name
	Args      []*Expr    // operands
	Value     any        // canonical plain data
	Type      string     // a cty type as JSON; empty: the one that the value implies
	Sensitive bool       // the literal is never shown
	Flag      bool       // call: the last argument is expanded; for: values are grouped; ref: of all instances, by key
	Item      int        // splat: the number of its item
	Ref       Ref        // the part, as declared
	Host      string     // the one whose output it is
	From      []string   // the part's addresses in the run, in its order: the last that has a result counts
	Resolved  bool       // From says where the result comes from, though it be empty
	Range     diag.Range // where it stands in the sources; not a part of the data

	depth, weight int
	open          bool
}

// ExprKind says what a node is.
type ExprKind string

// The kinds of node, and the JSON that they are written as.
const (
	ExprLiteral  ExprKind = "value"    // {"value": V, "type"?: T, "sensitive"?: true}
	ExprRef      ExprKind = "ref"      // {"ref": ADDRESS, "attribute": NAME, "from"?: [ADDRESS]}
	ExprResult   ExprKind = "result"   // {"result": true}: of the part's own act
	ExprOutput   ExprKind = "output"   // {"output": NAME, "host": HOST, "type"?: T, "sensitive"?: true}: what another host gives
	ExprCall     ExprKind = "call"     // {"call": NAME, "args": […], "expand"?: true}
	ExprOperator ExprKind = "operator" // {"operator": SIGN, "args": [one or two]}
	ExprGet      ExprKind = "get"      // {"get": NAME, "of": E}
	ExprIndex    ExprKind = "index"    // {"index": [COLLECTION, KEY]}
	ExprIf       ExprKind = "if"       // {"if": [CONDITION, THEN, ELSE]}
	ExprFor      ExprKind = "for"      // {"for": [COLLECTION, KEY or null, EACH, CONDITION or null], "name": N, "group"?: true}
	ExprLocal    ExprKind = "local"    // {"local": "v0"}: a name that a for gives, "k" and "v" with its number
	ExprTemplate ExprKind = "template" // {"template": […]}: pieces of text
	ExprJoin     ExprKind = "join"     // {"join": E}: a tuple's elements as one text
	ExprObject   ExprKind = "object"   // {"object": [KEY, E, KEY, E, …]}
	ExprTuple    ExprKind = "tuple"    // {"tuple": […]}
	ExprSplat    ExprKind = "splat"    // {"splat": [SOURCE, EACH], "item": N}
	ExprItem     ExprKind = "item"     // {"item": N}
	ExprConvert  ExprKind = "convert"  // {"convert": E, "type": T}
	// ExprReference is a reference to a declaration. It stands in what a site
	// computes with, and never in a run.
	ExprReference ExprKind = "reference"
)

// MaxExprDepth and MaxExprWeight bound one expression: how deep it nests, and
// about how many bytes its JSON has.
const (
	MaxExprDepth  = 250
	MaxExprWeight = 1 << 20
)

// New completes a node whose operands have been made by New. The error says
// that the expression is beyond the limits.
func (x Expr) New() (*Expr, error) {
	x.depth, x.weight = 1, 16+len(x.Name)+len(x.Host)+len(x.Type)+weigh(x.Value)
	x.open = x.Kind == ExprRef || x.Kind == ExprResult || x.Kind == ExprOutput || x.Kind == ExprLocal || x.Kind == ExprItem
	for _, a := range x.Args {
		if a == nil {
			continue
		}
		x.depth = max(x.depth, 1+a.depth)
		x.weight += a.weight
		x.open = x.open || a.open
	}
	switch {
	case x.depth > MaxExprDepth:
		return nil, fmt.Errorf("the expression over results nests deeper than %d levels", MaxExprDepth)
	case x.weight > MaxExprWeight:
		return nil, fmt.Errorf("the expression over results is larger than %d KiB", MaxExprWeight>>10)
	}
	return &x, nil
}

// Weight is about how many bytes the expression's JSON has.
func (x *Expr) Weight() int { return x.weight }

// weigh estimates the JSON of plain data.
func weigh(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		sum := 0
		for _, e := range v {
			sum += 8 + weigh(e)
		}
		return sum
	case map[string]any:
		sum := 0
		for k, e := range v {
			sum += 8 + len(k) + weigh(e)
		}
		return sum
	}
	return 8
}

// Constant reports whether the expression depends on nothing: on no result,
// and on no name of an expression around it.
func (x *Expr) Constant() bool { return !x.open }

// Count is the number of nodes, in the numbering of Places.
func (x *Expr) Count() int {
	count := 1
	for _, a := range x.Args {
		if a != nil {
			count += a.Count()
		}
	}
	return count
}

// Refs lists the nodes of an expression that name results of other parts, in
// the order in which they stand in it.
func (x *Expr) Refs() []*Expr {
	var found []*Expr
	x.walk(func(n *Expr) {
		if n.Kind == ExprRef {
			found = append(found, n)
		}
	})
	return found
}

// Find gives the first node of a kind, or nil.
func (x *Expr) Find(kind ExprKind) *Expr {
	if x.Kind == kind {
		return x
	}
	for _, a := range x.Args {
		if a != nil {
			if found := a.Find(kind); found != nil {
				return found
			}
		}
	}
	return nil
}

// ResultRefs lists the references of several expressions, in the order of their
// names.
func ResultRefs(results map[string]*Expr) []*Expr {
	var found []*Expr
	for _, x := range sortedExprs(results) {
		found = append(found, x.Refs()...)
	}
	return found
}

// sortedExprs lists expressions in the order of their names.
func sortedExprs(list map[string]*Expr) (sorted []*Expr) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		sorted = append(sorted, list[name])
	}
	return sorted
}

// walk visits nodes before their operands; constants are passed by, but for
// the root.
func (x *Expr) walk(visit func(*Expr)) {
	visit(x)
	for _, a := range x.Args {
		if a != nil && a.open {
			a.walk(visit)
		}
	}
}

// Places lists where the nodes of an expression stand, each before its
// operands, as far as that is not where the one around it stands: the number of
// the node in this order, and its place.
func (x *Expr) Places() map[int]diag.Range {
	places := map[int]diag.Range{}
	count := 0
	var visit func(n *Expr, around diag.Range)
	visit = func(n *Expr, around diag.Range) {
		if n.Range != around && !n.Range.IsZero() {
			places[count], around = n.Range, n.Range
		}
		count++
		for _, a := range n.Args {
			if a != nil {
				visit(a, around)
			}
		}
	}
	visit(x, diag.Range{})
	return places
}

// Rewrite gives the expression with other nodes in place of the references to
// results. The error is of f, or says that the outcome is beyond the limits.
func (x *Expr) Rewrite(f func(ref *Expr) (*Expr, error)) (*Expr, error) {
	if x.Kind == ExprRef {
		return f(x)
	}
	if !x.open {
		return x, nil
	}
	changed := *x
	changed.Args = slices.Clone(x.Args)
	for i, a := range x.Args {
		if a == nil {
			continue
		}
		var err error
		if changed.Args[i], err = a.Rewrite(f); err != nil {
			return nil, err
		}
	}
	return changed.New()
}

// Masked gives the expression with the text in place of each sensitive literal,
// or of every one.
func (x *Expr) Masked(text string, all bool) *Expr {
	if x.Kind == ExprLiteral {
		if !x.Sensitive && !all {
			return x
		}
		masked := *x
		masked.Value, masked.Type = text, ""
		return &masked
	}
	masked := *x
	masked.Args = slices.Clone(x.Args)
	for i, a := range x.Args {
		if a != nil {
			masked.Args[i] = a.Masked(text, all)
		}
	}
	return &masked
}

// Secrets lists the values of the sensitive literals. The keys of an object are none: only
// what they name is secret.
func (x *Expr) Secrets() []any {
	if x.Kind == ExprLiteral {
		if x.Sensitive {
			return []any{x.Value}
		}
		return nil
	}
	var found []any
	for i, a := range x.Args {
		if a == nil || x.Kind == ExprObject && i%2 == 0 && a.Kind == ExprLiteral {
			continue
		}
		found = append(found, a.Secrets()...)
	}
	return found
}
