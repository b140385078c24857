package expr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
)

// unknownAttributes reports an attribute of an object that its type does not
// have. A conversion would leave it out without a word, and a misspelt optional
// attribute with it.
func unknownAttributes(value cty.Value, want cty.Type, at cty.Path) error {
	value, _ = value.Unmark()
	if value.IsNull() || !value.IsKnown() || !value.CanIterateElements() {
		return nil
	}
	var element cty.Type
	switch {
	case want.IsObjectType():
	case want.IsCollectionType():
		element = want.ElementType()
	default: // of a tuple, a conversion reports what is too much
		return nil
	}
	named := value.Type().IsObjectType() || value.Type().IsMapType()
	for it := value.ElementIterator(); it.Next(); {
		key, e := it.Element()
		inner := at.Index(key)
		if value.Type().IsSetType() { // its elements are their own keys
			inner = at
		}
		if want.IsObjectType() {
			if !named {
				return nil
			}
			name := key.AsString()
			if !want.HasAttribute(name) {
				known := slices.Sorted(maps.Keys(want.AttributeTypes()))
				return &diag.HintError{Message: fmt.Sprintf("%sthere is no attribute %q", pathPlace(at), name),
					Hint: cmp.Or(diag.DidYouMean(name, known), diag.Choices(known), "leave it out")}
			}
			element = want.AttributeType(name)
			inner = at.GetAttr(name)
		}
		if err := unknownAttributes(e, element, inner); err != nil {
			return err
		}
	}
	return nil
}

func pathPlace(at cty.Path) string {
	if len(at) == 0 {
		return ""
	}
	return "at " + pathText(at) + ", "
}
