package program

import (
	"fmt"
	"maps"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// value links var.NAME and its like.
func (w *walker) value(n *hclsyntax.ScopeTraversalExpr, root string) {
	name, ok := stepName(n.Traversal, 1)
	if !ok {
		w.errorAt(n.SrcRange, fmt.Sprintf("%s alone is no value", root), fmt.Sprintf("name one of them: %s.NAME", root))
		return
	}
	w.site.uses.count(w.scope, root, name)
	src := hcl2.RangeBetween(n.Traversal[0].SourceRange(), n.Traversal[1].SourceRange())
	used := 2
	var names []string
	found := false
	switch root {
	case "var":
		names, found = w.site.variables.Names(), w.site.variables.Has(name)
	case "local":
		names, found = w.site.locals.Names(), w.site.locals.Has(name)
	case "data":
		names, found = w.site.data.Names(), w.site.data.Has(name)
	case "fact":
		found = true
	case "host":
		names = []string{"name", "labels", "vars", "cluster"}
		found = slices.Contains(names, name)
	case "role":
		names = slices.Sorted(maps.Keys(w.site.roles))
		found = w.site.roles[name] != nil
	case "param":
		if w.scope.params == nil {
			w.errorAt(src, "param is known only in the parts of a state", "use var or local here")
			return
		}
		for _, p := range w.scope.params.params {
			names = append(names, p.name)
		}
		found = w.scope.params.param(name) != nil
	case "each":
		if !w.linkEach(n, &name, &used) {
			return
		}
		found = true
	}
	if !found {
		w.errorAt(src, fmt.Sprintf("%s.%s is not declared", root, name), undeclaredHint(root, name, names))
		return
	}
	if root != "param" && root != "each" {
		w.to.Needs = append(w.to.Needs, syntax.Need{Kind: root, Name: name, Src: src})
	}
	n.Traversal = append(hcl2.Traversal{hcl2.TraverseRoot{Name: root + "." + name, SrcRange: src}}, n.Traversal[used:]...)
}

func undeclaredHint(root, name string, names []string) string {
	if near := diag.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s.%s?", root, near)
	}
	switch root {
	case "var":
		return fmt.Sprintf("declare it: variable %q { … }", name)
	case "local":
		return fmt.Sprintf("declare it: locals { %s = … }", name)
	case "data":
		return fmt.Sprintf("declare it: data %q { file = … }; what is known about the host is fact.NAME", name)
	case "role":
		return fmt.Sprintf("declare it: role %q { … }", name)
	case "host":
		return "write host.name, host.labels, host.vars or host.cluster"
	}
	return fmt.Sprintf("declare it in the state: param %q { … }", name)
}

// undeclaredInScript is undeclaredHint for a variable that a script names.
func undeclaredInScript(name string, names []string) string {
	if diag.Nearest(name, names) != "" {
		return undeclaredHint("var", name, names)
	}
	return fmt.Sprintf("declare it: variable(%q, …)", name)
}

// linkEach checks each.key, each.value and each.parent.key; name becomes the path
// behind each, and used the steps that it takes.
func (w *walker) linkEach(n *hclsyntax.ScopeTraversalExpr, name *string, used *int) bool {
	if !w.scope.each {
		w.errorAt(n.SrcRange, "each is known only where for_each is given", "add for_each, or name the value itself")
		return false
	}
	if *name == "parent" {
		inner, ok := stepName(n.Traversal, 2)
		if !w.scope.parent {
			w.errorAt(n.SrcRange, "each.parent is known only in the parts of a state with for_each", "use each.key or each.value")
			return false
		}
		if !ok || inner != "key" && inner != "value" {
			w.errorAt(n.SrcRange, "each.parent has key and value", "write each.parent.key or each.parent.value")
			return false
		}
		*name, *used = "parent."+inner, 3
		return true
	}
	if *name != "key" && *name != "value" {
		w.errorAt(n.SrcRange, fmt.Sprintf("each has no %q", *name), "write each.key, each.value or each.parent")
		return false
	}
	return true
}
