package program

import (
	"fmt"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/rules"
	"github.com/tenetcm/tenet/states"
)

// instance is one declaration, or one instance of it.
type instance struct {
	decl    *declaration
	address string
	each    *each
	// parts are the addresses of its parts, once it is evaluated.
	parts map[string]bool
	// options are its options, once optionsOf has evaluated them.
	options *states.Options
	owner   *evaluator  // of the directory that declares it
	node    *rules.Node // of a rule
	inner   *evaluator  // components: of what they declare; nil when left out
}

// each is one turn of a for_each.
type each struct {
	key   string
	value cty.Value
}

// set puts the values into a context.
func (x *each) set(ctx *hcl2.EvalContext, prefix string) {
	ctx.Variables[prefix+"key"] = cty.StringVal(x.key)
	ctx.Variables[prefix+"value"] = x.value
}

// forEach gives the turns of a for_each, ordered by key: none is one turn
// without each. ok is false when it could not be evaluated.
func (e *expressions) forEach(a *syntax.Attribute, ctx *hcl2.EvalContext) (turns []*each, ok bool) {
	if a == nil {
		return []*each{nil}, true
	}
	v := e.deferrableValue(a.Expr, ctx)
	if v.IsKnown() && v.IsNull() {
		return []*each{nil}, true
	}
	items, err := turnsOf(v)
	if err != nil {
		e.list.Add(diag.Diagnose(err, rangeOf(a.Range())))
		return nil, false
	}
	if items == nil {
		return nil, false
	}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		turns = append(turns, &each{key, items[key]})
	}
	return turns, true
}

// turnsOf gives the keys and values of a collection; nil when it is unknown.
func turnsOf(v cty.Value) (map[string]cty.Value, error) {
	if expr.IsDeferred(v) && (!v.IsKnown() || !v.Type().IsMapType() && !v.Type().IsObjectType()) {
		return nil, &diag.HintError{Message: "for_each cannot go over a result",
			Hint: "its keys are the addresses of parts, which must be known before anything runs; results may stand among the values of a map"}
	}
	if v.HasMark(expr.Sensitive) {
		return nil, &diag.HintError{Message: "for_each cannot go over a sensitive value",
			Hint: "its keys become addresses, which are shown everywhere; go over names, and look the values up by each.key"}
	}
	if v.IsMarked() {
		v, _ = v.Unmark()
	}
	if !v.IsKnown() {
		return nil, nil
	}
	items := map[string]cty.Value{}
	t := v.Type()
	switch {
	case t.IsMapType() || t.IsObjectType():
		for key, value := range v.Elements() {
			key, _ := key.Unmark()
			items[key.AsString()] = value
		}
	case t.IsSetType() || t.IsListType() || t.IsTupleType():
		for _, element := range v.Elements() {
			if err := listTurn(items, element); err != nil {
				return nil, err
			}
			if !element.IsKnown() {
				return nil, nil
			}
		}
	default:
		return nil, &diag.HintError{Message: fmt.Sprintf("for_each goes over a map, a set or a list of strings, not %s", expr.Kind(v)),
			Hint: `write for_each = ["a", "b"] or for_each = { a = 1, b = 2 }`}
	}
	if _, empty := items[""]; empty {
		return nil, &diag.HintError{Message: "a key of for_each is empty", Hint: "keys stand in addresses; take names"}
	}
	return items, nil
}

// listTurn adds an element of a list or set, which is key and value.
func listTurn(items map[string]cty.Value, element cty.Value) error {
	if element.ContainsMarked() {
		return &diag.HintError{Message: "for_each cannot go over sensitive values",
			Hint: "its keys become addresses, which are shown everywhere; take names that may be"}
	}
	if !element.IsKnown() {
		return nil
	}
	if element.IsNull() {
		return &diag.HintError{Message: "for_each goes over strings, and an element is null", Hint: "leave it out: compact(LIST)"}
	}
	if element.Type() != cty.String {
		return &diag.HintError{Message: fmt.Sprintf("for_each goes over strings, and an element is %s", expr.Kind(element)),
			Hint: "make it a map, whose keys name the instances: { for x in LIST : x.name => x }"}
	}
	key := element.AsString()
	if _, twice := items[key]; twice {
		return &diag.HintError{Message: fmt.Sprintf("for_each has the key %q twice", key),
			Hint: "keys name the instances; use toset() or distinct()"}
	}
	items[key] = element
	return nil
}

// expand finds the instances of a declaration.
func (e *evaluator) expand(d *declaration) {
	base := e.prefix + d.base
	if !e.appliesToHost(d) {
		e.omittedPrefixes = append(e.omittedPrefixes, base+".", base+"[")
		return
	}
	switch {
	case d.rule != nil:
		e.expandRule(d)
		return
	case d.group != nil:
		e.expandGroup(d)
		return
	}
	turns, ok := e.forEach(d.forEach, e.root)
	if !ok {
		e.doubtful[base] = true
	}
	for _, turn := range turns {
		in := &instance{decl: d, address: base, each: turn, owner: e}
		if turn != nil {
			in.address = states.InstanceAddress(base, turn.key)
		}
		e.instances[in.address] = in
		e.instancesByBase[base] = append(e.instancesByBase[base], in)
	}
}
