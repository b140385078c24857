package program

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// everyInstance lets references that lead through a component with instances,
// and give no key there, name what is in each of them: component.NAME.state.S
// means that state of all instances. The planner knows full addresses only.
func (e *evaluator) everyInstance() {
	if !slices.ContainsFunc(e.out, func(d states.Declaration) bool { return d.Component && d.Address != d.Base }) {
		return
	}
	found := map[string][]string{}
	for i := range e.out {
		d := &e.out[i]
		e.everyOption(&d.Options, found)
		for _, list := range []*[]states.Ref{&d.Members, &d.Rescue, &d.Always} {
			e.everyRef(list, found)
		}
		for j := range d.Parts {
			e.everyOption(&d.Parts[j].Options, found)
		}
	}
}

func (e *evaluator) everyOption(o *states.Options, found map[string][]string) {
	for _, list := range []*[]states.Ref{&o.Require, &o.Notify, &o.NotifyFailure, &o.Listen, &o.ListenFailure} {
		e.everyRef(list, found)
	}
	for i := range o.Guards {
		e.everyRef(&o.Guards[i].WouldChange, found)
	}
}

// everyRef replaces what names nothing as it is written, and something in each
// instance.
func (e *evaluator) everyRef(list *[]states.Ref, found map[string][]string) {
	var out []states.Ref
	for i, r := range *list {
		if r.Self || e.bases[r.Address] != nil || e.instances[r.Address] != nil {
			if out != nil {
				out = append(out, r)
			}
			continue
		}
		if out == nil {
			out = slices.Clone((*list)[:i])
		}
		all := e.inEach(r.Address, found)
		for _, address := range all {
			one := r
			one.Address = address
			out = append(out, one)
		}
		if len(all) == 0 {
			out = append(out, r) // dangling reports it
		}
	}
	if out != nil {
		*list = out
	}
}

// inEach gives the addresses that an address without the keys of components
// means, sorted.
func (e *evaluator) inEach(address string, found map[string][]string) []string {
	if all, done := found[address]; done {
		return all
	}
	var all []string
	if strings.HasPrefix(address, "component.") {
		for base := range e.bases {
			if states.InEach(address, base) {
				all = append(all, base)
			}
		}
		for _, list := range e.expanded {
			for _, in := range list {
				if states.InEach(address, in.address) {
					all = append(all, in.address)
				}
			}
		}
	}
	slices.Sort(all)
	found[address] = slices.Compact(all)
	return found[address]
}
