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

// referenceCheck reports references to what does not exist.
type referenceCheck struct{ *evaluation }

// check reports references to instances that do not exist; what no
// declaration has was found when the program was linked.
func (e referenceCheck) check() {
	for i := range e.out {
		d := &e.out[i]
		e.options(&d.Options, d.Address)
		for _, list := range [][]states.Ref{d.Members, d.Rescue, d.Always} {
			e.refs(list, d.Address)
		}
		for j := range d.Parts {
			e.options(&d.Parts[j].Options, d.Address)
			e.results(d.Parts[j].Results, d.Address)
		}
	}
}

func (e referenceCheck) options(o *states.Options, self string) {
	for _, list := range [][]states.Ref{o.Require, o.Follows, o.Notify, o.NotifyFailure, o.Listen, o.ListenFailure} {
		e.refs(list, self)
	}
	for _, g := range o.Guards {
		e.refs(g.WouldChange, self)
		e.results(g.Results, self)
	}
}

func (e referenceCheck) results(results map[string]*states.Expr, self string) {
	for _, x := range states.ResultRefs(results) {
		e.refs([]states.Ref{x.Ref}, self)
	}
}

func (e referenceCheck) refs(refs []states.Ref, self string) {
	for _, r := range refs {
		address := r.Address
		if r.Self {
			address = self
		}
		in := e.instances[address]
		switch {
		case e.bases[address] == nil && in == nil && e.isOmitted(address):
			e.empty = append(e.empty, address)
		case e.bases[address] == nil && in == nil && !e.isDoubtful(address) && !e.isInBrokenComponent(address):
			e.undefinedInstance(r)
		case r.Part != "" && in != nil && in.parts != nil && !e.doubtful[address] && !e.hasPart(in, r.Part):
			e.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s has no part %s", address, r.Part), Range: r.Range,
				Hint: cmp.Or(diag.DidYouMean(r.Part, slices.Sorted(maps.Keys(in.parts))), "its for_each has no such key")})
		}
	}
}

// hasPart reports whether an instance has a part of that address or base.
func (e referenceCheck) hasPart(in *instance, part string) bool {
	if in.parts[part] || slices.Contains(e.empty, in.address+"."+part) {
		return true
	}
	decl := in.decl
	if decl.kind == states.RunKind || decl.generate != nil {
		return slices.ContainsFunc(slices.Collect(maps.Keys(in.parts)), func(p string) bool { return strings.HasPrefix(p, part+"[") })
	}
	return decl.entry.Parts[part] != nil
}

// isDoubtful reports whether the address is an instance of a declaration
// whose instances are not known.
func (e referenceCheck) isDoubtful(address string) bool {
	for base := range e.doubtful {
		if address == base || strings.HasPrefix(address, base+"[") {
			return true
		}
	}
	return false
}

// isInBrokenComponent reports whether the address stands in a component some of whose
// declarations are not known, since its scripts have failed.
func (e referenceCheck) isInBrokenComponent(address string) bool {
	for _, in := range e.instances {
		if in.inner != nil && in.inner.site.broken && strings.HasPrefix(address, in.address+".") {
			return true
		}
	}
	return false
}

func (e referenceCheck) undefinedInstance(r states.Ref) {
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
