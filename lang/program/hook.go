package program

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/lang/syntax"
	"github.com/tenetcm/tenet/states"
)

// hookDecls are the hooks of a rollout or a stage.
type hookDecls struct{ before, after []*hookDecl }

// hookDecl is before_each { … } or after_each { … }.
type hookDecl struct {
	word                 string
	src                  hcl2.Range
	hosts, state, params *syntax.Attribute
	// address is the state's, as it is written: hosts are evaluated before references are.
	address string
}

// hostHook is an evaluated hook.
type hostHook struct {
	decl   *hookDecl
	hosts  []string
	params []item
}

const hookHint = `write state = state.NAME`

// hooks finds the hooks in a rollout or a stage.
func (d *decoder) hooks(b *syntax.Body) (out hookDecls) {
	for _, sub := range b.Blocks {
		to := map[string]*[]*hookDecl{"before_each": &out.before, "after_each": &out.after}[sub.Type]
		if to == nil || d.check(sub.Body, d.shapes.Hook, nil) {
			continue
		}
		a := sub.Body.Attribute
		h := &hookDecl{word: sub.Type, src: sub.Header, hosts: a("hosts"), state: a("state"), params: a("params")}
		if h.hosts == nil {
			d.errorAt(h.src, `add hosts = "lb*" or hosts = ["@lb", "!lb3"]: the state runs there`, "%s names no hosts", h.word)
		}
		if h.state == nil {
			d.errorAt(h.src, "add state = state.NAME", "%s names no state", h.word)
		} else if h.address = writtenAddress(h.state.Expr.Expression); h.address == "" {
			d.notWritten(h.state)
		}
		if h.hosts != nil && h.address != "" {
			*to = append(*to, h)
		}
	}
	return out
}

// notWritten reports what stands where a reference should.
func (d *decoder) notWritten(a *syntax.Attribute) {
	v, diags := a.Expr.Value(nil)
	if literal, ok := a.Expr.Expression.(*hclsyntax.LiteralValueExpr); ok && !literal.Val.IsKnown() {
		return // a script has said what is wrong with it
	}
	summary, hint := "a reference to one state is required, as it is written, not computed", hookHint
	if _, err := expr.Refs(v, diag.Range{}); err != nil && !diags.HasErrors() {
		summary, hint = err.Error(), cmp.Or(diag.HintOf(err), hint)
	}
	d.errorAt(a.Range(), hint, "state: %s", summary)
}

// eachHook yields the hooks of the rollout and its stages.
func (r *rolloutDecl) eachHook() iter.Seq[*hookDecl] {
	all := slices.Concat(r.hooks.before, r.hooks.after)
	for _, s := range r.stages {
		all = slices.Concat(all, s.hooks.before, s.hooks.after)
	}
	return slices.Values(all)
}

