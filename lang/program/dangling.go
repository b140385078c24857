package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// dangling reports references to instances that do not exist; what no
// declaration has was found when the program was linked.
func (e *evaluator) dangling() {
	for i := range e.out {
		d := &e.out[i]
		e.danglingOptions(&d.Options, d.Address)
		for _, list := range [][]states.Ref{d.Members, d.Rescue, d.Always} {
			e.danglingRefs(list, d.Address)
		}
		for j := range d.Parts {
			e.danglingOptions(&d.Parts[j].Options, d.Address)
			e.danglingResults(d.Parts[j].Results, d.Address)
		}
	}
}

func (e *evaluator) danglingOptions(o *states.Options, self string) {
	for _, list := range [][]states.Ref{o.Require, o.Notify, o.NotifyFailure, o.Listen, o.ListenFailure} {
		e.danglingRefs(list, self)
	}
	for _, g := range o.Guards {
		e.danglingRefs(g.WouldChange, self)
		e.danglingResults(g.Results, self)
	}
}

func (e *evaluator) danglingResults(results map[string]*states.Expr, self string) {
	for _, x := range states.ResultRefs(results) {
		e.danglingRefs([]states.Ref{x.Ref}, self)
	}
}

func (e *evaluator) danglingRefs(refs []states.Ref, self string) {
	for _, r := range refs {
		address := r.Address
		if r.Self {
			address = self
		}
		in := e.instances[address]
		switch {
		case e.bases[address] == nil && in == nil && e.meansNothing(address):
			e.empty = append(e.empty, address)
		case e.bases[address] == nil && in == nil && !e.anyDoubtful(address) && !e.inBroken(address):
			e.undefinedInstance(r)
		case r.Part != "" && in != nil && in.parts != nil && !e.doubtful[address] && !e.hasPart(in, r.Part):
			e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has no part %s", address, r.Part), Range: r.Range,
				Hint: cmp.Or(diag.DidYouMean(r.Part, slices.Sorted(maps.Keys(in.parts))), "its for_each has no such key")})
		}
	}
}

// hasPart reports whether an instance has a part of that address or base.
func (e *evaluator) hasPart(in *instance, part string) bool {
	if in.parts[part] || slices.Contains(e.empty, in.address+"."+part) {
		return true
	}
	decl := in.decl
	if decl.kind == states.RunKind {
		return slices.ContainsFunc(slices.Collect(maps.Keys(in.parts)), func(p string) bool { return strings.HasPrefix(p, part+"[") })
	}
	return decl.entry.Parts[part] != nil
}

// anyDoubtful reports whether the address is an instance of a declaration
// whose instances are not known.
func (e *evaluator) anyDoubtful(address string) bool {
	for base := range e.doubtful {
		if address == base || strings.HasPrefix(address, base+"[") {
			return true
		}
	}
	return false
}

// inBroken reports whether the address stands in a component some of whose
// declarations are not known, since its scripts have failed.
func (e *evaluator) inBroken(address string) bool {
	for _, in := range e.instances {
		if in.inner != nil && in.inner.site.broken && strings.HasPrefix(address, in.address+".") {
			return true
		}
	}
	return false
}

func (e *evaluator) undefinedInstance(r states.Ref) {
	var candidates []string
	for address := range e.instances {
		candidates = append(candidates, address)
	}
	slices.Sort(candidates)
	hint := "its for_each has no such key"
	if near := diag.Nearest(r.Address, candidates); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s does not exist", r.Address), Range: r.Range, Hint: hint})
}
