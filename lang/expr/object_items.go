package expr

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// sortedItems orders what makes an object by its keys, since their order means
// nothing, and no two languages write it in the same. Where a key is computed, or
// given twice, the order stays.
func sortedItems(items []hclsyntax.ObjectConsItem) []hclsyntax.ObjectConsItem {
	type keyed struct {
		key  string
		item hclsyntax.ObjectConsItem
	}
	list := make([]keyed, 0, len(items))
	for _, item := range items {
		v, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() || v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			return items
		}
		list = append(list, keyed{v.AsString(), item})
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	out := make([]hclsyntax.ObjectConsItem, len(list))
	for i, k := range list {
		if i > 0 && list[i-1].key == k.key {
			return items
		}
		out[i] = k.item
	}
	return out
}