// writtenAddress is the address of a reference that is written out; empty: it is none.
func writtenAddress(x hclsyntax.Expression) string {
	switch outer := x.(type) {
	case *hclsyntax.TemplateWrapExpr: // "${…}", as in JSON
		return writtenAddress(outer.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		return writtenAddress(outer.Expression)
	}
	n, ok := x.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(n.Traversal) < 2 {
		return ""
	}
	text := expr.DeclaredRoot(n.Traversal.RootName())
	for _, t := range n.Traversal[1:] {
		switch step, ok := stepOf(t); {
		case !ok:
			return ""
		case step.Index:
			text = states.InstanceAddress(text, step.Key)
		default:
			text = states.LabelAddress(text, step.Key)
		}
	}
	return text
}

// evaluateHooks evaluates hooks: on which hosts they run, and with which params.
func (e hostReader) evaluateHooks(list []*hookDecl) (out []site.Hook) {
	for _, d := range list {
		h := site.Hook{State: d.address, Range: rangeOf(d.src)}
		all := e.hosts.list()
		p, _, right := e.pattern(d.hosts, all)
		for _, host := range all {
			if right && p.Matches(host.Name, host.Groups) {
				h.Hosts = append(h.Hosts, host.Name)
			}
		}
		if right && len(h.Hosts) == 0 && !e.hosts.incomplete {
			e.wrongValue(d.hosts, fmt.Errorf("%s has no hosts: none of the site fits", d.word), "tenet inspect hosts lists the hosts and their groups")
		}
		params, _ := e.items(d.params, e.root, "params")
		h.Params = e.hookParams(d, params)
		e.hosts.hooks = append(e.hosts.hooks, hostHook{d, h.Hosts, params})
		out = append(out, h)
	}
	return out
}

// hookParams gives the params of a hook as plain data: records and plans show them.
func (e hostReader) hookParams(d *hookDecl, params []item) map[string]any {
	out := map[string]any{}
	for _, p := range params {
		if isGivenByRollout(p.name) {
			e.errorAt(p.nameRange, "leave it out: the state has it if it declares the param", "%s is given by the rollout", p.name)
			continue
		}
		v, sensitive := expr.Split(p.value)
		if sensitive || expr.IsWithheld(p.value) {
			e.errorAt(p.valueRange, "let the state itself use the secret: plans and records show the params of hooks",
				"params: the value of %q is sensitive", p.name)
			continue
		}
		if !v.IsWhollyKnown() {
			continue // and it was said why
		}
		plain, err := expr.Plain(v)
		if err != nil {
			e.errorAt(p.valueRange, "give it text, a number, a bool, a list or an object", "params: %s: %s", p.name, err)
			continue
		}
		out[p.name] = plain
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func isGivenByRollout(param string) bool {
	return param == site.ParamBatch || param == site.ParamFailed
}

// hookArguments gives the values that a hook gives to the params of an instance of a state;
// nil where it is not the hook's.
func (e *evaluator) hookArguments(in *instance) map[string]cty.Value {
	h := e.target.Hook
	if h == nil || in.address != h.State {
		return nil
	}
	values := map[string]cty.Value{}
	for name, plain := range h.Params {
		v, err := expr.Value(plain)
		if err != nil {
			e.errorAt(in.decl.src, "take another value", "the hook's param %s: %s", name, err)
			continue
		}
		values[name] = v
	}
	values[site.ParamBatch], values[site.ParamFailed] = namesValue(h.Batch), namesValue(h.Failed)
	return values
}

func namesValue(names []string) cty.Value {
	if len(names) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	list := make([]cty.Value, 0, len(names))
	for _, name := range names {
		list = append(list, cty.StringVal(name))
	}
	return cty.ListVal(list)
}

// checkHooks reports hooks that cannot run on the host that is evaluated, though they name it.
func (e *evaluator) checkHooks() {
	for _, h := range e.hosts.hooks {
		if slices.Contains(h.hosts, e.target.Host) {
			e.checkHook(h)
		}
	}
}

func (e *evaluator) checkHook(h hostHook) {
	d, at := h.decl, h.decl.state.Range()
	in := e.instances[d.address]
	switch list := e.instancesByBase[d.address]; {
	case in != nil:
	case len(list) > 0:
		e.errorAt(at, "name one: "+list[0].address, "%s has several instances, and %s names one", d.address, d.word)
		return
	case e.isOmitted(d.address):
		e.lacksState(d)
		return
	default: // references are checked whatever the host
		return
	}
	i := slices.IndexFunc(e.out, func(o states.Declaration) bool { return o.Address == d.address })
	switch {
	case in.decl.kind != states.StateKind || in.decl.topLevel:
		e.errorAt(at, "name a state: put what is to be done into one, with lazy = true", "%s is no state, and %s runs one", d.address, d.word)
		return
	case i < 0:
		return
	case e.out[i].Options.LeftOut:
		e.lacksState(d)
		return
	case !e.out[i].Lazy && !e.out[i].NeedsRun:
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s runs in each apply of %s, not only around batches", d.address, e.target.Host), Range: rangeOf(at),
			Hint:    "add lazy = true to it",
			Related: []diag.Related{{Message: "it is neither lazy, nor has it a param without a default", Range: rangeOf(in.decl.src)}}})
		return
	}
	if run := slices.IndexFunc(e.out, func(o states.Declaration) bool { return o.Kind == states.RunKind && o.State == d.address }); run >= 0 {
		e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s runs in each apply, by %s", d.address, e.out[run].Address), Range: rangeOf(at),
			Hint:    fmt.Sprintf("give %s a state of its own: that of a hook is run by the hook alone", e.out[run].Address),
			Related: []diag.Related{{Message: "it is run here", Range: e.out[run].Range}}})
		return
	}
	e.checkHookParams(h, in.decl)
}

// lacksState reports that the evaluated host does not have the state of a hook.
func (e *evaluator) lacksState(d *hookDecl) {
	e.errorAt(d.state.Range(), fmt.Sprintf("declare it for that host: at top level, or in a role that it has; or leave the host out of hosts: \"!%s\"", e.target.Host),
		"%s does not have %s, and %s runs it there", e.target.Host, d.address, d.word)
}

// checkHookParams compares what a hook gives with what its state takes.
func (e *evaluator) checkHookParams(h hostHook, state *declaration) {
	var names []string
	for _, p := range state.params {
		names = append(names, p.name)
	}
	for _, given := range h.params {
		if isGivenByRollout(given.name) {
			continue // which is reported
		}
		p := state.param(given.name)
		if p == nil {
			e.errorAt(given.nameRange, cmp.Or(diag.DidYouMean(given.name, names), diag.Choices(names), fmt.Sprintf("declare it in the state: param %q { … }", given.name)),
				"%s has no param %q", state.base, given.name)
			continue
		}
		if given.value.IsWhollyKnown() {
			partValues{e.expressions}.paramValue(p, given.value, given.valueRange)
		}
	}
	for _, p := range state.params {
		switch isGiven := slices.ContainsFunc(h.params, func(i item) bool { return i.name == p.name }); {
		case isGivenByRollout(p.name):
			before := len(e.list)
			partValues{e.expressions}.paramValue(p, namesValue([]string{e.target.Host}), h.decl.state.Range())
			for i := before; i < len(e.list); i++ {
				e.list[i].Summary = fmt.Sprintf("the param %q of %s takes no list of names, which the rollout gives it", p.name, state.base)
				e.list[i].Hint = "write type = list(string), or give the param another name"
			}
		case p.attr == nil && !isGiven:
			e.errorAt(h.decl.src, fmt.Sprintf("add params = { %s = … }", p.name), "%s needs the param %q", state.base, p.name)
		}
	}
}
