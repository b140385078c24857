package runtime

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// compute gives a part the values that depend on results, and the names of those that a plan
// cannot know. What it has found by then it gives with an error, too.
func (x *expressions) compute(d declaration) (part *states.Part, unknown []string, err error) {
	if len(d.part.Results) == 0 {
		return d.part, nil, nil
	}
	computed := *d.part
	computed.Values, computed.Sensitive = maps.Clone(computed.Values), slices.Clone(computed.Sensitive)
	if computed.Values == nil {
		computed.Values = map[string]any{}
	}
	d.part = &computed
	for _, name := range slices.Sorted(maps.Keys(computed.Results)) {
		a := d.module.Attribute(name)
		if a == nil {
			return d.part, unknown, fmt.Errorf("a %s has no attribute %q", computed.Type, name)
		}
		if a.Kind == states.KindCondition {
			computed.Values[name] = true // decided after the act
			continue
		}
		known, err := x.computeAttribute(d, a)
		if err != nil {
			return d.part, unknown, err
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	restrictMode(d)
	if !d.hasUnknownKey(unknown) {
		computed.Key = d.module.Key(computed.Values)
	}
	return d.part, unknown, nil
}

// computeAttribute gives a part of its own the value of one attribute, unless that is unknown.
func (x *expressions) computeAttribute(d declaration, a *states.Attribute) (known bool, err error) {
	v, err := x.evaluate(d.part.Results[a.Name], d.part.Address, a.Name, cty.NilVal)
	if err != nil {
		return false, err
	}
	plain, sensitive := expr.Split(v)
	secret := sensitive || d.hides(a.Name)
	isCompared := d.part.Type == states.ComparisonType // which finds out by itself where a secret is
	if (sensitive || expr.IsSecretFound(v) && !a.Key && !isCompared) && !slices.Contains(d.part.Sensitive, a.Name) {
		d.part.Sensitive = append(d.part.Sensitive, a.Name)
		slices.Sort(d.part.Sensitive)
	}
	hidden := d.hides(a.Name)
	if sensitive && a.Key {
		return false, x.locateError(d.part, a.Name, states.InvalidAttribute(a.Name, "a sensitive value cannot name a resource",
			"the key of a part is shown everywhere; use a value that may be"))
	}
	if !plain.IsWhollyKnown() {
		return false, nil
	}
	value, err := expr.Plain(plain)
	if err == nil && secret && !isCompared { // of others only what was found in them is one
		x.mask.add(value)
	}
	if err == nil {
		value, err = a.Normalize(value)
	}
	if err != nil && hidden {
		err = errHidden(a.Name)
	}
	if err != nil {
		return true, x.locateError(d.part, a.Name, err)
	}
	if value != nil { // null is not given
		d.part.Values[a.Name] = value
	}
	return true, nil
}

// restrictMode gives a file whose content turned out to be sensitive a mode that lets
// nobody but its owner read it, unless one is given, as lang/expr does for what is
// known to be.
func restrictMode(d declaration) {
	mode := d.module.Attribute("mode")
	if mode == nil || mode.Kind != states.KindMode || d.part.Values["mode"] != nil || d.part.Results["mode"] != nil {
		return
	}
	for name := range d.part.Results {
		if a := d.module.Attribute(name); a.Kind == states.KindContent && d.hides(name) {
			d.part.Values["mode"] = expr.PrivateMode
		}
	}
}
