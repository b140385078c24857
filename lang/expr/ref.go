package expr

import (
	"fmt"
	"reflect"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// RefType is the type of references: opaque values that name a declaration, or
// a part of one. All references have this one type, whatever they name, so
// that they can stand in lists, sets, conditionals and maps.
var RefType = cty.CapsuleWithOps("reference", reflect.TypeFor[states.Ref](), &cty.CapsuleOps{
	GoString:     func(v any) string { return "reference(" + v.(*states.Ref).Text() + ")" },
	TypeGoString: func(reflect.Type) string { return "expr.RefType" },
	RawEquals:    sameRef,
	Equals:       func(a, b any) cty.Value { return cty.BoolVal(sameRef(a, b)) },
	HashKey:      func(v any) string { return v.(*states.Ref).Text() },
})

func sameRef(a, b any) bool {
	return a.(*states.Ref).Text() == b.(*states.Ref).Text()
}

// RefValue makes a value of a reference.
func RefValue(r states.Ref) cty.Value { return cty.CapsuleVal(RefType, &r) }

// Address is what a value of RefType names. It is known, and has no marks.
func Address(v cty.Value) string { return refOf(v).Text() }

func refOf(v cty.Value) states.Ref { return *v.EncapsulatedValue().(*states.Ref) }

// Refs gives the references in a value: one, or any nesting of lists and sets
// of them; null ones are left out. All of them get the range. An unknown value
// has none.
func Refs(v cty.Value, at diag.Range) ([]states.Ref, error) {
	v, sensitive := Split(v)
	if sensitive {
		return nil, &diag.HintError{Message: "a sensitive value decides what is referred to",
			Hint: "addresses are shown everywhere; use a value that may be"}
	}
	return appendRefs(nil, v, at)
}

func appendRefs(refs []states.Ref, v cty.Value, at diag.Range) ([]states.Ref, error) {
	t := v.Type()
	switch {
	case !v.IsKnown() || v.IsNull():
		return refs, nil
	case t.Equals(RefType):
		r := refOf(v)
		r.Range = at
		return append(refs, r), nil
	case t.IsListType() || t.IsTupleType() || t.IsSetType():
		for _, e := range v.Elements() {
			var err error
			if refs, err = appendRefs(refs, e, at); err != nil {
				return nil, err
			}
		}
		return refs, nil
	}
	hint := "refer to a declaration, such as state.NAME or TYPE.LABEL"
	if t == cty.String {
		hint = refHint(v.AsString())
	}
	return nil, &diag.HintError{
		Message: fmt.Sprintf("a reference is required, not a %s", t.FriendlyName()), Hint: hint}
}
