package program

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// unknownRoot reports a name that stands for nothing, with what is most likely
// meant.
func (w *walker) unknownRoot(n *hclsyntax.ScopeTraversalExpr, root string) {
	known := []string{"var", "local", "data", "param", "each", "fact", "host", "state", "handler", "run", "rule", "block", "component", "cluster", "self"}
	if w.foreignRoot(n, root) {
		return
	}
	hint := ""
	if len(n.Traversal) > 1 { // a name alone is none of these
		hint = diag.DidYouMean(root, append(known, w.site.shapes.Registry.Names()...))
	}
	switch {
	case root == "secret":
		w.errorAt(n.SrcRange, fmt.Sprintf("%s is not supported yet", root), "leave it out")
		return
	case root == "result":
		w.errorAt(n.SrcRange, "result is known only in changed_if and failed_if", "elsewhere name the part: TYPE.LABEL.ATTRIBUTE or state.NAME.TYPE.LABEL.ATTRIBUTE")
		return
	case w.site.shapes.Registry.Lookup(strings.ToLower(root)) != nil:
		name, _ := stepName(n.Traversal, 1)
		hint = "types are written in small letters: " + states.LabelAddress(strings.ToLower(root), cmp.Or(name, "LABEL"))
	case hint == "" && len(w.candidates(root)) > 0:
		hint = "did you mean " + strings.Join(w.candidates(root), " or ") + "?"
		if w.texts == 0 && len(n.Traversal) == 1 {
			hint += fmt.Sprintf(" Text stands in quotes: %q", root)
		}
	case hint == "" && w.texts > 0:
		hint = "values are named var.NAME, local.NAME, data.NAME, param.NAME, each.key, each.value and fact.NAME; $${ stands for a literal ${"
	case len(n.Traversal) == 1 && hint == "":
		hint = fmt.Sprintf("put text in quotes: %q", root)
	case hint == "":
		hint = "values are named var.NAME, local.NAME, data.NAME, param.NAME, each.key, each.value and fact.NAME"
	}
	w.errorAt(n.SrcRange, fmt.Sprintf("there is nothing named %q", root), hint)
}
