package runtime

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

// withDeletions gives the run with an invocation for each node that may have to be deleted, in the place of the one that stands for
// all of a rule: which these are only the host knows.
func (e *engine) withDeletions(ctx context.Context, run *states.StateRun) (*states.StateRun, error) {
	isTemplate := func(inv states.Invocation) bool { return inv.Node != nil && inv.Node.Deletes && inv.Node.Address == "" }
	if !slices.ContainsFunc(run.Invocations, isTemplate) {
		return run, nil
	}
	last, err := e.lastNodes()
	if err != nil {
		return nil, err
	}
	if e.foreigners, err = e.foreign(ctx, run); err != nil {
		return nil, err
	}
	x := &deletions{run: run, made: map[string][]string{}, templates: map[string]*states.Invocation{}, byID: map[string]string{}}
	out := *run
	out.Invocations = nil
	for i := range run.Invocations {
		inv := &run.Invocations[i]
		if !isTemplate(*inv) {
			out.Invocations = append(out.Invocations, *inv)
			continue
		}
		x.templates[inv.Address] = inv
		nodes, err := e.deletable(inv, last)
		if err != nil {
			return nil, err
		}
		made, err := x.expand(inv, nodes)
		if err != nil {
			return nil, err
		}
		out.Invocations = append(out.Invocations, made...)
	}
	x.nest(&out)
	x.link(&out)
	return &out, nil
}

// deletable is a node that may have to be deleted.
type deletable struct{ address, id string }

// deletable lists the nodes of a rule that may have to be deleted: those that it has made and that are wanted no
// more; what it purges; and those that may have to be made anew.
func (e *engine) deletable(inv *states.Invocation, last map[string]remembered) ([]deletable, error) {
	d, err := e.documentOf(inv.Node.Comparison)
	if err != nil {
		return nil, err
	}
	var list []deletable
	for _, address := range slices.Sorted(maps.Keys(last)) {
		i := d.ruleOf(address)
		if i >= 0 && d.rules[i].Address == inv.Node.Rule && d.byAddress[address] == nil {
			list = append(list, deletable{address, last[address].stored.ID})
		}
	}
	for _, address := range slices.Sorted(maps.Keys(e.foreigners)) {
		if d.rules[max(d.ruleOf(address), 0)].Address == inv.Node.Rule && d.ruleOf(address) >= 0 {
			list = append(list, deletable{address, e.foreigners[address].ID})
		}
	}
	for _, n := range d.wanted {
		r, address := d.rules[n.Rule], d.address(n.Rule, &n.Hit)
		known, isKnown := last[address]
		if r.Address == inv.Node.Rule && (r.Retrieves != "" || isKnown && (!r.Updates || known.stored.Kinds != n.Store().Kinds)) {
			list = append(list, deletable{address, n.Hit.ID()})
		}
	}
	return list, nil
}

// deletions puts invocations in the places of others.
type deletions struct {
	run       *states.StateRun
	made      map[string][]string // addresses, by that of the template
	templates map[string]*states.Invocation
	byID      map[string]string // addresses of what was made, by comparison and what tells a node apart
}

// expand makes an invocation for each node.
func (x *deletions) expand(template *states.Invocation, nodes []deletable) ([]states.Invocation, error) {
	var list []states.Invocation
	for _, n := range nodes {
		address := n.address
		inv := *template
		node := *template.Node
		node.Address = address
		inv.Node, inv.Address, inv.State = &node, address+".delete", address+".delete"
		rename := func(name string) string {
			if rest, ok := strings.CutPrefix(name, template.Address); ok && (rest == "" || rest[0] == '.') {
				return inv.Address + rest
			}
			return name
		}
		if n := len(list); n > 0 && !template.Node.Parallel {
			inv.After = append(slices.Clone(inv.After), list[n-1].Address)
		}
		var err error
		if inv.Guards, err = x.guards(inv.Guards, template, address, rename); err != nil {
			return nil, err
		}
		inv.Parts = slices.Clone(inv.Parts)
		for k := range inv.Parts {
			p := &inv.Parts[k]
			p.Address = rename(p.Address)
			p.ID = graph.PartID(x.run.Host, p.Address)
			p.Requires, p.After = mapped(p.Requires, rename), mapped(p.After, rename)
			if p.Results, err = ofNode(p.Results, template, address, rename); err != nil {
				return nil, err
			}
			if p.Guards, err = x.guards(p.Guards, template, address, rename); err != nil {
				return nil, err
			}
		}
		list = append(list, inv)
		x.byID[node.Comparison+"\x00"+n.id] = inv.Address
		x.made[template.Address] = append(x.made[template.Address], inv.Address)
	}
	return list, nil
}

