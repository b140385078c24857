package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// resultRefs lists the references to results in what parts compute and in
// guards.
func resultRefs(results map[string]*states.Expr, guards []states.GuardDeclaration) []states.Ref {
	var out []states.Ref
	add := func(results map[string]*states.Expr) {
		for _, x := range states.ResultRefs(results) {
			out = append(out, x.Ref)
		}
	}
	if len(results) > 0 {
		add(results)
	}
	for _, g := range guards {
		if len(g.Results) > 0 {
			add(g.Results)
		}
	}
	return out
}

// checkResults looks at results of parts of the same declaration: their order,
// and guards of the whole, which are decided before any part. It returns what
// the parts of a parallel state require by it.
func (p *planner) checkResults(d *decl, links [][]link) {
	for _, o := range append([]*states.Options{&d.Options}, optionsOf(d.state)...) {
		for _, r := range resultRefs(nil, o.Guards) {
			if isOwnPart(d, r) && !d.TopLevel {
				p.diags.Add(diag.Diagnostic{
					Summary: fmt.Sprintf("%s is decided before its parts run, and uses a result of one", d.Address), Range: r.Range,
					Hint: "give the guard or when to the parts that come after it",
				})
			}
		}
	}
	for i := range d.Parts {
		part := &d.Parts[i]
		if part.Options.LeftOut {
			continue
		}
		for _, r := range resultRefs(part.Results, part.Options.Guards) {
			p.checkInstances(d, r, part)
			if !isOwnPart(d, r) && !isItself(d, r) {
				continue
			}
			for _, other := range ownParts(d, r) {
				switch k := partIndex(d, other); {
				case k == i:
					p.diags.Add(diag.Diagnostic{
						Summary: fmt.Sprintf("%s uses a result of its own", part.Address), Range: r.Range,
						Detail: "The result is known only when the part has run.",
						Hint:   "in changed_if and failed_if, result is that of the part itself",
					})
				case k > i && !d.isParallel():
					p.reportOrder(d, part, other, "requires", r.Range)
				default:
					links[i] = append(links[i], link{to: k, verb: "uses a result of", at: r.Range})
				}
			}
		}
	}
}

func optionsOf(d *decl) []*states.Options {
	if d == nil {
		return nil
	}
	return []*states.Options{&d.Options}
}

// isItself reports whether a top-level part names itself.
func isItself(d *decl, r states.Ref) bool { return d.TopLevel && r.Address == d.Address }

// ownParts gives the parts of d that a reference to one of them means.
func ownParts(d *decl, r states.Ref) []*states.PartDeclaration {
	if r.Part == "" && d.TopLevel && len(d.Parts) == 1 {
		return []*states.PartDeclaration{&d.Parts[0]}
	}
	return partsNamed(d, r.Part)
}

// checkInstances reports a result of several parts where one is meant, and of
// parts that the declaration does not have.
func (p *planner) checkInstances(d *decl, r states.Ref, by *states.PartDeclaration) {
	if isOwnPart(d, r) {
		if len(partsNamed(d, r.Part)) == 0 && !slices.Contains(p.site.Empty, d.Address+"."+r.Part) {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s has no part %s", d.Address, r.Part), Range: r.Range, Hint: suggest(r.Part, partNames(d))})
		}
		return
	}
	for _, to := range p.units(r) {
		if to.isBlock() {
			p.diags.Add(diag.Diagnostic{
				Summary: fmt.Sprintf("%s has no results", to.Address), Range: r.Range, Hint: "name a part of one of its members"})
		}
	}
}

// resultRequires lists what declarations d waits for since it uses their
// results.
func (p *planner) resultRequires(d *decl, results map[string]*states.Expr, guards []states.GuardDeclaration) []require {
	refs := resultRefs(results, guards)
	seen := map[states.Ref]bool{}
	refs = slices.DeleteFunc(refs, func(r states.Ref) bool {
		r.Range = diag.Range{}
		had := seen[r]
		seen[r] = true
		return had
	})
	refs = slices.DeleteFunc(refs, func(r states.Ref) bool { return isItself(d, r) })
	return p.refs(d, refs)
}

