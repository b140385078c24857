package graph

import "github.com/tenetcm/tenet/lang/diag"

// Unknown says of each address and tag of a selection that nothing has that nothing has it.
func (r *Result) Unknown(s Selection) diag.List {
	s.Targets, s.Exclude = StateAddresses(s.Targets), StateAddresses(s.Exclude)
	_, unknown := r.known(s)
	return unknown
}

// known gives the part of a selection that something has, and says of the rest that nothing has it.
func (r *Result) known(s Selection) (known Selection, unknown diag.List) {
	x := &selector{plan: r.plan}
	x.index()
	has := func(look func()) bool {
		x.diags = nil
		look()
		for _, d := range x.diags {
			if d.Severity == diag.Error {
				unknown.Add(d)
				return false
			}
		}
		return true
	}
	addresses := func(list []string) (found []string) {
		for _, address := range list {
			if has(func() {
				for _, one := range x.inEach([]string{address}) {
					x.find(one)
				}
			}) {
				found = append(found, address)
			}
		}
		return found
	}
	known.Targets, known.Exclude = addresses(s.Targets), addresses(s.Exclude)
	for _, tag := range s.Tags {
		if has(func() { x.checkTags([]string{tag}) }) {
			known.Tags = append(known.Tags, tag)
		}
	}
	return known, unknown
}
