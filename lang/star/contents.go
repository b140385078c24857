package star

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/syntax"
)

// contents moves what was declared before into a role: parts, and what the
// references name.
func (r *run) contents(role *syntax.Block, v starlark.Value, at place) error {
	list, ok := v.(starlark.Indexable)
	if _, text := v.(starlark.String); !ok || text {
		return &placedError{&diag.HintError{Message: fmt.Sprintf("the contents of a role are a list, not %s", kindOf(v)),
			Hint: `write role("NAME", [file("/etc/motd", …), state("NAME", […])])`}, at.src}
	}
	chosen := map[*syntax.Block]bool{}
	for i := range list.Len() {
		where := at.element(i, list.Len())
		switch e := list.Index(i).(type) {
		case starlark.NoneType:
		case *part:
			if e.ownerName != "" {
				return &placedError{&diag.HintError{Message: fmt.Sprintf("%s belongs to %s already", e, e.ownerName), Hint: "a part stands in one place"}, where.src}
			}
			e.top, e.ownerName = true, "role."+role.Labels[0]
			chosen[e.block] = true
		case *reference:
			if e.block == nil {
				return &placedError{&diag.HintError{Message: fmt.Sprintf("%s is not declared in this file", e), Hint: "declare it within the list"}, where.src}
			}
			if e.inRole {
				return &placedError{&diag.HintError{Message: fmt.Sprintf("%s belongs to a role already", e), Hint: "a declaration stands in one role"}, where.src}
			}
			e.inRole = true
			chosen[e.block] = true
		default:
			return &placedError{&diag.HintError{Message: fmt.Sprintf("a role holds parts, states, handlers, runs, blocks, components and outputs, not %s", kindOf(e)),
				Hint: "give what their functions return"}, where.src}
		}
	}
	f := r.currentFile()
	r.items[f] = slices.DeleteFunc(r.items[f], func(i item) bool {
		if chosen[i.block] {
			role.Body.Blocks = append(role.Body.Blocks, i.block)
			delete(chosen, i.block)
			return true
		}
		return false
	})
	if len(chosen) > 0 {
		return &placedError{&diag.HintError{Message: "a role holds what its own file declares", Hint: "declare it within the list"}, at.src}
	}
	return nil
}
