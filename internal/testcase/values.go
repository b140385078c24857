package testcase

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// value decodes an attribute's expression into a value of the kind.
func (d *decoder) value(e hclsyntax.Expression, k kind) (any, bool) {
	switch k {
	case addresses:
		return d.addressList(e)
	case valueList:
		return d.attributes(e)
	case rows, reasons, partList:
		return d.byAddress(e, k)
	}
	v, ok := d.evaluate(e)
	if !ok {
		return nil, false
	}
	if v.IsNull() {
		return nil, true // not given
	}
	out, err := convertTo(v, k)
	if err != nil {
		d.errorf(e.Range(), diag.HintOf(err), "%s", err)
		return nil, false
	}
	return out, true
}

// evaluate gives the value of an expression, without marks.
func (d *decoder) evaluate(e hclsyntax.Expression) (cty.Value, bool) {
	v, diags := e.Value(d.ctx)
	d.list.Add(expr.FromHCL(diags)...)
	if diags.HasErrors() {
		return cty.DynamicVal, false
	}
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() {
		if d.list.HasErrors() {
			return cty.DynamicVal, false // it depends on what is wrong already
		}
		d.errorf(e.Range(), "a case's values are given, not found out on a host", "the value is not known")
		return cty.DynamicVal, false
	}
	return v, true
}

func convertTo(v cty.Value, k kind) (any, error) {
	switch k {
	case text:
		return textOf(v)
	case flag:
		if v.Type() != cty.Bool {
			return nil, &diag.HintError{Message: "true or false is needed here", Hint: "write true or false, without quotes"}
		}
		return v.True(), nil
	case number:
		if v.Type() == cty.Number {
			if n, accuracy := v.AsBigFloat().Int64(); accuracy == 0 {
				return int(n), nil
			}
		}
		return nil, errors.New("a whole number is needed here")
	case textList:
		return textsOf(v)
	case textMap:
		return textMapOf(v)
	case plain:
		return plainOf(v)
	case hostKnowledge:
		return hostKnowledgeOf(v)
	case anyValue:
		return expr.Plain(v)
	}
	return convertWord(v, k)
}

// convertWord converts to the kinds that are texts with a meaning.
func convertWord(v cty.Value, k kind) (any, error) {
	if k == version && v.Type() == cty.Bool {
		if v.True() {
			return anyVersion, nil
		}
		return "", nil
	}
	if k == patterns && v.Type() != cty.String {
		return patternsOf(v)
	}
	s, err := textOf(v)
	if err != nil {
		return nil, err
	}
	switch k {
	case fileMode:
		mode, err := states.ParseMode(s)
		if err != nil || v.Type() != cty.String {
			return nil, &diag.HintError{Message: "a mode is a string of octal digits", Hint: `write "0644"`}
		}
		return mode, nil
	case pattern:
		return compile(s)
	case patterns:
		p, err := compile(s)
		return []*regexp.Regexp{p}, err
	case untilWord:
		if s != untilRun && s != untilPlan && s != untilApply {
			return nil, &diag.HintError{Message: fmt.Sprintf("a case ends after run, plan or apply, not after %q", s),
				Hint: diag.DidYouMean(s, []string{untilRun, untilPlan, untilApply})}
		}
	}
	return s, nil
}

// anyVersion is what installed = true stands for.
const anyVersion = "true"

