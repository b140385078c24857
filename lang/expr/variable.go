package expr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
)

// The levels on which a variable is given a value, lowest first.
const (
	LevelDefault     = "default"
	LevelSite        = "site" // vars.hcl and *.auto.hcl
	LevelRole        = "role"
	LevelGroup       = "host_group"
	LevelHost        = "host"
	LevelComponent   = "component" // vars of the component's block
	LevelEnvironment = "environment"
	LevelVarFile     = "var-file"
	LevelVar         = "var"
)

// Variable is a declared variable.
type Variable struct {
	Name        string
	Description string
	Type        cty.Type           // what values are converted to; DynamicPseudoType is any
	Defaults    *typeexpr.Defaults // of optional() attributes; nil: none
	Sensitive   bool
	NoNull      bool // nullable = false
	Merge       bool // maps and objects of all levels are joined
	Export      bool // other hosts may read its value
	Range       diag.Range
}

// IsLiteral reports whether a value given as text is the text itself, rather
// than an expression.
func (v *Variable) IsLiteral() bool {
	return v.Type == cty.DynamicPseudoType || v.Type.IsPrimitiveType()
}

// Assignment is a value of a variable on one level.
type Assignment struct {
	Level string
	Value cty.Value
	Range diag.Range // where it stands; a Range without lines names the level for people
}

// HintSource says how a variable is given a source.
func HintSource(name string) string {
	return fmt.Sprintf(`write %s = source("PATH") in vars.hcl, or in the vars of a role, a group or a host`, name)
}

// Resolve gives the variable's value from all that was given for it, lowest
// precedence first. Nothing given is an error. The second result is the value
// that won; with Merge, all that are objects take part.
func (v *Variable) Resolve(given []Assignment) (cty.Value, *diag.Diagnostic) {
	if len(given) == 0 {
		hint := fmt.Sprintf("give it with --var %s=VALUE, with TENET_VAR_%s, in a --var-file, or as a line in vars.hcl", v.Name, v.Name)
		if HoldsSource(v.Type) {
			hint = HintSource(v.Name)
		}
		return cty.DynamicVal, &diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("the variable %q has no value", v.Name),
			Detail: "It has no default, and nothing gives it one.", Hint: hint, Range: v.Range}
	}
	given = v.dropNulls(given)
	winner := given[len(given)-1]
	value := winner.Value
	if v.Merge {
		value = mergeAssignments(given)
	}
	converted, err := v.convert(value)
	if err != nil {
		return cty.DynamicVal, &diag.Diagnostic{Severity: diag.Error,
			Summary: fmt.Sprintf("the value of variable %q does not fit its type", v.Name),
			Detail:  fmt.Sprintf("It must be %s: %s.", TypeName(v.Type), errorText(err)),
			Hint:    cmp.Or(diag.HintOf(err), "the type stands in the variable's declaration"),
			Range:   winner.Range, Private: v.Sensitive,
			Related: []diag.Related{{Message: "declared here", Range: v.Range}}}
	}
	if v.Sensitive {
		converted = converted.Mark(Sensitive)
	}
	return converted, nil
}

// dropNulls drops the null values of a variable that has none: a level that says
// null says nothing. Where all do, the last stays, and is refused.
func (v *Variable) dropNulls(given []Assignment) []Assignment {
	isNull := func(g Assignment) bool { return g.Value.IsKnown() && g.Value.IsNull() }
	if !v.NoNull || !slices.ContainsFunc(given, isNull) || !slices.ContainsFunc(given, func(g Assignment) bool { return !isNull(g) }) {
		return given
	}
	return slices.DeleteFunc(slices.Clone(given), isNull)
}

func (v *Variable) convert(value cty.Value) (cty.Value, error) {
	if v.NoNull && value.IsNull() {
		return cty.DynamicVal, fmt.Errorf("null is not allowed (nullable = false)")
	}
	if err := unknownAttributes(value, v.Type, nil); err != nil {
		return cty.DynamicVal, err
	}
	if v.Defaults != nil && !value.IsNull() {
		value = v.Defaults.Apply(value)
	}
	converted, err := Convert(value, v.Type)
	if err != nil && HoldsSource(v.Type) && !HoldsSource(value.Type()) {
		err = &diag.HintError{Message: errorText(err), Hint: `write source("PATH"), with the path of a file from the folder of the one that says so`}
	}
	return converted, err
}

// mergeAssignments joins maps and objects key by key; a level that is none, or null,
// replaces those before.
func mergeAssignments(given []Assignment) cty.Value {
	var merged map[string]cty.Value
	marks := cty.ValueMarks{}
	for _, g := range given {
		whole, own := g.Value.Unmark()
		t := whole.Type()
		if !whole.IsKnown() { // what it holds cannot be told from the rest
			return whole.WithMarks(own, marks)
		}
		if whole.IsNull() || !t.IsObjectType() && !t.IsMapType() {
			merged, marks = nil, cty.ValueMarks{}
			continue
		}
		for m := range own {
			marks[m] = struct{}{}
		}
		if merged == nil {
			merged = map[string]cty.Value{}
		}
		for key, e := range whole.AsValueMap() {
			merged[key] = e
		}
	}
	if merged == nil {
		return given[len(given)-1].Value
	}
	return cty.ObjectVal(merged).WithMarks(marks)
}

// Describe tells where a variable's value came from.
func (v *Variable) Describe(value cty.Value, given []Assignment) (VariableValue, error) {
	out := VariableValue{Name: v.Name, Type: TypeName(v.Type), Description: v.Description, Sensitive: v.Sensitive}
	given = v.dropNulls(given)
	plain, sensitive := Split(value)
	out.Sensitive = out.Sensitive || sensitive || IsWithheld(value)
	var err error
	if !out.Sensitive {
		if out.Value, err = display(plain); err != nil {
			return out, err
		}
	}
	for i, g := range slices.Backward(given) {
		source := VariableSource{Level: g.Level, Range: g.Range}
		plain, sensitive := Split(g.Value)
		sensitive = sensitive || IsWithheld(g.Value)
		source.Sensitive = sensitive && !out.Sensitive
		if !out.Sensitive && !sensitive {
			if source.Value, err = display(plain); err != nil {
				return out, err
			}
		}
		if i == len(given)-1 {
			out.From = source
		} else {
			out.Overridden = append(out.Overridden, source)
		}
	}
	out.Merged = v.Merge && len(given) > 1
	return out, nil
}

// errorText gives an error of cty with the path within the value.
func errorText(err error) string {
	if p, ok := err.(cty.PathError); ok && len(p.Path) > 0 {
		return fmt.Sprintf("at %s, %s", pathText(p.Path), p.Error())
	}
	return err.Error()
}

func pathText(p cty.Path) string {
	text := ""
	for _, step := range p {
		switch s := step.(type) {
		case cty.GetAttrStep:
			text += "." + s.Name
		case cty.IndexStep:
			switch {
			case !s.Key.IsKnown() || s.Key.IsNull():
				text += "[…]"
			case s.Key.Type() == cty.String:
				text += fmt.Sprintf("[%q]", s.Key.AsString())
			case s.Key.Type() == cty.Number:
				text += "[" + s.Key.AsBigFloat().Text('f', -1) + "]"
			}
		}
	}
	return text
}
