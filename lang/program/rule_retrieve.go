package program

import (
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/states"
)

// retrieval is what rules retrieve of what is there.
type retrieval struct {
	values map[string]cty.Value // by the addresses of rules
	from   []string             // addresses of the declarations whose results that is made of
}

// retrieved evaluates what rules retrieve.
func (e *ruleEvaluator) retrieved() retrieval {
	out := retrieval{values: map[string]cty.Value{}}
	for _, d := range e.of.rules {
		a := d.rule.retrieve
		if a == nil {
			continue
		}
		v := e.deferrableValue(a.Expr, e.root)
		if plain, _ := expr.Split(v); !plain.IsWhollyKnown() && !expr.IsDeferred(v) {
			continue // why has been reported
		}
		if expr.IsDeferred(v) {
			tree, err := expr.Tree(v, rangeOf(a.Range()))
			if err != nil {
				e.wrongValue(a, err, "compute less of it on the host")
				continue
			}
			for _, ref := range tree.Refs() {
				e.readsFrom(d, &out, ref.Ref)
			}
		}
		out.values[e.prefix+d.base] = v
	}
	return out
}

// readsFrom notes whose result is retrieved: it has to only read, for it does so in plans, and again after the acts.
func (e *ruleEvaluator) readsFrom(d *declaration, to *retrieval, r states.Ref) {
	found := false
	for i := range e.out {
		if o := &e.out[i]; o.Address == r.Address || o.Base == r.Address {
			found = true
			e.onlyReads(d, d.rule.retrieve.Range(), "retrieve", o.Parts)
			if !slices.Contains(to.from, o.Address) {
				to.from = append(to.from, o.Address)
			}
		}
	}
	if !found && !e.doubtful[r.Address] {
		e.errorAt(d.rule.retrieve.Range(), "name a result of a state, or of a part at top level", "%s retrieves a result of %s, which cannot be asked again", d.base, r.Address)
	}
}

// onlyReads reports parts that may change something.
func (e *ruleEvaluator) onlyReads(d *declaration, at hcl2.Range, word string, parts []states.PartDeclaration) {
	for i := range parts {
		p := &parts[i]
		if p.Options.LeftOut || isReader(p) {
			continue
		}
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s of %s runs %s, which may change something", word, d.base, p.Address), Range: rangeOf(at),
			Hint: "it runs in plans, too: take a command with plan = true, or assert", Related: []diag.Related{{Message: "the part is declared here", Range: p.Range}}})
		return
	}
}

// isReader reports whether a part never changes anything.
func isReader(p *states.PartDeclaration) bool {
	if p.Type == "command" {
		plan, _ := p.Values["plan"].(bool)
		return plan
	}
	return p.Type == "assert"
}

// lookAgain declares that what is there is retrieved once more when all is done, and compared. It gives the address of that; empty: nothing is retrieved.
func (e *ruleEvaluator) lookAgain(r retrieval) string {
	if len(r.from) == 0 {
		return ""
	}
	at := rangeOf(e.of.rules[0].src)
	address := e.comparison + ".again"
	renamed := map[string]string{}
	node := &states.RuleNode{Comparison: e.comparison, Verifies: true}
	var after []states.Ref
	for i := range e.out {
		if o := &e.out[i]; o.Node != nil && o.Node.Comparison == e.comparison && !o.Node.Verifies {
			after = append(after, states.Ref{Address: o.Address, Range: at})
		}
	}
	for _, from := range r.from {
		i := slices.IndexFunc(e.out, func(o states.Declaration) bool { return o.Address == from })
		given := e.out[i]
		renamed[from], renamed[given.Base] = address+"."+from, address+"."+given.Base
		out := e.declaration(e.of.rules[0], renamed[from], renamed[given.Base])
		out.Options, out.Parallel, out.TopLevel, out.Parts = given.Options, given.Parallel, given.TopLevel, slices.Clone(given.Parts)
		out.Options.Listen, out.Options.ListenFailure = nil, nil
		out.Options.Require = slices.Concat(out.Options.Require, after)
		out.Node = node
		rename := func(ref states.Ref) states.Ref {
			if to := renamed[ref.Address]; to != "" {
				ref.Address = to
			}
			return ref
		}
		for k := range out.Parts {
			p := &out.Parts[k]
			if out.TopLevel {
				p.Address, p.Base = out.Address, out.Address
			}
			rewriteRefs(p, rename)
		}
		e.out = append(e.out, out)
	}
	values := map[string]cty.Value{}
	for name, v := range r.values {
		values[name] = v
	}
	made := e.compare(address, values, true)
	made.Node = node
	made.Options.Require = after
	made.Parts[0].Results = rewriteResults(made.Parts[0].Results, renamed)
	return address
}

func rewriteResults(list map[string]*states.Expr, renamed map[string]string) map[string]*states.Expr {
	out := map[string]*states.Expr{}
	for name, x := range list {
		out[name] = rewriteExpr(x, func(r states.Ref) states.Ref {
			if to := renamed[r.Address]; to != "" {
				r.Address = to
			}
			return r
		})
	}
	return out
}