// results finds for expressions of a part, or of guards, where in the run their
// results come from. at is the final of d; -1: nothing invokes it now.
func (p *planner) results(d *decl, at int, address string, list map[string]*states.Expr) map[string]*states.Expr {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]*states.Expr, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		x, err := list[name].Rewrite(func(ref *states.Expr) (*states.Expr, error) { return p.resultAddresses(d, at, address, ref) })
		if err != nil {
			p.diags.Add(diag.Diagnostic{Summary: err.Error(), Range: list[name].Range, Hint: "compute less of it on the host, or in several parts"})
			continue
		}
		out[name] = x
	}
	return out
}

// resultAddresses gives the addresses for one reference to a result; for one to all
// instances, an object of them by key.
func (p *planner) resultAddresses(d *decl, at int, address string, ref *states.Expr) (*states.Expr, error) {
	byKey := map[string][]string{}
	add := func(owner *decl, part *states.PartDeclaration, invocation string) {
		key := ""
		if ref.Flag {
			if key = instanceKey(ref.Ref.Part, part.Address); key == "" {
				key = instanceKey(ref.Ref.Address, owner.Address)
			}
		}
		if !part.Options.LeftOut {
			byKey[key] = append(byKey[key], partAddress(owner, invocation, part))
		}
	}
	if isOwnPart(d, ref.Ref) {
		for _, part := range ownParts(d, ref.Ref) {
			add(d, part, address)
		}
	} else {
		for _, i := range p.endedBefore(at, p.units(ref.Ref)) {
			f := p.finals[i]
			for _, part := range ownParts(f.d, ref.Ref) {
				add(f.d, part, f.address)
			}
		}
	}
	one := func(from []string) (*states.Expr, error) {
		made := *ref
		made.Flag, made.From = false, from
		made.Ref = states.Ref{Address: addressOf(d, ref.Ref)}
		if ref.Flag && len(from) > 0 {
			made.Ref.Address = states.WithoutWave(from[0])
		}
		made.Resolved = len(from) != 1 || from[0] != made.Ref.Address
		return made.New()
	}
	if !ref.Flag {
		return one(byKey[""])
	}
	object := states.Expr{Kind: states.ExprObject, Range: ref.Range}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		name, err := states.Expr{Kind: states.ExprLiteral, Value: key, Range: ref.Range}.New()
		if err != nil {
			return nil, err
		}
		x, err := one(byKey[key])
		if err != nil {
			return nil, err
		}
		object.Args = append(object.Args, name, x)
	}
	return object.New()
}

// addressOf is what a reference names, as an address without waves.
func addressOf(d *decl, r states.Ref) string {
	switch {
	case r.Self:
		return d.Address + "." + r.Part
	case r.Part != "":
		return r.Address + "." + r.Part
	}
	return r.Address
}

// instanceKey is the key by which an address is an instance of a base, or "".
func instanceKey(base, address string) string {
	text, ok := strings.CutPrefix(address, base+"[")
	if !ok || base == "" {
		return ""
	}
	key, err := strconv.Unquote(strings.TrimSuffix(text, "]"))
	if err != nil {
		return ""
	}
	return key
}

// endedBefore gives the invocations of declarations that have ended when a final
// starts, in the order of the run.
func (o *outline) endedBefore(at int, owners []*decl) []int {
	var list []int
	for _, owner := range owners {
		for _, i := range slices.Concat(owner.waves, owner.pinNodes, baseOnly(owner)) {
			list = append(list, o.finalOf[i])
		}
	}
	slices.Sort(list)
	list = o.soft.inPosition(slices.Compact(list))
	if at < 0 || len(list) == 1 && slices.Contains(o.finals[at].requires, list[0]) {
		return list
	}
	return slices.DeleteFunc(list, func(i int) bool { return i == at || !o.soft.reaches(i, at, len(o.soft.succ)) })
}

// place notes where expressions stand: the whole as ADDRESS.NAME, and the nodes
// in it that stand elsewhere with "@" and their numbers.
func (r *Result) place(address string, results map[string]*states.Expr) {
	for name, x := range results {
		for number, at := range x.Places() {
			key := address + "." + name
			if number > 0 {
				key += "@" + strconv.Itoa(number)
			}
			r.Sources[key] = at
		}
	}
}
