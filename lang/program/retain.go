package program

import (
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// checkRetain reports a part of which a number cannot stay, since it is not recorded, or
// not known in time, what it has stood for.
func (e partValues) checkRetain(p *part, in *instance, made *states.PartDeclaration) {
	src := p.src
	for _, o := range append(p.options[:len(p.options):len(p.options)], in.decl.options...) {
		if o.Name == "retain" {
			src = o.attr.Range()
			break
		}
	}
	wrong := diag.Diagnostic{Range: rangeOf(src)}
	count, what := made.Options.Retain, expr.Article(p.module.Name)
	switch {
	case p.module.NoAbsent != "":
		wrong.Summary = "retain = " + count.String() + " has no meaning for " + what
		wrong.Detail = "Older ones would be removed, and a part of this type cannot be absent: " + p.module.NoAbsent
		wrong.Hint = "leave retain out"
	case made.Options.Sensitive || in.decl.topLevel && in.options != nil && in.options.Sensitive:
		wrong.Summary = "retain = " + count.String() + " is given to a part that is sensitive"
		wrong.Detail = "Of a sensitive part it is not recorded what it has created, so that older ones could not be found again."
		wrong.Hint = "give sensitive values to attributes that take them, in place of sensitive = true; or leave retain out"
	case made.LateKey(p.module):
		wrong.Summary = "retain = " + count.String() + " is given to a part whose " + p.module.Keys()[0] + " depends on a result"
		wrong.Detail = "Which ones are older is decided before anything runs, so that it must be known by then what the part stands for."
		wrong.Hint = "take the value from a variable or a fact, or write retain = true"
	case e.top.site.name == "":
		wrong.Summary = "retain = " + count.String() + " is in a site without a name"
		wrong.Detail = "What a part has stood for before is recorded under the name of its site."
		wrong.Hint = `give it one: site { name = "shop" }`
	case len(e.top.sharers()) > 1:
		wrong.Summary = "retain = " + count.String() + " is given to a host that is one machine with others: " + strings.Join(e.top.sharers(), ", ")
		wrong.Detail = "A machine has one record of what a site has created there. Each of these hosts would count what the others stand for, and remove it."
		wrong.Hint = hintOneMachine
	default:
		return
	}
	e.list.Add(wrong)
}