func textOf(v cty.Value) (string, error) {
	if v.IsNull() {
		return "", errors.New("null stands where text is needed")
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil || !v.Type().IsPrimitiveType() {
		return "", &diag.HintError{Message: "text is needed here, not " + v.Type().FriendlyName(), Hint: "put it in quotes"}
	}
	return s.AsString(), nil
}

func textsOf(v cty.Value) ([]string, error) {
	if !v.CanIterateElements() || v.Type().IsMapType() || v.Type().IsObjectType() {
		return nil, &diag.HintError{Message: "a list of texts is needed here", Hint: `write ["a", "b"]`}
	}
	out := []string{}
	for _, e := range v.Elements() {
		s, err := textOf(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func textMapOf(v cty.Value) (map[string]string, error) {
	if !v.Type().IsMapType() && !v.Type().IsObjectType() {
		return nil, &diag.HintError{Message: "an object of texts is needed here", Hint: `write { "NAME" = "text" }`}
	}
	out := map[string]string{}
	for key, e := range v.Elements() {
		s, err := textOf(e)
		if err != nil {
			return nil, err
		}
		out[key.AsString()] = s
	}
	return out, nil
}

func plainOf(v cty.Value) (map[string]any, error) {
	p, err := expr.Plain(v)
	if err != nil {
		return nil, err
	}
	m, ok := p.(map[string]any)
	if !ok {
		return nil, &diag.HintError{Message: "an object is needed here", Hint: "write { NAME = VALUE }"}
	}
	return m, nil
}

// hostKnowledgeOf takes what is known of each host: its facts, and what it has given.
func hostKnowledgeOf(v cty.Value) (map[string]any, error) {
	const hint = "write { HOST = { facts = { NAME = VALUE }, outputs = { NAME = VALUE } } }"
	all, err := plainOf(v)
	if err != nil {
		return nil, &diag.HintError{Message: err.Error(), Hint: hint}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		host, ok := all[name].(map[string]any)
		if !ok {
			return nil, &diag.HintError{Message: fmt.Sprintf("an object is needed for %s", name), Hint: hint}
		}
		for _, what := range slices.Sorted(maps.Keys(host)) {
			if what != "facts" && what != "outputs" {
				return nil, &diag.HintError{Message: fmt.Sprintf("%s has %q, which a host is not known for", name, what), Hint: hint}
			}
		}
		if facts, given := host["facts"]; given {
			if _, ok := facts.(map[string]any); !ok {
				return nil, &diag.HintError{Message: fmt.Sprintf("the facts of %s are no object", name), Hint: hint}
			}
		}
		if err := plainOutputs(name, host); err != nil {
			return nil, &diag.HintError{Message: err.Error(), Hint: hint}
		}
	}
	return all, nil
}

func patternsOf(v cty.Value) ([]*regexp.Regexp, error) {
	list, err := textsOf(v)
	out := make([]*regexp.Regexp, len(list))
	for i, s := range list {
		if err == nil {
			out[i], err = compile(s)
		}
	}
	return out, err
}

func compile(s string) (*regexp.Regexp, error) {
	p, err := regexp.Compile(s)
	if err != nil {
		return nil, &diag.HintError{Message: fmt.Sprintf("%q is no regular expression: %v", s, strings.TrimPrefix(err.Error(), "error parsing regexp: ")),
			Hint: `write \\ before a character that has a meaning, such as \\[ or \\(`}
	}
	return p, nil
}

// addressList takes a list of addresses: texts, or as a site writes them.
func (d *decoder) addressList(e hclsyntax.Expression) (any, bool) {
	tuple, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		v, ok := d.evaluate(e)
		if !ok {
			return nil, false
		}
		list, err := textsOf(v)
		if err != nil {
			d.errorf(e.Range(), "write [state.a, file[\"/etc/motd\"]]", "a list of addresses is needed here")
			return nil, false
		}
		out := []item{}
		for _, s := range list {
			out = append(out, item{key: s, at: expr.Range(e.Range())})
		}
		return out, true
	}
	out, all := []item{}, true
	for _, e := range tuple.Exprs {
		key, ok := d.address(e)
		out, all = append(out, item{key: key, at: expr.Range(e.Range())}), all && ok
	}
	return out, all
}

// byAddress takes an object whose keys are addresses.
func (d *decoder) byAddress(e hclsyntax.Expression, k kind) (any, bool) {
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		d.errorf(e.Range(), `write { file["/etc/motd"] = … }`, "an object with addresses as keys is needed here")
		return nil, false
	}
	out, all := []item{}, true
	for _, pair := range object.Items {
		key, ok := d.address(pair.KeyExpr)
		i := item{key: key, at: expr.Range(pair.KeyExpr.Range())}
		if ok && slices.ContainsFunc(out, func(other item) bool { return other.key == key }) {
			d.errorf(pair.KeyExpr.Range(), "write it once", "%s stands twice", key)
			ok = false
		}
		switch {
		case !ok:
		case k == partList:
			i.items, ok = d.attributes(pair.ValueExpr)
		case k == rows:
			i.value, ok = d.value(pair.ValueExpr, text)
			i.at = expr.Range(hcl.RangeBetween(pair.KeyExpr.Range(), pair.ValueExpr.Range()))
		default:
			i.value, ok = d.value(pair.ValueExpr, pattern)
		}
		if ok && k != partList && i.value == nil {
			d.errorf(pair.ValueExpr.Range(), "write what is expected", "null is no expectation")
			ok = false
		}
		out, all = append(out, i), all && ok
	}
	return out, all
}

// attributes takes the expected values of one part.
func (d *decoder) attributes(e hclsyntax.Expression) ([]item, bool) {
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		d.errorf(e.Range(), "write { NAME = VALUE }", "an object with the expected values is needed here")
		return nil, false
	}
	var out []item
	all := true
	for _, pair := range object.Items {
		key, ok := d.address(pair.KeyExpr)
		v, ok2 := d.evaluate(pair.ValueExpr)
		if !ok || !ok2 {
			all = false
			continue
		}
		value, err := expr.Plain(v)
		if err != nil {
			d.errorf(pair.ValueExpr.Range(), "", "%s", err)
			all = false
		}
		out = append(out, item{key: key, at: expr.Range(hcl.RangeBetween(pair.KeyExpr.Range(), pair.ValueExpr.Range())), value: value})
	}
	return out, all
}

// address takes an address as text, or as a site writes it: state.a,
// file["/etc/motd"]. Those of waves need quotes, since # begins a comment.
func (d *decoder) address(e hclsyntax.Expression) (string, bool) {
	inner := e
	if key, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		inner = key.Wrapped
	}
	if t, ok := inner.(*hclsyntax.ScopeTraversalExpr); ok && t.Traversal.RootName() != "local" {
		return addressOf(t.Traversal), true
	}
	v, ok := d.evaluate(e)
	if !ok {
		return "", false
	}
	s, err := textOf(v)
	if err != nil {
		d.errorf(e.Range(), "write state.NAME or TYPE[\"LABEL\"]", "an address is needed here")
	}
	return s, err == nil
}

// addressOf gives a traversal in the form of addresses.
func addressOf(t hcl.Traversal) string {
	out := t.RootName()
	for i, step := range t[1:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			out += "." + step.Name
		case hcl.TraverseIndex:
			key, err := textOf(step.Key)
			if err != nil {
				continue // the parser makes only texts and numbers
			}
			if i == 0 { // the label of a top-level part
				out = states.LabelAddress(out, key)
				continue
			}
			out = states.InstanceAddress(out, key)
		}
	}
	return out
}