// nest lets an outer node be deleted only if the deletions of all that is in it have gone well.
func (x *deletions) nest(out *states.StateRun) {
	outer := map[string][]string{} // by address of the outer one
	for _, key := range slices.Sorted(maps.Keys(x.byID)) {
		for i := len(key) - 2; i > 0; i-- {
			if around := x.byID[key[:i+1]]; key[i] == '/' && around != "" {
				outer[around] = append(outer[around], x.byID[key])
				break
			}
		}
	}
	for i := range out.Invocations {
		inv := &out.Invocations[i]
		if inner := outer[inv.Address]; len(inner) > 0 {
			inv.Requires = slices.Concat(inv.Requires, inner)
		}
	}
}

func mapped(list []string, f func(string) string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = f(list[i])
	}
	return list
}

func (x *deletions) guards(list []states.Guard, template *states.Invocation, address string, rename func(string) string) ([]states.Guard, error) {
	list = slices.Clone(list)
	for i := range list {
		var err error
		list[i].Scope = rename(list[i].Scope)
		if list[i].Results, err = ofNode(list[i].Results, template, address, rename); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ofNode gives expressions over a node where they are over any.
func ofNode(list map[string]*states.Expr, template *states.Invocation, address string, rename func(string) string) (map[string]*states.Expr, error) {
	if len(list) == 0 {
		return list, nil
	}
	out := map[string]*states.Expr{}
	for name, of := range list {
		made, err := exprOfNode(of, template, address, rename)
		if err != nil {
			return nil, err
		}
		out[name] = made
	}
	return out, nil
}

func exprOfNode(of *states.Expr, template *states.Invocation, address string, rename func(string) string) (*states.Expr, error) {
	made := *of
	if made.Kind == states.ExprRef {
		made.Ref.Address, made.From = rename(made.Ref.Address), mapped(made.From, rename)
		return made.New()
	}
	made.Args = slices.Clone(of.Args)
	for i, a := range made.Args {
		if a == nil {
			continue
		}
		isKey := made.Kind == states.ExprIndex && i == 1 && made.Args[0].Kind == states.ExprRef && made.Args[0].Name == states.NodesResult &&
			a.Kind == states.ExprLiteral && a.Value == template.Node.Rule
		var err error
		if isKey {
			made.Args[i], err = states.Expr{Kind: states.ExprLiteral, Value: address, Range: a.Range}.New()
		} else {
			made.Args[i], err = exprOfNode(a, template, address, rename)
		}
		if err != nil {
			return nil, err
		}
	}
	return made.New()
}

// link lets all that named the one invocation name those in its place, and what that came after.
func (x *deletions) link(out *states.StateRun) {
	for i := range out.Invocations {
		inv := &out.Invocations[i]
		required := x.requires(inv.Requires)
		inv.After = unite(x.after(inv.After), x.behind(inv.Requires))
		inv.Requires = required
		inv.NotifiedBy = x.notifiedBy(inv.NotifiedBy)
	}
	out.Handlers = slices.Clone(out.Handlers)
	for i := range out.Handlers {
		out.Handlers[i].NotifiedBy = x.notifiedBy(out.Handlers[i].NotifiedBy)
		out.Handlers[i].Requires, out.Handlers[i].After = x.requires(out.Handlers[i].Requires), x.after(out.Handlers[i].After)
	}
	out.Joins = slices.Clone(out.Joins)
	for i := range out.Joins {
		out.Joins[i].After = x.after(out.Joins[i].After)
	}
	out.Blocks = slices.Clone(out.Blocks)
	for i := range out.Blocks {
		b := &out.Blocks[i]
		after := unite(x.after(b.After), x.behind(b.Requires))
		b.Requires, b.After = x.requires(b.Requires), after
		b.Members, b.Rescue, b.Always = x.requires(b.Members), x.requires(b.Rescue), x.requires(b.Always)
		if b.Members == nil {
			b.Members = []string{}
		}
	}
}

// requires replaces templates by what was made of them.
func (x *deletions) requires(list []string) (out []string) {
	for _, a := range list {
		if x.templates[a] == nil {
			out = append(out, a)
		} else {
			out = append(out, x.made[a]...)
		}
	}
	return out
}

// behind gives what the templates in a list come after: what names them does, too, whatever was made of them.
func (x *deletions) behind(list []string) (out []string) {
	for _, a := range list {
		if t := x.templates[a]; t != nil {
			out = unite(out, x.after(slices.Concat(t.Requires, t.After)))
		}
	}
	return out
}

func (x *deletions) after(list []string) []string {
	return unite(x.requires(list), x.behind(list))
}

func (x *deletions) notifiedBy(list []states.Notification) (out []states.Notification) {
	for _, n := range list {
		template := ""
		for _, address := range slices.Sorted(maps.Keys(x.templates)) {
			if states.Within(n.Address, address) {
				template = cmp.Or(template, address)
			}
		}
		if template == "" {
			out = append(out, n)
			continue
		}
		for _, made := range x.made[template] {
			one := n
			one.Address = made + strings.TrimPrefix(n.Address, template)
			out = append(out, one)
		}
	}
	return out
}
